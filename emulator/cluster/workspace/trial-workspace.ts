import * as z from "zod";
import { sameSecret } from "../../../src/base/hmac.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { type Rows, rows, type Transaction } from "../../store/port.ts";
import { sendEmail } from "../../world/emails.ts";
import { type CreatedWorkspace, NewWorkspace } from "../../world/new-workspace.ts";
import { entities, roles, users, workspaces } from "../../world/workspaces.ts";
import { json } from "../answer.ts";
import type { ClusterWorld } from "../world.ts";
import { nextPersonId } from "./person-ids.ts";

/** Which signup a workspace was made for, so that the same one asked for again is not made twice. */
export const trialWorkspaces = rows<{ readonly signup_token: string; readonly workspace_id: number }>({
  name: "trial_workspaces",
  schema: z.strictObject({ signup_token: z.string(), workspace_id: z.int() }),
  key: (row) => row.signup_token,
  indexes: {},
});

/** Creates the workspace of a completed signup, at the router's request (DECISIONS.md, R24). */
export async function createTrialWorkspace(
  { headers, body }: ReceivedRequest,
  { store, clock, cluster, ids }: ClusterWorld,
): Promise<Passthrough> {
  if (!sameSecret(headers["x-cluster-key"] ?? "", cluster.key)) return json(401, { detail: "Invalid cluster key" });
  const request = NewWorkspace.safeParse(parsed(body));
  if (!request.success) return json(400, { detail: "This is no request for a workspace" });
  const created = await store.transaction("create a trial workspace", async (tx): Promise<CreatedWorkspace> => {
    const known = await tx.get(trialWorkspaces, request.data.signup_token);
    const workspace = known
      ? await tx.get(workspaces, String(known.workspace_id))
      : await addWorkspace(tx, { clock, cluster, ids }, request.data);
    if (!workspace) throw new Error(`The workspace of signup ${request.data.email} is gone`);
    return {
      workspace_id: workspace.id,
      client_id: workspace.client_id,
      creator_tokens: [...workspace.creator_tokens],
    };
  });
  return json(201, created);
}

/** A workspace in which contracts can be made: its owner, a role, an entity, and what an entity may be. */
async function addWorkspace(
  tx: Transaction,
  { clock, cluster, ids }: Pick<ClusterWorld, "clock" | "cluster" | "ids">,
  { signup_token, email, first_name, last_name, job_title, company_name, invited_users }: NewWorkspace,
) {
  const id = await freeId(tx, workspaces, "workspace");
  const userId = await nextPersonId(tx);
  const roleId = await freeId(tx, roles, "role");
  const workspace = {
    id,
    cluster_id: cluster.id,
    name: company_name,
    client_id: ids.uuid(),
    client_secret: ids.token(24),
    acting_user_id: userId,
    permissions: ["developer_settings" as const],
    hmac_key: ids.bytes(64).toString("base64"),
    organization_types: [
      { id: 1, name: "Private Limited Company" },
      { id: 2, name: "Corporation" },
    ],
    jurisdictions: [{ id: 1, name: "United States", iso_code: "US" }],
    creator_tokens: invited_users.map(() => `creator-${ids.token(12)}`),
    counterparty_tokens: [],
  };
  tx.put(workspaces, workspace);
  for (const [i, { email: recipient }] of invited_users.entries()) {
    const token = workspace.creator_tokens[i]!;
    const path = `/auth/v3/invite_info/?${new URLSearchParams({ token })}`;
    const of = { cluster_id: cluster.id, workspace_id: id };
    sendEmail(tx, { ...of, purpose: "invitation", recipient: recipient.trim(), path, token, sent_at: clock.now() });
  }
  tx.put(users, {
    id: userId,
    workspace_id: id,
    name: [first_name, last_name].filter(Boolean).join(" "),
    email: email.trim(),
    designation: job_title,
    is_active: true,
    roles: [roleId],
  });
  tx.put(roles, { id: roleId, workspace_id: id, name: "Admin" });
  tx.put(entities, {
    id: await freeId(tx, entities, "entity"),
    workspace_id: id,
    reference_id: `WS-${id}`,
    name: company_name,
    jurisdiction: "United States",
    type: "Corporation",
    is_primary: true,
  });
  tx.put(trialWorkspaces, { signup_token, workspace_id: id });
  return workspace;
}

/** The next number that no row has: those of the seed are its own choice. */
async function freeId<Row extends object>(tx: Transaction, collection: Rows<Row>, sequence: string): Promise<number> {
  for (;;) {
    const id = tx.next(sequence);
    if (!(await tx.get(collection, String(id)))) return id;
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
