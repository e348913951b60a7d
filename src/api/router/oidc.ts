import * as z from "zod";
import { defineOperation, json, jsonOrForm, passthrough } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { optionalString } from "../shapes.ts";
import { TokenResponse } from "./device-grant.ts";
import { singleClusterFailures } from "./failures.ts";

export const showJwks = defineOperation({
  id: "oidc.jwks",
  ...routerOperation,
  summary: "Show the public keys of all clusters",
  description: "Fetched from every cluster on each request; never cached.",
  path: "/.well-known/jwks.json",
  responses: { 200: json(z.strictObject({ keys: z.array(z.looseObject({ kty: z.string() })) })) },
  failures: ["no-cluster-reachable", "forwarding-loop"],
  cli: { command: "oidc jwks", rows: "keys", columns: ["kid", "kty", "alg"] },
  examples: [{ title: "Fetch the keys" }],
});

export const showDiscovery = defineOperation({
  id: "oidc.discovery",
  ...routerOperation,
  summary: "Show the OpenID configuration with the router's URLs",
  path: "/.well-known/openid-configuration",
  responses: { 200: json(z.looseObject({ issuer: z.string() })) },
  failures: ["no-cluster-reachable", "forwarding-loop"],
  cli: { command: "oidc discovery" },
  examples: [{ title: "Fetch the configuration" }],
});

/**
 * RFC 6749, 4.1.3 and 6, and RFC 8628, 3.4. The grant decides which parameters are required, so a missing one is
 * invalid_request.
 */
const TokenRequest = z
  .object({
    grant_type: optionalString.describe("Grant type: authorization_code, refresh_token, or the device grant type"),
    code: optionalString.describe("Authorization code, with its {cluster_id}_"),
    redirect_uri: optionalString.describe("Redirect URI of the authorization request"),
    code_verifier: optionalString.describe("PKCE verifier of the authorization request"),
    refresh_token: optionalString.describe("Refresh token, with its {cluster_id}_"),
    device_code: optionalString.describe("Device code from svc auth device-code"),
    client_id: optionalString.describe("OAuth client ID"),
    client_secret: optionalString.describe("Secret of a confidential client"),
    scope: optionalString.describe("Scopes to request, separated by spaces"),
  })
  .meta({ required: ["grant_type"] })
  .default({});

export const exchangeToken = defineOperation({
  id: "oidc.token",
  ...routerOperation,
  summary: "Exchange a code or a refresh token at its cluster",
  description:
    "Also redeems device codes: it is the token endpoint of the discovery document (RFC 8628, 3.4). The specification has another endpoint for them, which the request log reports as a finding.",
  method: "POST",
  path: "/api/v1/oauth/token/",
  request: { body: jsonOrForm(TokenRequest, { formIsStandard: true }) },
  responses: { 200: passthrough(TokenResponse) },
  failures: [
    "invalid-request",
    "invalid-grant",
    "unsupported-grant-type",
    "unproven-client",
    "authorization-pending",
    "slow-down",
    "access-denied",
    "expired-token",
    "token-cluster-down",
    ...singleClusterFailures,
  ],
  cli: { command: "oidc token" },
  examples: [
    {
      title: "Refresh a token",
      body: { grant_type: "refresh_token", refresh_token: "eu-1_9c1e", client_id: "demo-cli" },
    },
  ],
});

/** Claims about the user, as the scopes of the token allow (OpenID Connect Core, 5.3.2). */
export const Userinfo = z.looseObject({
  sub: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  cluster: z.string().optional(),
});

export const showUserinfo = defineOperation({
  id: "oidc.userinfo",
  ...routerOperation,
  summary: "Show the user of an access token",
  description: "The router decodes the token to find its cluster claim. The cluster verifies it.",
  path: "/api/v1/oauth/userinfo/",
  auth: "bearer",
  responses: { 200: passthrough(Userinfo) },
  failures: ["no-access-token", "invalid-token", ...singleClusterFailures],
  clusterFailures: ["refused-token"],
  cli: { command: "oidc userinfo" },
  examples: [{ title: "Show the user of an access token" }],
});
