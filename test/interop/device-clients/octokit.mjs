// biome-ignore-all lint/suspicious/noConsole: a program that prints what it has to say
// A program with @octokit/auth-oauth-device, as its README shows. Its paths are those of its own service.
import { createOAuthDeviceAuth } from "@octokit/auth-oauth-device";
import { request } from "@octokit/request";

const baseUrl = process.env.SVC_ROUTER_URL;
const paths = {
  "/login/device/code": "/router/v1/oauth2.0/device/code/",
  "/login/oauth/access_token": "/router/v1/oauth2.0/token/",
};
const auth = createOAuthDeviceAuth({
  clientType: "oauth-app",
  clientId: process.env.SVC_OAUTH_CLIENT_ID,
  scopes: [],
  request: request.defaults({
    baseUrl,
    request: { fetch: (url, init) => fetch(`${baseUrl}${paths[new URL(url).pathname]}`, init) },
  }),
  onVerification({ verification_uri, user_code }) {
    console.log("Open %s", verification_uri);
    console.log("Enter code: %s", user_code);
  },
});
await auth({ type: "oauth" });
console.log("Signed in");
