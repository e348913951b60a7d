import { hmac } from "../../../src/base/hmac.ts";
import type { Transaction } from "../../store/port.ts";
import { workspaces } from "../../world/workspaces.ts";
import type { Contract } from "../contracts/rows.ts";
import { report } from "../reports/report.ts";
import { type Invitation, invitations } from "./rows.ts";

/** Somebody of the other side to whom a contract goes. */
export type Invited = Pick<Invitation, "email" | "name">;

/**
 * Invites people to a contract, each once, and lets the cluster report their tokens; gives the tokens by address
 * (DECISIONS.md, R34).
 */
export async function inviteCounterparties(
  tx: Transaction,
  { id: contract_id, cluster_id, workspace_id }: Contract,
  people: readonly Invited[],
  at: number,
): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>();
  if (people.length === 0) return tokens;
  const workspace = await tx.get(workspaces, String(workspace_id));
  let fresh = false;
  for (const { email, name } of people) {
    // The same person is invited to the same contract by the same token, which nobody else can make.
    const mark = hmac("sha256", workspace?.hmac_key ?? "", `${contract_id} ${email.trim().toLowerCase()}`);
    const token = `counterparty-${mark.toString("base64url").slice(0, 24)}`;
    tokens.set(email, token);
    if (await tx.get(invitations, token)) continue;
    const kind = "counterparty" as const;
    const of = { cluster_id, workspace_id, user_id: null, contract_id };
    tx.put(invitations, { token, kind, ...of, email, name, state: "PENDING", issued_at: at });
    fresh = true;
  }
  if (fresh) report(tx, "report-invitations", contract_id, at);
  return tokens;
}

/** Ends the invitations to a contract that is executed, voided or deleted. */
export async function endInvitations(tx: Transaction, { id }: Contract, at: number): Promise<void> {
  const issued = await tx.list(invitations, { by: "contract", equals: id });
  const open = issued.filter(({ state }) => state === "PENDING");
  for (const row of open) tx.put(invitations, { ...row, state: "ENDED" });
  if (open.length > 0) report(tx, "report-invitations", id, at);
}
