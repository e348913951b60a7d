import * as z from "zod";
import { defineOperation, json, passthrough, raw } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { expectedEmail, optionalString } from "../shapes.ts";
import { forwarding, forwardingToAll } from "./failures.ts";

/** Shared parts of the routes that are proxied to clusters (DECISIONS.md, R34). */
const proxied = { ...routerOperation, responses: { 200: passthrough() }, failures: forwarding } as const;

const contractInvite = z.object({
  email_type: z.string().describe("creator or counter_party; other values search both tables"),
  token: z.string().describe("Invite token"),
});
const inviteToken = z.object({ token: z.string().describe("Invite token") });
const callback = z.object({
  code: z.string().describe("Code of the provider"),
  state: z.string().describe("State; the prefix {cluster_id}_ names the cluster"),
});

export const showContractInvite = defineOperation({
  ...proxied,
  id: "proxied.contract-invite",
  summary: "Show a contract invite by its token",
  path: "/contract-invite/{email_type}/by_token/{token}",
  request: { params: contractInvite },
  cli: { command: "invites contract" },
  examples: [{ title: "Show a creator's invite", params: { email_type: "creator", token: "creator-northwind" } }],
});

export const showContractInviteV3 = defineOperation({
  ...proxied,
  id: "proxied.contract-invite-v3",
  summary: "Show a contract invite by its token, version 3",
  path: "/v3/contract-invite/{email_type}/by_token/{token}",
  request: { params: contractInvite },
  cli: { command: "invites contract-v3" },
  examples: [
    { title: "Show a counterparty's invite", params: { email_type: "counter_party", token: "counterparty-northwind" } },
  ],
});

export const showInviteInfo = defineOperation({
  ...proxied,
  id: "proxied.invite-info",
  summary: "Show the purpose of an invite token",
  path: "/auth/v3/invite_info/",
  request: { query: inviteToken },
  cli: { command: "invites info" },
  examples: [{ title: "Show an invite", query: { token: "creator-northwind" } }],
});

export const showUserInvite = defineOperation({
  ...proxied,
  id: "proxied.user-invite",
  summary: "Show a user's invite by its token",
  path: "/organization/user-invite/by_token/{token}",
  request: { params: inviteToken },
  cli: { command: "invites user" },
  examples: [{ title: "Show a user's invite", params: { token: "creator-northwind" } }],
});

export const OAuthProviderType = z.enum(["ProviderA", "ProviderB", "ProviderC"]).describe("OAuth provider");

/** Query of the routes that start a sign-in. */
export const providerQuery = z.object({
  provider: OAuthProviderType.optional().describe("Provider to sign in with (default: ProviderA)"),
});
export const ProviderSignIn = z.strictObject({ authorization_url: z.string(), state: z.string() });

const startingSignIn = {
  ...proxied,
  request: { query: providerQuery },
  responses: { 200: passthrough(ProviderSignIn) },
  basis: { assumed: "Neither query nor response is specified (DECISIONS.md, R25)." },
} as const;

export const startOAuthLogin = defineOperation({
  ...startingSignIn,
  id: "proxied.oauth-login",
  summary: "Start a login by OAuth",
  path: "/api/v1/svc_auth/oauth/login",
  cli: { command: "auth oauth-login" },
  examples: [{ title: "Start a login", query: { provider: "ProviderB" } }],
});

export const finishOAuthLogin = defineOperation({
  ...proxied,
  id: "proxied.oauth-callback",
  summary: "Receive the provider's response to a login",
  path: "/api/v1/svc_auth/oauth/callback",
  request: { query: callback },
  cli: { command: "auth oauth-callback" },
  examples: [{ title: "Complete the sign-in", query: { code: "c0de", state: "eu-1_4af0" } }],
});

export const startOAuthSignup = defineOperation({
  ...startingSignIn,
  id: "proxied.oauth-signup",
  summary: "Start a signup by OAuth",
  path: "/api/v1/svc_auth/oauth/signup",
  cli: { command: "auth oauth-signup" },
  examples: [{ title: "Start a signup", query: { provider: "ProviderB" } }],
});

export const finishOAuthSignup = defineOperation({
  ...proxied,
  id: "proxied.oauth-signup-callback",
  summary: "Receive the provider's response to a signup",
  path: "/api/v1/svc_auth/oauth/signup/callback",
  request: { query: callback },
  cli: { command: "auth oauth-signup-callback" },
  examples: [{ title: "Complete the signup", query: { code: "c0de", state: "eu-1_4af0" } }],
});

export const LoginV2Request = z.object({ email: expectedEmail.describe("Address of the person") });

export const loginV2 = defineOperation({
  ...proxied,
  id: "proxied.login-v2",
  summary: "Look up how the owner of an e-mail address logs in",
  method: "POST",
  path: "/api/v1/svc_auth/login_v2/",
  request: { body: json(LoginV2Request) },
  cli: { command: "auth login-v2" },
  examples: [{ title: "Look up the login of a user", body: { email: "ada@northwind.example" } }],
});

export const CaptchaConfigResponse = z.strictObject({
  use_test_captcha: z.boolean().describe("Whether the caller's address is on the test list"),
});

export const showCaptchaConfig = defineOperation({
  ...proxied,
  id: "proxied.captcha-config",
  summary: "Show whether the caller gets the test captcha",
  path: "/api/v1/auth/captcha-config",
  request: {
    headers: z.object({
      "x-forwarded-for": z.string().nullish().describe("Forwarded addresses; the first one is the caller's"),
    }),
  },
  responses: { 200: passthrough(CaptchaConfigResponse) },
  failures: forwardingToAll,
  cli: { command: "auth captcha-config" },
  examples: [{ title: "Show the captcha" }],
});

export const HealthCheckResponse = z.strictObject({ database: z.boolean().describe("Whether the store can write") });

export const checkHealth = defineOperation({
  id: "health.show",
  ...routerOperation,
  summary: "Check the health of the routing service",
  path: "/",
  responses: { 200: json(HealthCheckResponse) },
  cli: { command: "router health" },
  examples: [{ title: "Check the router" }],
});

export const forwardAnything = defineOperation({
  id: "catch-all",
  ...routerOperation,
  summary: "Forward any other path to the cluster of the request",
  description:
    "Applies to paths and methods that no operation declares. Without a mapped identifier, the request goes to all clusters.",
  method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
  path: "/{full_path}",
  request: { params: z.object({ full_path: z.string().describe("Path, with its slashes") }), body: raw() },
  responses: { 200: passthrough() },
  failures: forwarding,
  cli: { by: "api" },
  examples: [{ title: "Request an undeclared path", params: { full_path: "api/v1/anything" } }],
});

export const receiveExternalRedirect = defineOperation({
  id: "external-oauth.redirect",
  ...routerOperation,
  summary: "Forward a provider's redirect to the cluster that started it",
  description:
    "The prefix {cluster_id}_ of the state selects the cluster. Without it, the request goes to all clusters.",
  path: "/router/v1/oauth2.0/external/{provider}/redirect",
  request: {
    params: z.object({ provider: OAuthProviderType }),
    query: z.object({
      code: optionalString.describe("Code of the provider"),
      state: optionalString.describe("State of the cluster's flow"),
      error: optionalString.describe("Error that the provider sends instead of a code"),
    }),
  },
  responses: { 200: passthrough() },
  failures: forwarding,
  cli: { command: "auth external-redirect" },
  examples: [
    {
      title: "Forward the redirect of a provider",
      params: { provider: "ProviderA" },
      query: { code: "c0de", state: "eu-1_4af0" },
    },
  ],
});
