import type { View } from "../../../store/port.ts";
import type { Workspace } from "../../../world/workspaces.ts";
import { ownUser } from "../../workspace/own-rows.ts";
import { fullName } from "../full-name.ts";
import type { Party } from "../rows.ts";
import type { Named } from "./template-signatories.ts";

interface CreatorSignatory {
  readonly email: string;
  readonly title: string;
  readonly note?: string | null | undefined;
}

/** Who signs third-party paper: the own side's people, then the contact of each counterparty. */
export async function paperSignatories(
  view: View,
  workspace: Workspace,
  own: readonly CreatorSignatory[],
  parties: readonly Party[],
): Promise<Named[]> {
  const creators: Named[] = [];
  for (const { email, title, note } of own) {
    const name = (await ownUser(view, workspace, email))?.name ?? email;
    creators.push({ name, email, is_counterparty: false, counterparty_name: null, title, note: note ?? null });
  }
  const contacts = parties.flatMap(({ name, poc }): Named[] =>
    poc ? [{ name: fullName(poc), email: poc.email, is_counterparty: true, counterparty_name: name }] : [],
  );
  return [...creators, ...contacts];
}
