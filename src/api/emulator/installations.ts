import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { OAuthProviderType } from "../router/external-oauth.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { pageOf, pageQuery } from "./shapes/page.ts";

const ours = assumed("The start of an installation belongs to the cluster. The control plane emulates it.");

/** What can be installed in a workspace: chat_a, and an account at each external provider. */
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

export const listInstallations = operation({
  id: "installations.list",
  service: emulator,
  summary: "List the installations of apps, newest first",
  method: "GET",
  path: "/_emulator/installations",
  auth: "control-token",
  request: { query: z.object(pageQuery) },
  responses: { 200: json(pageOf(z.strictObject(installation))) },
  failures: [],
  cli: {
    command: "emulator installations",
    rows: "items",
    columns: ["id", "app", "cluster_id", "workspace_id", "status", "account.id"],
  },
  basis: ours,
  examples: [{ title: "List the installed teams of chat_a" }],
});

export const beginInstallation = operation({
  id: "installations.begin",
  service: emulator,
  summary: "Start installing an app in a workspace",
  description:
    "Prints the URL of the stand-in provider, which redirects to the router with a code and the state. Without a browser, approve_as returns that redirect immediately.",
  method: "POST",
  path: "/_emulator/installations/{app}",
  auth: "control-token",
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
        code: z.string().nullable().describe("Code of the provider; null without approve_as"),
        redirect_url: z
          .string()
          .nullable()
          .describe("Redirect of the provider with code and state; null without approve_as"),
      }),
    ),
  },
  failures: ["no-such-workspace"],
  cli: {
    command: "emulator installations begin",
    columns: ["id", "app", "cluster_id", "workspace_id", "authorization_url", "state", "code", "redirect_url"],
  },
  basis: ours,
  examples: [
    { title: "Install chat_a in the first workspace", params: { app: "chat_a" } },
    { title: "Install for a team, without a browser", params: { app: "chat_a" }, body: { approve_as: "T-NEW" } },
    { title: "Connect an account in another workspace", params: { app: "ProviderC" }, body: { workspace_id: 3 } },
  ],
});
