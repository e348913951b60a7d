import { hmacText } from "../../../src/base/hmac.ts";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { Transaction } from "../../store/port.ts";
import { workspaces } from "../../world/workspaces.ts";
import type { Contract } from "../contracts/rows.ts";
import { report } from "../reports/report.ts";
import { type Invitation, invitations } from "./rows.ts";

/** Somebody of the other side to whom a contract goes. */
export type Invited = Pick<Invitation, "email" | "name">;

/**
 * Invites people to a contract, each once; gives their tokens by address, and whether there is a new one, which the
 * cluster is to report (DECISIONS.md, R34).
 */
export async function inviteCounterparties(
  tx: Transaction,
  { id: contract_id, cluster_id, workspace_id }: Contract,
  people: readonly Invited[],
  at: number,
): Promise<{ readonly tokens: ReadonlyMap<string, string>; readonly isNew: boolean }> {
  const tokens = new Map<string, string>();
  let isNew = false;
  if (people.length === 0) return { tokens, isNew };
  const workspace = await tx.get(workspaces, workspace_id);
  for (const { email, name } of people) {
    // The same person is invited to the same contract by the same token, which nobody else can make.
    const mark = hmacText("sha256", workspace?.hmac_key ?? "", `${contract_id} ${addressKey(email)}`);
    const token = `counterparty-${mark.slice(0, 24)}`;
    tokens.set(email, token);
    if (await tx.get(invitations, token)) continue;
    const kind = "counterparty" as const;
    const of = { cluster_id, workspace_id, user_id: null, contract_id };
    tx.put(invitations, { token, kind, ...of, email, name, state: "PENDING", issued_at: at });
    isNew = true;
  }
  return { tokens, isNew };
}

/** Ends the invitations to a contract that is executed, voided or deleted. */
export async function endInvitations(tx: Transaction, { id }: Contract, at: number): Promise<void> {
  const issued = await tx.list(invitations, { by: "contract", equals: id });
  const open = issued.filter(({ state }) => state === "PENDING");
  for (const row of open) tx.put(invitations, { ...row, state: "ENDED" });
  if (open.length > 0) report(tx, "report-invitations", id, at);
}
