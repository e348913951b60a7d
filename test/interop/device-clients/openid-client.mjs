// biome-ignore-all lint/suspicious/noConsole: a program that prints what it has to say
// A program with openid-client, as its example for the device flow.
import * as client from "openid-client";

const config = await client.discovery(
  new URL(process.env.SVC_ROUTER_URL),
  process.env.SVC_OAUTH_CLIENT_ID,
  undefined,
  client.None(),
  { execute: [client.allowInsecureRequests] },
);
const response = await client.initiateDeviceAuthorization(config, { scope: "openid email" });
console.log("User Code:", response.user_code);
console.log("Verification URI:", response.verification_uri);
await client.pollDeviceAuthorizationGrant(config, response);
console.log("Signed in");
