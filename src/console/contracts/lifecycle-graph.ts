import type { ContractStatus } from "../../api/contract-statuses.ts";
import {
  conditions,
  type ForbiddenMove,
  lifecycle,
  type Move,
  type Trigger,
  triggers,
} from "../../api/contracts/lifecycle.ts";

/** A state of the picture; `(new)` is where contracts begin. */
export type Stage = ContractStatus | "(new)";

export interface Edge {
  readonly from: Stage;
  readonly to: Stage;
  readonly triggers: readonly Trigger[];
}

const rows: readonly (Move | ForbiddenMove)[] = lifecycle;
const moves = rows.filter((row): row is Move => "to" in row);

const held: readonly ContractStatus[] = moves.flatMap(({ trigger, from }) =>
  trigger === "hold" ? from.filter((place) => place !== "(new)") : [],
);

/** Where a move leads: several states for a resume, none where it stays or the contract is gone. */
const leads = ({ to }: Move): readonly ContractStatus[] =>
  to === "held" ? held : to === "=" || to === "(deleted)" ? [] : [to];

/** Every way from one state to another, by the declared table. */
export const edges: readonly Edge[] = (() => {
  const found = new Map<string, { from: Stage; to: Stage; triggers: Trigger[] }>();
  for (const move of moves) {
    for (const from of move.from) {
      for (const to of leads(move)) {
        const edge = found.get(`${from} ${to}`) ?? { from, to, triggers: [] };
        if (!edge.triggers.includes(move.trigger)) edge.triggers.push(move.trigger);
        found.set(`${from} ${to}`, edge);
      }
    }
  }
  return [...found.values()];
})();

/** What the table lets happen to a contract in a state, in its order. */
export interface Possible {
  readonly trigger: Trigger;
  /** In words: `signed`. */
  readonly what: string;
  readonly to: Move["to"];
  /** The condition under which it goes there, in words. */
  readonly when: string | undefined;
  /** The service does it by itself. */
  readonly isAutomatic: boolean;
}

export const possibleFrom = (status: ContractStatus): readonly Possible[] =>
  moves
    .filter(({ from }) => from.includes(status))
    .map(({ trigger, to, when, by }) => ({
      trigger,
      what: triggers[trigger],
      to,
      when: when === undefined ? undefined : conditions[when],
      isAutomatic: by === "SYSTEM",
    }));

export const canBe = (status: ContractStatus, trigger: Trigger): boolean =>
  moves.some((move) => move.trigger === trigger && move.from.includes(status));
