import type { WallClock } from "../../src/base/clock.ts";
import { deriveTraceIds, type TraceContext } from "../../src/base/otel.ts";
import { type Cause, CauseRow, defineRows, type Store, type Transaction } from "./port.ts";
import { maxRetentionMs } from "./rows.ts";

/** Causes that had an effect, in the order of their effects. A store writes them together with the effects. */
export const causes = defineRows<CauseRow, "before" | "moved_by">({
  name: "causes",
  schema: CauseRow,
  key: (row) => row.id,
  // There is no index by trace, because it would slow down every request and few callers need it.
  indexes: { before: (row) => row.before ?? undefined, moved_by: (row) => row.moved_by ?? undefined },
});

/** Maximum number of stored causes. The oldest of more are dropped in batches of `causeEvictionBatch`. */
export const maxCauses = 20_000;
export const causeEvictionBatch = 1_000;

/** Drops at most `limit` expired causes (DECISIONS.md, C21). Returns their number. */
export function purgeCauses(tx: Transaction, now: number, limit: number): number {
  const oldest = tx.list(causes, { limit });
  const expired = oldest.filter(({ at }) => at + maxRetentionMs <= now);
  for (const { id } of expired) tx.delete(causes, id);
  return expired.length;
}

/** Returns the highest number of a stored external cause, or 0. New causes continue after it. */
export const readLastRequestNumber = (store: Store): number =>
  store.list(causes).reduce((max, { id }) => Math.max(max, parseCauseNumber(id) ?? 0), 0);

/** Returns the number of a request or a clock advance, which share one sequence. Undefined for other causes. */
export function parseCauseNumber(cause: string): number | undefined {
  const number = /^(?:request|advance):(\d+)$/.exec(cause)?.[1];
  return number === undefined ? undefined : Number(number);
}

interface CauseDetails {
  readonly id: string;
  readonly what: string;
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall-clock time (default: the present time). */
  readonly wallAt?: number;
  readonly caller?: TraceContext | undefined;
  readonly before?: CauseRow | undefined;
  readonly movedBy?: string | undefined;
}

export type CauseRowFactory = (details: CauseDetails) => CauseRow;

/** Descriptions are limited, because clients can send long paths. */
const maxDescriptionCharacters = 300;

/** Creates rows of causes. `seed` is the seed of all IDs with --deterministic. */
export function createCauseRowFactory({
  wall,
  seed,
}: {
  readonly wall: WallClock;
  readonly seed?: string | undefined;
}): CauseRowFactory {
  const getTraceId = deriveTraceIds(seed);
  return ({ id, what, at, wallAt, caller, before, movedBy }) => ({
    id,
    what: what.length > maxDescriptionCharacters ? `${what.slice(0, maxDescriptionCharacters)}…` : what,
    at,
    wall_at: seed === undefined ? Math.floor(wallAt ?? wall.now()) : at,
    trace: caller?.trace ?? before?.trace ?? getTraceId(id),
    parent_span: caller?.span ?? null,
    before: before?.id ?? null,
    moved_by: movedBy ?? null,
  });
}

/** Returns a store or a transaction with other implementations of some of its methods. */
export const overrideMethods = <Target extends Store | Transaction>(target: Target, methods: Partial<Target>): Target =>
  new Proxy(target, {
    get(original, name) {
      const override = Reflect.get(methods, name);
      if (override !== undefined) return override;
      const value = Reflect.get(original, name, original);
      return typeof value === "function" ? value.bind(original) : value;
    },
  });

/** Returns the store with a cause for every transaction that names none. */
export const addCause = (store: Store, ownCause: Cause): Store =>
  overrideMethods<Store>(store, {
    transaction: (name, work, cause = ownCause) => store.transaction(name, work, cause),
  });
