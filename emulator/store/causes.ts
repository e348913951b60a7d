import type { WallClock } from "../../src/base/clock.ts";
import type { TraceContext } from "../../src/base/trace-context.ts";
import { deriveTraceIds } from "../../src/base/trace-context.ts";
import { type Cause, CauseRow } from "./cause.ts";
import {
  type AnyRows,
  type ConsistentContents,
  type DocumentHead,
  defineRows,
  type History,
  type LoadedState,
  type Store,
  type StoreChange,
  type TakeoverHooks,
  type Transaction,
  type View,
} from "./port.ts";
import { maxRetentionMs } from "./retention.ts";

/** Causes that had an effect, in the order of their effects. A store writes them together with the effects. */
export const causes = defineRows<CauseRow, "before" | "moved_by">({
  name: "causes",
  schema: CauseRow,
  key: (row) => row.id,
  // There is no index by trace: every request would pay for it, and few callers need it.
  indexes: {
    before: (row) => row.before ?? undefined,
    moved_by: (row) => row.moved_by ?? undefined,
  },
});

/**
 * The maximum number of stored causes, because every request can create one. Beyond it, the oldest are dropped in
 * batches of this size.
 */
export const maxCauses = 20_000;
export const causeEvictionBatch = 1_000;

/** Drops expired causes (DECISIONS.md, C21), at most `limit`. Returns their number. */
export async function purgeCauses(tx: Transaction, now: number, limit: number): Promise<number> {
  const oldest = await tx.list(causes, { limit });
  const expired = oldest.filter(({ at }) => at + maxRetentionMs <= now);
  for (const { id } of expired) tx.delete(causes, id);
  return expired.length;
}

/** The highest number of a stored external cause, or 0. New ones continue after it. */
export const readLastRequestNumber = (store: Store): Promise<number> =>
  store.read(async (view) => (await view.list(causes)).reduce((last, { id }) => Math.max(last, parseNumber(id)), 0));

const fromOutside = /^(?:request|advance):(\d+)$/;
const parseNumber = (id: string): number => Number(fromOutside.exec(id)?.[1] ?? 0);

export interface CauseDetails {
  readonly id: string;
  readonly what: string;
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall-clock time; defaults to now. */
  readonly wallAt?: number;
  readonly caller?: TraceContext | undefined;
  readonly before?: CauseRow | undefined;
  readonly movedBy?: string | undefined;
}

export type CauseRowFactory = (happened: CauseDetails) => CauseRow;

/** Clients may send long paths. */
const longest = 300;

/** Creates rows of causes. `seed` is the seed of all ids with --deterministic. */
export function createCauseRowFactory({
  wall,
  seed,
}: {
  readonly wall: WallClock;
  readonly seed?: string | undefined;
}): CauseRowFactory {
  const traceIdOf = deriveTraceIds(seed);
  return ({ id, what, at, wallAt, caller, before, movedBy }) => ({
    id,
    what: what.length > longest ? `${what.slice(0, longest)}…` : what,
    at,
    wall_at: seed === undefined ? Math.floor(wallAt ?? wall.now()) : at,
    trace: caller?.trace ?? before?.trace ?? traceIdOf(id),
    parent_span: caller?.span ?? null,
    before: before?.id ?? null,
    moved_by: movedBy ?? null,
  });
}

export class CausedStore implements Store {
  readonly #store: Store;
  readonly #cause: Cause;

  constructor(store: Store, cause: Cause) {
    this.#store = store;
    this.#cause = cause;
  }

  read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    return this.#store.read(work);
  }

  transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T, cause: Cause | null = this.#cause) {
    return this.#store.transaction(name, work, cause);
  }

  watch(collections: readonly AnyRows[], changed: (change: StoreChange) => void): () => void {
    return this.#store.watch(collections, changed);
  }

  export(head?: () => DocumentHead): AsyncIterable<string> {
    return this.#store.export(head);
  }

  readContents(): Promise<ConsistentContents> {
    return this.#store.readContents();
  }

  createEmptyStore(): Store {
    return this.#store.createEmptyStore();
  }

  load(document: AsyncIterable<Uint8Array>): Promise<LoadedState> {
    return this.#store.load(document);
  }

  takeOver(next: Store, moments?: TakeoverHooks): Promise<void> {
    return this.#store.takeOver(next, moments);
  }

  parseDocument(document: unknown): Store {
    return this.#store.parseDocument(document);
  }

  waitUntilDurable(): Promise<void> {
    return this.#store.waitUntilDurable();
  }

  get history(): History | undefined {
    return this.#store.history;
  }

  get writable(): boolean {
    return this.#store.writable;
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
