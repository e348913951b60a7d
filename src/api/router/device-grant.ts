import * as z from "zod";
import { defineOperation, json, jsonOrForm } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { optionalString } from "../shapes.ts";

export const DeviceGrantTokenCreateRequest = z.object({ client_id: z.string().describe("OAuth client ID") });

export const DeviceGrantTokenResponse = z.strictObject({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string().meta({ format: "uri" }),
  verification_uri_complete: z.string().meta({ format: "uri" }),
  expires_in: z.int().describe("Seconds"),
  interval: z.int().describe("Seconds between polls"),
});

export const createDeviceCode = defineOperation({
  id: "device-grant.code",
  ...routerOperation,
  summary: "Start a device authorization",
  method: "POST",
  path: "/router/v1/oauth2.0/device/code/",
  request: { body: jsonOrForm(DeviceGrantTokenCreateRequest) },
  responses: { 200: json(DeviceGrantTokenResponse) },
  failures: ["invalid-request", "invalid-client"],
  cli: { command: "auth device-code" },
  examples: [{ title: "Request a user code", body: { client_id: "demo-cli" } }],
});

export const OAuthGrantType = z.enum([
  "urn:ietf:params:oauth:grant-type:device_code",
  "urn:ietf:params:oauth:grant-type:token-exchange",
]);

export const AccessTokenGetRequest = z.object({
  device_code: z.string().describe("Device code from svc auth device-code"),
  client_id: z.string().describe("OAuth client ID"),
  grant_type: OAuthGrantType.describe("Grant type"),
});

/**
 * RFC 6749, 5.1. `scope` is always present (DECISIONS.md, R30). The cluster issues the token, can add fields and can
 * omit the lifetime.
 */
export const TokenResponse = z.looseObject({
  access_token: z.string(),
  token_type: z.string(),
  expires_in: z.int().nonnegative().optional().describe("Seconds"),
  refresh_token: z.string().optional(),
  scope: z.string(),
  id_token: z.string().optional(),
  issued_token_type: optionalString.describe("Used only for token exchange"),
});

export const redeemDeviceCode = defineOperation({
  id: "device-grant.poll",
  ...routerOperation,
  summary: "Poll for the tokens of a device authorization",
  method: "POST",
  path: "/router/v1/oauth2.0/token/",
  request: { body: jsonOrForm(AccessTokenGetRequest) },
  responses: { 200: json(TokenResponse) },
  failures: [
    "authorization-pending",
    "slow-down",
    "access-denied",
    "expired-token",
    "invalid-request",
    "invalid-grant",
    "invalid-client",
    "token-cluster-down",
  ],
  cli: { command: "auth device-token" },
  basis: "public",
  examples: [
    {
      title: "Poll once",
      body: {
        device_code: "dc_19ab",
        client_id: "demo-cli",
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      },
    },
  ],
});

export const ClientCreateRequest = z.object({ client_name: z.string().describe("Name of the client") });

export const ClientResponse = z.strictObject({ client_name: z.string(), client_id: z.string() });

export const createOAuthClient = defineOperation({
  id: "device-grant.create-client",
  ...routerOperation,
  summary: "Create an OAuth client",
  method: "POST",
  path: "/router/v1/oauth2.0/client/",
  request: { body: json(ClientCreateRequest) },
  responses: { 200: json(ClientResponse) },
  failures: ["too-many-clients", "client-name-too-long"],
  cli: { command: "auth create-client" },
  examples: [{ title: "Create a client", body: { client_name: "Desktop add-in" } }],
});

export const StatusType = z.enum(["PENDING", "AUTHORIZED", "DENIED"]);

export const DeviceGrantUpdateRequest = z.object({
  user_code: z.string().describe("User code that the device shows"),
  status: StatusType.describe("Decision of the person"),
  cluster_id: z.string().describe("Cluster of the person"),
});

export const decideDeviceGrant = defineOperation({
  id: "device-grant.decide",
  ...routerOperation,
  summary: "Set the status of a device grant, as a cluster does",
  method: "POST",
  path: "/router/v1/oauth2.0/device/cluster_info/",
  auth: "cluster-key",
  request: { body: json(DeviceGrantUpdateRequest) },
  responses: { 200: json(z.strictObject(DeviceGrantUpdateRequest.shape)) },
  failures: [
    "missing-cluster-key",
    "invalid-cluster-key",
    "foreign-cluster-key",
    "unknown-cluster",
    "unknown-user-code",
    "expired-user-code",
    "already-decided",
    "grant-bound",
  ],
  cli: { command: "auth device-decide" },
  basis: { assumed: "The input is specified, response and transitions are not (DECISIONS.md, R30)." },
  examples: [
    { title: "Approve a user code", body: { user_code: "WDJBMJHT", status: "AUTHORIZED", cluster_id: "eu-1" } },
  ],
});
