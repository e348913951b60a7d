import * as z from "zod";
import { operation, passthrough } from "../operation.ts";
import { router } from "../services.ts";
import { forwarding } from "./failures/index.ts";

export const OAuthProviderType = z.enum(["ProviderA", "ProviderB", "ProviderC"]).describe("OAuth provider");

export const receiveExternalRedirect = operation({
  id: "external-oauth.redirect",
  service: router,
  summary: "Forward a provider's redirect to the cluster that started it",
  description:
    "The prefix {cluster_id}_ of the state selects the cluster. Without it, the request goes to all clusters.",
  method: "GET",
  path: "/router/v1/oauth2.0/external/{provider}/redirect",
  auth: "none",
  request: {
    params: z.object({ provider: OAuthProviderType }),
    query: z.object({
      code: z.string().optional().describe("Code of the provider"),
      state: z.string().optional().describe("State of the cluster's flow"),
      error: z.string().optional().describe("Error that the provider sends instead of a code"),
    }),
  },
  responses: { 200: passthrough() },
  failures: forwarding,
  cli: { command: "auth external-redirect" },
  basis: "specified",
  examples: [
    {
      title: "Forward the redirect of a provider",
      params: { provider: "ProviderA" },
      query: { code: "c0de", state: "eu-1_4af0" },
    },
  ],
});
