// A program with golang.org/x/oauth2, as the example of its documentation for the device flow.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"golang.org/x/oauth2"
)

func main() {
	issuer := os.Getenv("SVC_ROUTER_URL")
	config := &oauth2.Config{
		ClientID: os.Getenv("SVC_OAUTH_CLIENT_ID"),
		Scopes:   []string{"openid", "email"},
		Endpoint: oauth2.Endpoint{
			DeviceAuthURL: issuer + "/router/v1/oauth2.0/device/code/",
			TokenURL:      issuer + "/router/v1/oauth2.0/token/",
			// While it guesses the style, it sends each poll that is not answered by tokens twice.
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	ctx := context.Background()
	response, err := config.DeviceAuth(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("please enter code %s at %s\n", response.UserCode, response.VerificationURI)
	if _, err := config.DeviceAccessToken(ctx, response); err != nil {
		log.Fatal(err)
	}
	fmt.Println("Signed in")
}
