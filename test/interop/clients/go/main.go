// What programs in Go do with golang.org/x/oauth2, coreos/go-oidc and the standard library, by discovery alone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const callback = "http://127.0.0.1:8123/callback"

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// browse does what a browser does that follows the link and picks a user: it comes back with a code.
func browse(link string, user string) string {
	address := must(url.Parse(link))
	query := address.Query()
	query.Set("svc_user", user)
	address.RawQuery = query.Encode()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := must(client.Get(address.String()))
	return must(url.Parse(answer.Header.Get("Location"))).Query().Get("code")
}

func main() {
	ctx := context.Background()
	issuer := os.Getenv("ROUTER_URL")
	provider := must(oidc.NewProvider(ctx, issuer))
	told := map[string]any{}

	signIn := func(client oauth2.Config, user string, pkce bool) []string {
		client.Endpoint, client.RedirectURL = provider.Endpoint(), callback
		client.Scopes = []string{oidc.ScopeOpenID, "email", "contracts:read"}
		begin, end := []oauth2.AuthCodeOption{oidc.Nonce("n")}, []oauth2.AuthCodeOption{}
		if pkce {
			verifier := oauth2.GenerateVerifier()
			begin, end = append(begin, oauth2.S256ChallengeOption(verifier)), append(end, oauth2.VerifierOption(verifier))
		}
		token := must(client.Exchange(ctx, browse(client.AuthCodeURL("s", begin...), user), end...))
		raw, _ := token.Extra("id_token").(string)
		verified := must(provider.Verifier(&oidc.Config{ClientID: client.ClientID}).Verify(ctx, raw))
		person := must(provider.UserInfo(ctx, oauth2.StaticTokenSource(token)))
		scope, _ := token.Extra("scope").(string)
		return []string{verified.Subject, verified.Nonce, person.Email, scope}
	}
	public := oauth2.Config{ClientID: "demo-cli"}
	told["public"] = signIn(public, "eli@fabrikam.example", true)
	told["confidential"] = signIn(oauth2.Config{ClientID: "portal", ClientSecret: "s3cret:+%"}, "ada@northwind.example", false)

	public.Endpoint = provider.Endpoint()
	device := must(public.DeviceAuth(ctx))
	decision := []byte(`{"status":"AUTHORIZED","email":"eli@fabrikam.example"}`)
	approve := must(http.NewRequest("POST", issuer+"/_emulator/device-grants/"+device.UserCode, bytes.NewReader(decision)))
	approve.Header.Set("Authorization", "Bearer "+os.Getenv("CONTROL_TOKEN"))
	approve.Header.Set("Content-Type", "application/json")
	must(http.DefaultClient.Do(approve))
	device.Interval = 1
	token := must(public.DeviceAccessToken(ctx, device))
	told["device"] = must(provider.UserInfo(ctx, oauth2.StaticTokenSource(token))).Email

	download := must(http.Get(os.Getenv("DOWNLOAD_URL")))
	_, parameters, err := mime.ParseMediaType(download.Header.Get("Content-Disposition"))
	told["filename"] = []any{parameters["filename"], err == nil}

	must(os.Stdout.Write(must(json.Marshal(told))))
}
