// The calls of every generator's program, with the client that openapi-generator makes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"example.test/journey/contracts"
	"example.test/journey/router"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	here := router.NewConfiguration()
	here.Servers = router.ServerConfigurations{{URL: os.Getenv("ROUTER_URL")}}
	routing := router.NewAPIClient(here)
	there := contracts.NewConfiguration()
	there.Servers = contracts.ServerConfigurations{{URL: os.Getenv("CONTRACTS_URL")}}
	there.AddDefaultHeader("client-id", os.Getenv("CLIENT_ID"))
	there.AddDefaultHeader("client-secret", os.Getenv("CLIENT_SECRET"))
	api := contracts.NewAPIClient(there).ContractsAPI

	known, _, err := routing.ClustersAPI.ClustersList(ctx).Execute()
	must(err)
	clusters := []string{}
	for _, cluster := range known {
		clusters = append(clusters, cluster.ClusterId)
	}
	_, unmapped, err := routing.ClusterEmailsAPI.ClusterEmailsShow(ctx, "nobody").Execute()
	var unmappedWhy *router.GenericOpenAPIError
	errors.As(err, &unmappedWhy)

	var body contracts.CreateContractRequest
	must(json.Unmarshal([]byte(os.Getenv("CONTRACT")), &body))
	created, _, err := api.ContractsCreate(ctx).CreateContractRequest(body).Execute()
	must(err)
	status, _, err := api.ContractsStatus(ctx, created.Id).Execute()
	must(err)
	listed, _, err := api.ContractsRecipients(ctx, created.Id).Execute()
	must(err)
	recipients := []string{}
	for _, item := range listed.Items {
		recipients = append(recipients, item.Recipient.User.Email)
	}
	_, refused, err := api.ContractsStatus(ctx, "T-999").Execute()
	var refusedWhy *contracts.GenericOpenAPIError
	errors.As(err, &refusedWhy)

	unmappedModel := unmappedWhy.Model().(router.Detail)
	refusedModel := refusedWhy.Model().(contracts.Detail)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"clusters":   clusters,
		"unmapped":   []any{unmapped.StatusCode, unmappedModel.Detail},
		"created":    status.ContractStatus,
		"recipients": recipients,
		"refused":    []any{refused.StatusCode, refusedModel.Detail},
	}))
}
