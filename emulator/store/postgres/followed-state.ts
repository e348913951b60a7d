import type { Wall } from "../../../src/base/clock.ts";
import { nextTurn } from "../../../src/base/next-turn.ts";
import { within } from "../../../src/base/within.ts";
import { FollowedStore } from "../followed-store.ts";
import { LiveStore } from "../live/live-store.ts";
import { type Collection, StateRefused, type Store } from "../port.ts";
import type { Database } from "./database.ts";
import { groupsAtOnce } from "./journal-table.ts";
import type { Settled } from "./postgres-log.ts";
import { baseOf, goesOn, type Recovered, recover } from "./recovery.ts";

/*
 * A follower reads what the leader writes. Whoever is to be answered from the copy waits until a statement was answered
 * that began after he had come: it finds every line of which anybody has been told that it is there, for that is told once
 * it is committed. So a read is never behind a write that was acknowledged before it, by whichever process, and needs
 * neither a token of its caller nor the leader. Reads that come while a statement is under way share the next one.
 *
 * The last group alone may still be cut off (`Leadership.renew`): its leader may never have had the answer. It is applied
 * once another one follows it, or the leader says that it has it.
 */

/** How long it takes until a state that could not be read is read anew. */
const againMs = 1_000;
/** So long a read waits for the database, or for the leader, until it is passed on: a network that stalls tells nobody. */
const patienceMs = 1_000;
/** How often it is looked again when a new epoch has begun meanwhile. */
const attempts = 3;

interface Options {
  readonly database: Database;
  readonly collections: readonly Collection[];
  readonly wall: Wall;
  /** Asks the one that leads; undefined: it does not answer. */
  readonly settled: () => Promise<Settled | undefined>;
  /** Called after each change of the copy, before anybody is answered from it. */
  readonly changed: (store: Store) => Promise<void>;
}

/** One row for each group behind a line; without any, one with nulls. */
interface Found {
  readonly epoch: string;
  readonly base: { readonly id: string; readonly name: string; readonly bytes: number } | null;
  /** What the leader tells all. */
  readonly address: unknown;
  readonly last: string | null;
  readonly lines: string | null;
}

/** The state of a store that another process writes, in memory. */
export class FollowedState {
  readonly #options: Options;
  #copy: { found: Recovered; readonly store: LiveStore } | undefined;
  #loading: Promise<void> | undefined;
  #notBefore = 0;
  #isRetired = false;
  #running: Promise<boolean> = Promise.resolve(false);
  #next: Promise<boolean> | undefined;
  /** To be read by whoever was told that it is fresh. */
  readonly store: Store;

  constructor(options: Options) {
    this.#options = options;
    const read = <T>(work: Parameters<Store["read"]>[0]) => this.#copy!.store.read(work) as Promise<T>;
    const copy = { read } as Pick<Store, "read"> as Store;
    this.store = new FollowedStore(copy, () => this.#copy !== undefined && !this.#isRetired);
  }

  /** Resolves with whether the copy has all that anybody has been told of until now, and may be read; in a second, or not. */
  fresh(): Promise<boolean> {
    if (this.#isRetired) return Promise.resolve(false);
    if (!this.#copy) {
      this.#load();
      return Promise.resolve(false);
    }
    this.#next ??= this.#inTime(this.#after(this.#running));
    return this.#next;
  }

  /** Whoever comes while what is late is still under way has the same answer. */
  async #inTime(look: Promise<boolean>): Promise<boolean> {
    return (await within(this.#options.wall, patienceMs, look)) === true;
  }

  /** Ends following. Resolves with what is in memory, which nobody reads any more; undefined: nothing that is of use. */
  async retire(): Promise<Recovered | undefined> {
    this.#isRetired = true;
    await this.#loading;
    await this.#running;
    const copy = this.#copy;
    // Whoever reads is through.
    await copy?.store.alone(() => {});
    return copy?.found;
  }

  async #after(before: Promise<boolean>): Promise<boolean> {
    await before;
    // What comes in the same turn has one statement.
    await nextTurn();
    this.#next = undefined;
    this.#running = this.#look().catch((error) => {
      if (error instanceof StateRefused) this.#forget();
      return false;
    });
    return this.#running;
  }

  async #look(): Promise<boolean> {
    for (let attempt = 0; attempt < attempts && this.#copy && !this.#isRetired; attempt += 1) {
      const { found } = this.#copy;
      const rows = await this.#read(found.lines.position.number);
      const [{ epoch, base: written, address } = { epoch: "", base: null, address: null }] = rows;
      const base = written && baseOf(written);
      if (!base || !(await goesOn(this.#options.database.pool, found, base))) {
        this.#forget();
        return false;
      }
      if (found.base && base.id !== found.base.id) this.#copy.found = { ...found, base };
      const groups = rows.flatMap(({ lines }) => (lines === null ? [] : [lines]));
      const isAll = groups.length < groupsAtOnce;
      const last = Number(rows.at(-1)?.last ?? 0);
      const settled = groups.length > 0 && isAll ? await this.#options.settled() : undefined;
      const isSettled = settled?.epoch === epoch && settled.base === base.lineage && settled.durable >= last;
      await this.#apply(isSettled ? groups : groups.slice(0, -1));
      if (!isAll) attempt -= 1;
      else if (groups.length === 0 || isSettled) return isForReading(address);
      else if (settled === undefined) return false;
    }
    return false;
  }

  async #apply(groups: readonly string[]): Promise<void> {
    if (groups.length === 0) return;
    const { found, store } = this.#copy!;
    await store.alone(() => {
      for (const lines of groups) found.lines.take(lines);
    });
    await this.#options.changed(this.store);
  }

  async #read(after: number): Promise<readonly Found[]> {
    return this.#options.database.pool<Found[]>`
      select epoch, address, last, lines, (
          select jsonb_build_object('id', id::text, 'name', name, 'bytes', bytes) from documents
          where kind = 'base' and whole order by id desc limit 1
        ) as base
      from leadership left join (
        select last, lines from journal where last > ${after} order by last limit ${groupsAtOnce}
      ) as behind on true order by last`;
  }

  #forget(): void {
    this.#copy = undefined;
    this.#load();
  }

  #load(): void {
    const { database, collections, wall } = this.#options;
    if (this.#loading || this.#isRetired || wall.monotonicNow() < this.#notBefore) return;
    this.#notBefore = wall.monotonicNow() + againMs;
    const load = async () => {
      // No transaction, which the client cannot undo where its connection ends: what another base takes away meanwhile is
      // missed here, or at the first look.
      const found = await recover(database.pool, database.shown, collections, { isGrowing: true });
      // A store that nobody has begun yet.
      if (!found.base) return;
      const store = new LiveStore({ state: found.state, wall });
      this.#copy = { found, store };
      await this.#options.changed(this.store);
    };
    this.#loading = load()
      .catch(() => {})
      .then(() => {
        this.#loading = undefined;
      });
  }
}

/** Whether the leader lets others answer. */
const isForReading = (address: unknown): boolean =>
  typeof address === "object" && address !== null && (address as { readonly reads?: unknown }).reads === true;
