import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { OAuthProviderType } from "../router/proxied.ts";
import { InvitedUser } from "../router/trial.ts";
import { controlOperation } from "../services.ts";
import { dictionary, nullableString, optionalString, timestamp } from "../shapes.ts";
import { defineItemPage, pageQuery } from "./shapes.ts";

const basis = { assumed: "People get invitations by e-mail. The control plane emulates that (DECISIONS.md, R34)." };

export const Invitation = z.strictObject({
  token: z.string(),
  kind: z.enum(["creator", "counterparty"]).describe("MEMBER of the workspace, or COUNTERPARTY of a contract"),
  state: z.enum(["PENDING", "ACCEPTED", "ENDED"]).describe("ENDED: the contract is executed, voided or deleted"),
  email: nullableString.describe("Null for a token of the seed, which invites no particular person"),
  name: z.string().nullable(),
  cluster_id: z.string(),
  workspace_id: z.int(),
  contract_id: z.int().nullable().describe("Contract; null for an invitation to the workspace"),
  link: z.string().describe("Link for the person: their page of the contract, or the invitation"),
  issued_at: timestamp.nullable(),
});

export const listInvitations = defineOperation({
  id: "invitations.list",
  ...controlOperation,
  summary: "List the invitations that the clusters issued, newest first",
  description: "The invite tokens of workspaces in the seed are last. They invite no particular person.",
  path: "/_emulator/invitations",
  request: {
    query: z.object({
      cluster: optionalString.describe("Show only this cluster"),
      workspace: z.int().min(1).optional().describe("Show only this workspace"),
      email: optionalString.describe("Show only this person"),
      kind: z.enum(["creator", "counterparty"]).optional().describe("Show only members, or people of the counterparty"),
      state: z.enum(["PENDING", "ACCEPTED", "ENDED"]).optional().describe("Show only this state"),
      ...pageQuery,
    }),
  },
  responses: { 200: json(defineItemPage(Invitation)) },
  cli: {
    command: "emulator invitations",
    rows: "items",
    columns: [
      "token",
      "kind",
      "state",
      "email",
      "contract_id",
      { name: "link", shrinkPriority: 1, minWidth: 32, omits: "middle" },
    ],
  },
  basis,
  examples: [{ title: "List the open invitations", query: { kind: "creator", state: "PENDING" } }],
});

export const acceptInvitation = defineOperation({
  id: "invitations.accept",
  ...controlOperation,
  summary: "Accept an invitation to a workspace, as the person",
  description:
    "The person becomes an active member. Their address is mapped to the cluster, unless another cluster has it, and the token is unmapped.",
  method: "POST",
  path: "/_emulator/invitations/by_token/{token}/accept",
  request: { params: z.object({ token: z.string().describe("Token of the invitation: svc emulator invitations") }) },
  responses: { 200: json(Invitation) },
  failures: [
    "no-such-invitation",
    "invitation-without-recipient",
    "invitation-to-contract",
    "invitation-already-accepted",
  ],
  cli: { command: "emulator invitations accept", columns: ["token", "kind", "state", "email"] },
  basis,
  examples: [{ title: "Accept an invitation", params: { token: "creator-4kq0Zb2mXw1s7RtY" } }],
});

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
    .describe("Answers of the completion; null until then"),
  cluster_id: nullableString.describe("Workspace; null until it is created"),
  workspace_id: z.int().nullable(),
});

export const listTrials = defineOperation({
  id: "trials.list",
  ...controlOperation,
  summary: "List the trial signups with their answers, newest first",
  path: "/_emulator/trials",
  request: { query: z.object(pageQuery) },
  responses: { 200: json(defineItemPage(Trial)) },
  cli: {
    command: "emulator trials",
    rows: "items",
    columns: ["id", "email", "answers.company_name", "cluster_id", "workspace_id"],
  },
  basis: { assumed: "The control plane is part of the emulator (DECISIONS.md, R24)." },
  examples: [{ title: "List the trial signups" }],
});
