import * as z from "zod";
import { assumed } from "../basis.ts";
import { form, html, operation, redirect } from "../operation.ts";
import { emulator } from "../services.ts";

const ours = assumed("The emulator acts as the sign-in providers (DECISIONS.md, R25).");

/** What the page was asked for, by the authorization_url of a login, a signup or an installation. */
const fields = {
  flow: z.enum(["trial", "login", "signup", "install"]).describe("Flow that the person signs in for"),
  provider: z.string().max(100).describe("Name of the provider, or chat_a"),
  state: z.string().max(1_000).describe("State of the flow"),
  destination: z.string().max(200).optional().describe("Destination of the router that chat_a redirects to"),
};

export const showProviderPage = operation({
  id: "provider.page",
  service: emulator,
  summary: "Show the sign-in page of the stand-in provider",
  method: "GET",
  path: "/_emulator/provider",
  auth: "none",
  request: { query: z.object(fields) },
  responses: { 200: html() },
  failures: [],
  cli: { command: "emulator provider-page" },
  basis: ours,
  examples: [
    { title: "Show the page of a signup", query: { flow: "trial", provider: "ProviderA", state: "trial_81" } },
  ],
});

export const submitProviderPage = operation({
  id: "provider.submit",
  service: emulator,
  summary: "Send the sign-in form of the stand-in provider",
  description:
    "Redirects to the callback of the flow with a code for the person or the team. Without one it shows the form again. A denied installation redirects with an error.",
  method: "POST",
  path: "/_emulator/provider",
  auth: "none",
  request: {
    body: form(
      z.object({
        ...fields,
        email: z.string().max(1_000).default("").describe("Address that the provider has verified"),
        team_id: z.string().max(100).default("").describe("Team of chat_a that gets the app"),
        name: z.string().max(1_000).default("").describe("Name that the provider reports"),
        decision: z.enum(["allow", "deny"]).default("allow").describe("Decision about the installation"),
        form_token: z.string().describe("Form token of the page"),
      }),
    ),
  },
  responses: { 200: html(), 303: redirect() },
  failures: ["stale-form"],
  cli: { command: "emulator provider-form" },
  basis: ours,
  examples: [
    {
      title: "Sign up as Ada, with the form_token of svc emulator provider-page",
      body: {
        flow: "trial",
        provider: "ProviderA",
        state: "trial_81",
        email: "ada@example.com",
        name: "Ada",
        form_token: "f0c1",
      },
    },
  ],
});
