import * as z from "zod";
import { defineOperation, form, html, json, redirect } from "../operation.ts";
import { OAuthProviderType } from "../router/proxied.ts";
import { controlOperation } from "../services.ts";
import { nullableString, timestamp } from "../shapes.ts";
import { defineItemPage, pageQuery } from "./shapes.ts";

const installationBasis = {
  assumed: "The start of an installation belongs to the cluster. The control plane emulates it.",
};

/** Apps that can be installed in a workspace: chat_a, and an account at each external provider. */
export const installableApps = ["chat_a", ...OAuthProviderType.options] as const;
export type InstallableApp = (typeof installableApps)[number];

const app = z.enum(installableApps);

const installation = {
  id: z.int(),
  app,
  cluster_id: z.string().describe("Cluster that issued the state, and the only one that can redeem it"),
  workspace_id: z.int(),
  status: z.enum(["PENDING", "INSTALLED", "REFUSED"]),
  account: z
    .strictObject({ id: z.string(), name: z.string() })
    .nullable()
    .describe("Team of chat_a, or account at the provider; null until it is installed"),
  begun_at: timestamp.describe("Virtual time"),
  ended_at: timestamp.nullable(),
};

export const listInstallations = defineOperation({
  id: "installations.list",
  ...controlOperation,
  summary: "List the installations of apps, newest first",
  path: "/_emulator/installations",
  request: { query: z.object(pageQuery) },
  responses: { 200: json(defineItemPage(z.strictObject(installation))) },
  cli: {
    command: "emulator installations",
    rows: "items",
    columns: ["id", "app", "cluster_id", "workspace_id", "status", "account.id"],
  },
  basis: installationBasis,
  examples: [{ title: "List the installed teams of chat_a" }],
});

export const beginInstallation = defineOperation({
  id: "installations.begin",
  ...controlOperation,
  summary: "Start installing an app in a workspace",
  description:
    "Prints the URL of the stand-in provider, which redirects to the router with a code and the state. Without a browser, approve_as returns that redirect immediately.",
  method: "POST",
  path: "/_emulator/installations/{app}",
  request: {
    params: z.object({ app: app.describe("chat_a, or the name of a provider") }),
    body: json(
      z
        .object({
          workspace_id: z.int().optional().describe("Workspace that gets the app (default: the first one)"),
          approve_as: z
            .string()
            .min(1)
            .max(1_000)
            .optional()
            .describe("Team of chat_a or e-mail address that approves immediately"),
        })
        .default({}),
    ),
  },
  responses: {
    201: json(
      z.strictObject({
        ...installation,
        state: z.string(),
        authorization_url: z.string().describe("URL that the approver opens in a browser"),
        code: nullableString.describe("Code of the provider; null if approve_as is not given"),
        redirect_url: nullableString.describe(
          "Redirect of the provider with code and state; null if approve_as is not given",
        ),
      }),
    ),
  },
  failures: ["no-such-workspace"],
  cli: {
    command: "emulator installations begin",
    columns: ["id", "app", "cluster_id", "workspace_id", "authorization_url", "state", "code", "redirect_url"],
  },
  basis: installationBasis,
  examples: [
    { title: "Install chat_a in the first workspace", params: { app: "chat_a" } },
    { title: "Install for a team, without a browser", params: { app: "chat_a" }, body: { approve_as: "T-NEW" } },
    { title: "Connect an account in another workspace", params: { app: "ProviderC" }, body: { workspace_id: 3 } },
  ],
});

const providerBasis = { assumed: "The emulator acts as the sign-in providers (DECISIONS.md, R25)." };

/** Query of the page, identical to the authorization_url of a login, a signup or an installation. */
const fields = {
  flow: z.enum(["trial", "login", "signup", "install"]).describe("Flow that the person signs in for"),
  provider: z.string().max(100).describe("Name of the provider, or chat_a"),
  state: z.string().max(1_000).describe("OAuth state parameter of the flow"),
  destination: z.string().max(200).optional().describe("Destination of the router that chat_a redirects to"),
};

export const showProviderPage = defineOperation({
  id: "provider.page",
  ...controlOperation,
  summary: "Show the sign-in page of the stand-in provider",
  path: "/_emulator/provider",
  auth: "none",
  request: { query: z.object(fields) },
  responses: { 200: html() },
  cli: { command: "emulator provider-page" },
  basis: providerBasis,
  examples: [
    { title: "Show the page of a signup", query: { flow: "trial", provider: "ProviderA", state: "trial_81" } },
  ],
});

export const submitProviderPage = defineOperation({
  id: "provider.submit",
  ...controlOperation,
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
  basis: providerBasis,
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
