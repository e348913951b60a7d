import * as z from "zod";
import { assumed } from "../basis.ts";
import { dictionary } from "../dictionary.ts";
import { json, operation } from "../operation.ts";
import { OAuthProviderType } from "../router/external-oauth.ts";
import { InvitedUser } from "../router/trial.ts";
import { emulator } from "../services.ts";
import { pageOf, pageQuery } from "./shapes/page.ts";

const Trial = z.strictObject({
  id: z.int(),
  token: z.string(),
  email: z.string(),
  oauth_provider: OAuthProviderType.nullable(),
  account_details: dictionary(z.unknown()).nullable(),
  answers: z
    .strictObject({
      first_name: z.string(),
      last_name: z.string().nullable(),
      job_title: z.string(),
      company_name: z.string(),
      industry: z.string(),
      use_case: z.string(),
      cluster_location: z.string().nullable(),
      invited_users: z.array(InvitedUser),
    })
    .nullable()
    .describe("Response to the completion; null until then"),
  cluster_id: z.string().nullable().describe("Workspace; null until it is created"),
  workspace_id: z.int().nullable(),
});

export const listTrials = operation({
  id: "trials.list",
  service: emulator,
  summary: "List the trial signups with their responses, newest first",
  method: "GET",
  path: "/_emulator/trials",
  auth: "control-token",
  request: {
    query: z.object(pageQuery),
  },
  responses: {
    200: json(pageOf(Trial)),
  },
  failures: [],
  cli: {
    command: "emulator trials",
    rows: "items",
    columns: ["id", "email", "answers.company_name", "cluster_id", "workspace_id"],
  },
  basis: assumed("The control plane is part of the emulator (DECISIONS.md, R24)."),
  examples: [{ title: "List the trial signups" }],
});
