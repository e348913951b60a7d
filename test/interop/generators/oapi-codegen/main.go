// The calls of every generator's program, with the client that oapi-codegen makes.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example.test/journey/contracts"
	"example.test/journey/router"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("client-id", os.Getenv("CLIENT_ID"))
		request.Header.Set("client-secret", os.Getenv("CLIENT_SECRET"))
		return nil
	}
	routing := must(router.NewClientWithResponses(os.Getenv("ROUTER_URL")))
	api := must(contracts.NewClientWithResponses(os.Getenv("CONTRACTS_URL"), contracts.WithRequestEditorFn(withKey)))

	clusters := []string{}
	for _, cluster := range *must(routing.ClustersListWithResponse(ctx)).JSON200 {
		clusters = append(clusters, cluster.ClusterId)
	}
	unmapped := must(routing.ClusterEmailsShowWithResponse(ctx, "nobody"))

	var body contracts.ContractsCreateJSONRequestBody
	if err := json.Unmarshal([]byte(os.Getenv("CONTRACT")), &body); err != nil {
		panic(err)
	}
	created := must(api.ContractsCreateWithResponse(ctx, nil, body)).JSON201
	status := must(api.ContractsStatusWithResponse(ctx, created.Id, nil)).JSON200
	recipients := []string{}
	for _, item := range must(api.ContractsRecipientsWithResponse(ctx, created.Id, nil)).JSON200.Items {
		recipients = append(recipients, item.Recipient.User.Email)
	}
	refused := must(api.ContractsStatusWithResponse(ctx, "T-999", nil))

	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"clusters":   clusters,
		"unmapped":   []any{unmapped.StatusCode(), unmapped.JSON404.Detail},
		"created":    status.ContractStatus,
		"recipients": recipients,
		"refused":    []any{refused.StatusCode(), refused.JSON404.Detail},
	})
}
