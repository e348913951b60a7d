import * as z from "zod";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { computeHmacText } from "../../../src/base/hmac.ts";
import { sendEmail } from "../../domain/emails.ts";
import {
  findInvitationKind,
  type InvitationKind,
  invitationKinds,
  type User,
  users,
  type Workspace,
  workspaces,
} from "../../domain/workspaces.ts";
import { createJsonPassthrough } from "../../http/reply.ts";
import type { RequestTarget } from "../../http/routing/path.ts";
import { defineRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import type { ClusterContext, ForwardedHandler } from "../context.ts";
import { type Contract, contracts, formatCompositeId } from "../contracts/rows.ts";
import { scheduleReport } from "../reports/report.ts";
import { createPersonId } from "../workspace/users.ts";

/** The member is inactive until they accept the invitation (DECISIONS.md, R24). */
export function inviteMember(
  tx: Transaction,
  { clock, ids }: Pick<ClusterContext, "clock" | "ids">,
  { id: workspace_id, cluster_id }: Workspace,
  { email, name }: Pick<Invitation, "email" | "name">,
): Invitation & { readonly user_id: number } {
  const issued_at = clock.now();
  const token = `creator-${ids.token(12)}`;
  const user_id = createPersonId(tx);
  tx.put(users, { id: user_id, workspace_id, name, email, designation: null, is_active: false, roles: [] });
  const location = { cluster_id, workspace_id };
  const status = { kind: "creator", contract_id: null, state: "PENDING" } as const;
  const row = { token, ...status, ...location, user_id, email, name, issued_at };
  tx.put(invitations, row);
  const path = `/auth/v3/invite_info/?${new URLSearchParams({ token })}`;
  sendEmail(tx, { ...location, purpose: "invitation", recipient: email, path, token, sent_at: issued_at });
  return row;
}

/** Returns the tokens by address, and whether the cluster must report a new token (DECISIONS.md, R34). */
export function inviteCounterparties(
  tx: Transaction,
  { id: contract_id, cluster_id, workspace_id }: Contract,
  people: readonly Pick<Invitation, "email" | "name">[],
  at: number,
): { readonly tokens: ReadonlyMap<string, string>; readonly isNew: boolean } {
  const tokens = new Map<string, string>();
  let isNew = false;
  if (people.length === 0) return { tokens, isNew };
  const workspace = tx.get(workspaces, workspace_id);
  for (const { email, name } of people) {
    // A person always gets the same token for the same contract, and the token cannot be forged.
    const hmac = computeHmacText("sha256", workspace?.hmac_key ?? "", `${contract_id} ${toAddressKey(email)}`);
    const token = `counterparty-${hmac.slice(0, 24)}`;
    tokens.set(email, token);
    if (tx.get(invitations, token)) continue;
    const kind = "counterparty" as const;
    const location = { cluster_id, workspace_id, user_id: null, contract_id };
    tx.put(invitations, { token, kind, ...location, email, name, state: "PENDING", issued_at: at });
    isNew = true;
  }
  return { tokens, isNew };
}

export function endInvitations(tx: Transaction, { id }: Contract, at: number): void {
  const all = tx.list(invitations, { by: "contract", equals: id });
  const pending = all.filter(({ state }) => state === "PENDING");
  for (const row of pending) tx.put(invitations, { ...row, state: "ENDED" });
  if (pending.length > 0) scheduleReport(tx, "report-invitations", id, at);
}

/** The seed's invitations have neither a name nor a time. */
export interface AnyInvitation extends Omit<Invitation, "user_id" | "email" | "name" | "issued_at"> {
  readonly email: string | null;
  readonly name: string | null;
  readonly issued_at: number | null;
}

/** Returns the fields of an invitation that the invited person and the control plane can see. */
export const pickSharedFields = ({ token, kind, state, email, name, cluster_id }: AnyInvitation) => {
  return { token, kind, state, email, name, cluster_id };
};

export const listSeededInvitations = (workspace: Workspace): readonly AnyInvitation[] => [
  ...workspace.creator_tokens.map((token) => createSeededInvitation("creator", token, workspace)),
  ...workspace.counterparty_tokens.map((token) => createSeededInvitation("counterparty", token, workspace)),
];

const createSeededInvitation = (
  kind: Invitation["kind"],
  token: string,
  { id: workspace_id, cluster_id }: Workspace,
): AnyInvitation => ({
  ...{ token, kind, cluster_id, workspace_id, state: "PENDING" },
  ...{ contract_id: null, email: null, name: null, issued_at: null },
});

/** A token that a cluster issued to one person, and the state of the invitation (DECISIONS.md, R34). */
const Invitation = z.strictObject({
  token: z.string(),
  kind: z.enum(invitationKinds),
  cluster_id: z.string(),
  workspace_id: z.int(),
  /** The member, who is inactive until the invitation is accepted. Null for a counterparty. */
  user_id: z.int().nullable(),
  /** Null for a member. */
  contract_id: z.int().nullable(),
  email: z.string(),
  name: z.string(),
  /** ENDED means that the contract is executed, voided or deleted. */
  state: z.enum(["PENDING", "ACCEPTED", "ENDED"]),
  /** Virtual milliseconds. */
  issued_at: storedTime(z.number()),
});
export type Invitation = z.infer<typeof Invitation>;

export const invitations = defineRows({
  name: "invitations",
  schema: Invitation,
  key: (row) => row.token,
  indexes: {
    /** Pending invitations, by workspace. */
    open: (row) => (row.state === "PENDING" ? row.workspace_id : undefined),
    user: (row) => row.user_id ?? undefined,
    contract: (row) => row.contract_id ?? undefined,
    email: (row) => toAddressKey(row.email),
    workspace: (row) => row.workspace_id,
  },
});

/** Returns undefined for an invitation of a counterparty. */
export function acceptInvitation(tx: Transaction, invitation: Invitation, at: number): User | undefined {
  const user = invitation.user_id === null ? undefined : tx.get(users, invitation.user_id);
  if (!user) return undefined;
  const member = { ...user, is_active: true };
  tx.put(users, member);
  tx.put(invitations, { ...invitation, state: "ACCEPTED" });
  scheduleReport(tx, "report-member", member.id, at);
  return member;
}
const contractInvite = /^\/(?:v3\/)?contract-invite\/([^/]+)\/by_token\/([^/]+)$/;
const userInvite = /^\/organization\/user-invite\/by_token\/([^/]+)$/;
const inviteInfo = "/auth/v3/invite_info/";

/** An unknown token gets a 404, so that a broadcast finds the right cluster (DECISIONS.md, R34). */
export const respondToInvitation: ForwardedHandler = ({ method, parsedTarget }, { store, cluster }) => {
  const query = method === "GET" ? parseInvitationQuery(parsedTarget) : undefined;
  if (!query) return undefined;
  const invitation = findInvitation(store, cluster.id, query.token);
  return invitation && (query.kind ?? invitation.kind) === invitation.kind
    ? createJsonPassthrough(200, toInvitationRecord(store, invitation))
    : createJsonPassthrough(404, { detail: "Invitation not found" });
};

interface InvitationQuery {
  readonly token: string;
  /** Undefined for both kinds. */
  readonly kind?: InvitationKind | undefined;
}

function parseInvitationQuery({ path, search }: RequestTarget): InvitationQuery | undefined {
  if (path === inviteInfo) return { token: new URLSearchParams(search).get("token") ?? "" };
  const [, emailType = "", contractToken] = contractInvite.exec(path) ?? [];
  if (contractToken !== undefined) return { token: contractToken, kind: findInvitationKind(emailType) };
  const [, token] = userInvite.exec(path) ?? [];
  return token === undefined ? undefined : { token };
}

function findInvitation(view: View, clusterId: string, token: string): AnyInvitation | undefined {
  const invitation = view.get(invitations, token);
  if (invitation) return invitation.cluster_id === clusterId ? invitation : undefined;
  const candidates = view.list(workspaces, { by: "invite", equals: token });
  const workspace = candidates.find(({ cluster_id }) => cluster_id === clusterId);
  return workspace && listSeededInvitations(workspace).find((each) => each.token === token);
}

function toInvitationRecord(view: View, invitation: AnyInvitation) {
  const { workspace_id, contract_id } = invitation;
  const workspace = view.get(workspaces, workspace_id);
  const contract = contract_id === null ? undefined : view.get(contracts, contract_id);
  return {
    ...pickSharedFields(invitation),
    workspace: { id: workspace_id, name: workspace?.name },
    contract:
      contract?.deleted_at === null
        ? { id: formatCompositeId(contract), contract_name: contract.name, contract_status: contract.status }
        : null,
  };
}
