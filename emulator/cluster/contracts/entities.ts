import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import type { Person } from "../../webhooks/payload.ts";
import type { Entity } from "../../world/workspaces.ts";
import type { Counterparty } from "../counterparties/rows.ts";
import { changed } from "./creation/new-contract.ts";
import { contractFacts } from "./facts.ts";
import { type Contract, contracts } from "./rows.ts";

interface Telling {
  readonly clock: Clock;
  readonly by: Person;
}

/** Whether the parties of a contract may still change: before signature begins. */
export const isOpen = ({ status }: Contract): boolean => status === "DRAFT" || status === "REDLINING";

/** Lets an entity be the contract's, and tells it; nothing happens where it is already (DECISIONS.md, C23). */
export async function replaceEntity(tx: Transaction, world: Telling, row: Contract, { id }: Entity): Promise<Contract> {
  return row.entity_id === id ? row : changedEntity(tx, world, row, { entity_id: id });
}

/** Lets a counterparty that was renamed be called so in its contracts that are open, and tells each. */
export async function renameParty(tx: Transaction, world: Telling, { id, name }: Counterparty): Promise<void> {
  for (const row of await tx.list(contracts, { by: "counterparty", equals: id })) {
    const party = row.counterparties.find(({ counterparty_id }) => counterparty_id === id);
    if (!party || party.name === name || !isOpen(row)) continue;
    const before = new Set(row.counterparties.flatMap((each) => (each.counterparty_id === id ? each.name : [])));
    await changedEntity(tx, world, row, {
      counterparties: row.counterparties.map((each) => (each.counterparty_id === id ? { ...each, name } : each)),
      signatories: row.signatories.map((each) =>
        before.has(each.counterparty_name ?? "") ? { ...each, counterparty_name: name } : each,
      ),
    });
  }
}

async function changedEntity(tx: Transaction, { clock, by }: Telling, row: Contract, change: Partial<Contract>) {
  const at = clock.now();
  const after = changed(tx, row, at, change);
  await emit(tx, clock, {
    workspace_id: after.workspace_id,
    activity: "CONTRACT_ENTITY_UPDATED",
    at,
    performed_by: by,
    contract: await contractFacts(tx, after),
  });
  return after;
}
