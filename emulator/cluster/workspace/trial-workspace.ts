import * as z from "zod";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import { NewWorkspaceRequest, users, workspaces } from "../../domain/workspaces.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import { createJsonPassthrough } from "../../http/reply.ts";
import { defineRows, type Transaction, type View } from "../../store/port.ts";
import type { ClusterContext, ForwardedHandler } from "../context.ts";
import { invitations, inviteMember } from "../invitations/invite.ts";
import { addWorkspace } from "./new-workspace.ts";

/** Maps a signup to its workspace, so that a repeated request does not create it twice. */
export const trialWorkspaces = defineRows({
  name: "trial_workspaces",
  schema: z.strictObject({ signup_token: z.string(), workspace_id: z.int() }),
  key: (row) => row.signup_token,
});

/** Creates the workspace of a completed signup, at the router's request (DECISIONS.md, R24). */
export const createTrialWorkspace: ForwardedHandler = async ({ headers, body }, context) => {
  const { store, cluster } = context;
  if (!isEqualInConstantTime(headers["x-cluster-key"] ?? "", cluster.key))
    return createJsonPassthrough(401, { detail: "Invalid cluster key" });
  const request = NewWorkspaceRequest.safeParse(parseJsonObject(body));
  if (!request.success) return createJsonPassthrough(400, { detail: "The request is not a valid workspace request" });
  const response = await store.transaction("create a trial workspace", async (tx) => {
    const signup = await tx.get(trialWorkspaces, request.data.signup_token);
    const workspace = signup
      ? await tx.get(workspaces, signup.workspace_id)
      : await addTrialWorkspace(tx, context, request.data);
    if (!workspace) throw new Error(`The workspace of signup ${request.data.email} no longer exists`);
    const openInvitations = await tx.list(invitations, { by: "open", equals: workspace.id });
    return {
      workspace_id: workspace.id,
      client_id: workspace.client_id,
      creator_tokens: [
        ...workspace.creator_tokens,
        ...openInvitations.flatMap(({ kind, token }) => (kind === "creator" ? token : [])),
      ],
    };
  });
  return createJsonPassthrough(201, response);
};

async function addTrialWorkspace(tx: Transaction, context: ClusterContext, request: NewWorkspaceRequest) {
  const { signup_token, first_name, last_name, job_title, company_name, industry, use_case } = request;
  const name = [first_name, last_name].filter(Boolean).join(" ");
  const owner = { name, email: request.email.trim(), designation: job_title };
  const workspace = await addWorkspace(tx, context, { name: company_name, industry, use_case, owner });
  // Each address is one member. A repeated address and the owner's address are not invited again.
  const members = new Set([toAddressKey(owner.email)]);
  for (const { email, first_name } of request.invited_users) {
    if (members.has(toAddressKey(email))) continue;
    members.add(toAddressKey(email));
    await inviteMember(tx, context, workspace, { email: email.trim(), name: first_name });
  }
  tx.put(trialWorkspaces, { signup_token, workspace_id: workspace.id });
  return workspace;
}
/** Inactive users count too. The signup's own workspace does not, so that the signup can be repeated. */
export async function hasAccount(
  view: View,
  { email, token }: { readonly email: string; readonly token?: string | undefined },
): Promise<boolean> {
  const trialWorkspace = token === undefined ? undefined : await view.get(trialWorkspaces, token);
  const matches = await view.list(users, { by: "email", equals: toAddressKey(email) });
  return matches.some(({ workspace_id }) => workspace_id !== trialWorkspace?.workspace_id);
}
