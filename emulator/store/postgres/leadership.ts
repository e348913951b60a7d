import type { Wall } from "../../../src/base/clock.ts";
import { StoreFailed } from "../port.ts";
import type { Database, Tx } from "./database.ts";

/*
 * Who may write. One process leads: it is named in the only row of `leadership`, with an epoch that is raised by whoever
 * begins to lead. All that is written asks for that epoch in its own statement (`fenced`), and holds the row until it is
 * committed; so whoever begins to lead waits for what is under way, sees it, and nothing of before is written any more.
 *
 * When to begin is a matter of two signs. The leader holds an advisory lock, which PostgreSQL frees the moment its
 * connection ends; and it raises `beat` all the time. Somebody else begins when the lock is free, or when the beat stands
 * still for the whole lease: the leader was stopped, or its network was. As long as a lease may still be running,
 * whoever took over answers nobody (`whenAlone`), for until then the one before may do so.
 */

/** How long a leader may take itself for one after it was last told so; what came to it in between is not stale. */
export const leaseMs = 3_000;
/** How often it asks. */
const beatMs = 500;
/** How often others look whether it still does. */
const lookMs = 200;

/** Who wants to lead. */
export interface Candidate {
  /** New at each start of a process. */
  readonly instance: string;
  /** Where its listeners are; others pass requests on to it. */
  readonly address: unknown;
  /** The token that it was given; undefined: that of the others, or the one made here. */
  readonly token: string | undefined;
  readonly newToken: () => string;
}

interface Row {
  readonly epoch: string;
  readonly beat: string;
  readonly leader: string | null;
  readonly backend: number | null;
  readonly token: string | null;
  /** For how long nobody has raised the beat, by the server's clock. */
  readonly quiet_ms: number;
}

interface Options {
  readonly database: Database;
  readonly wall: Wall;
  readonly candidate: Candidate;
}

/** Ends the waiting for leadership. */
export class NoLongerWanted extends Error {}

export class Leadership {
  readonly #options: Options;
  readonly token: string;
  #epoch: string;
  #isLocked: boolean;
  /** Until when nobody else can have begun to lead, on our wall. */
  #assuredUntil: number;
  #isLost = false;
  readonly #ended = new AbortController();
  readonly #lost: Promise<void>;
  #lose: () => void = () => {};
  /** Until when the one before may believe that it leads. */
  readonly #aloneAt: number;
  #beating: Promise<void>;
  /** Asked with each beat: since when a commit waits for its answer; undefined: none does. */
  waitingSince: () => number | undefined = () => undefined;

  private constructor(
    options: Options,
    begun: { epoch: string; token: string; isLocked: boolean; sentAt: number; aloneAt: number },
  ) {
    this.#options = options;
    this.#epoch = begun.epoch;
    this.token = begun.token;
    this.#isLocked = begun.isLocked;
    this.#assuredUntil = begun.sentAt + leaseMs;
    this.#aloneAt = begun.aloneAt;
    this.#lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    options.database.onSessionEnd(() => {
      this.#isLocked = false;
    });
    this.#beating = this.#beat();
  }

  /**
   * Resolves once this process leads; `waiting` is called, once, if another one does now. Fails with NoLongerWanted when the
   * signal is aborted, and as PostgreSQL fails where it was never reached.
   */
  static async take(options: Options, signal: AbortSignal, waiting: () => void): Promise<Leadership> {
    const { database, wall } = options;
    let seen: { readonly epoch: string; readonly beat: string; readonly since: number } | undefined;
    let tell: (() => void) | undefined = waiting;
    for (let wasReached = false; ; await wall.sleep(lookMs, signal)) {
      if (signal.aborted) throw new NoLongerWanted();
      try {
        const isLocked = await tryLock(database);
        const row = await rowIn(database);
        wasReached = true;
        const now = wall.now();
        if (seen?.epoch !== row.epoch || seen.beat !== row.beat) seen = { ...row, since: now };
        // Twice what our own clock says, should it run faster than the other's.
        const isSilent = row.leader !== null && now - seen.since > leaseMs + 2 * beatMs;
        if (isLocked || isSilent) {
          const begun = await begin(options, row, isLocked);
          if (begun) return new Leadership(options, begun);
        }
        tell?.();
        tell = undefined;
      } catch (error) {
        if (!wasReached) throw error;
      }
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Resolves once another process leads. */
  get lost(): Promise<void> {
    return this.#lost;
  }

  /** Whether nobody else can have begun to lead: what is read here is what there is. */
  get isAssured(): boolean {
    return !this.#isLost && this.#options.wall.now() < this.#assuredUntil;
  }

  /** The epoch that is ours, for the statement of a commit. */
  get epoch(): string {
    return this.#epoch;
  }

  /** Resolves once the one that led before cannot take itself for the leader any more. */
  async whenAlone(): Promise<void> {
    await this.#options.wall.sleep(this.#aloneAt - this.#options.wall.now(), this.#ended.signal);
  }

  /** The statement that asks for our epoch found another one. */
  fencedOff(): StoreFailed {
    this.#isLost = true;
    this.#ended.abort();
    this.#lose();
    return new StoreFailed("Another process leads this store now");
  }

  /** Runs statements in one transaction, all of them only if we lead. Fails with StoreFailed when another one does. */
  async fenced<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return (await this.#options.database.pool.begin(async (tx) => {
      const { count } = await tx`select from leadership where epoch = ${this.#epoch} for share`;
      if (count === 0) throw this.fencedOff();
      return work(tx);
    })) as T;
  }

  /**
   * Begins a new epoch of our own, so that what an answer never came of is either there now or never will be; `work` sees
   * which. Fails with StoreFailed when another process leads.
   */
  async renew(work: (tx: Tx) => Promise<void>): Promise<void> {
    if (this.#isLost) throw this.fencedOff();
    const sentAt = this.#options.wall.now();
    const epoch = await this.#options.database.pool.begin(async (tx) => {
      // By name, not by epoch: when the answer to this very commit is lost, the next attempt finds what it did.
      const [row] = await tx`
        update leadership set epoch = epoch + 1, beat = beat + 1, renewed = clock_timestamp()
        where leader = ${this.#options.candidate.instance} returning epoch`;
      if (!row) throw this.fencedOff();
      await work(tx);
      return row.epoch as string;
    });
    this.#epoch = epoch;
    this.#assuredUntil = sentAt + leaseMs;
  }

  /** Tells others where the listeners are. */
  async tell(address: unknown): Promise<void> {
    await this.fenced((tx) => tx`update leadership set address = ${tx.json(address as never)}`);
  }

  /** Hands over: whoever waits begins at once. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#beating;
    const { database } = this.#options;
    await database.pool`update leadership set leader = null, address = null where epoch = ${this.#epoch}`.catch(
      () => {},
    );
  }

  async #beat(): Promise<void> {
    const { database, wall } = this.#options;
    const { signal } = this.#ended;
    for (let asked: Promise<void> | undefined, askedAt = 0; !signal.aborted; await wall.sleep(beatMs, signal)) {
      const now = wall.now();
      // What waits so long for an answer may wait for ever: a network that stalls tells nobody.
      if (now - Math.min(asked ? askedAt : now, this.waitingSince() ?? now) > leaseMs) database.cut();
      if (asked) continue;
      askedAt = now;
      asked = this.#ask(askedAt)
        .catch(() => {})
        .then(() => {
          asked = undefined;
        });
    }
  }

  async #ask(sentAt: number): Promise<void> {
    const { database } = this.#options;
    const epoch = this.#epoch;
    const { count } = await database.pool`
      update leadership set beat = beat + 1, renewed = clock_timestamp() where epoch = ${epoch}`;
    // A new epoch of our own may have begun meanwhile.
    if (count === 0 && epoch === this.#epoch) this.fencedOff();
    if (count === 0) return;
    this.#assuredUntil = Math.max(this.#assuredUntil, sentAt + leaseMs);
    if (!this.#isLocked) await this.#lockAgain();
  }

  /** The connection that held the lock has ended; whoever held it before us, is ended. */
  async #lockAgain(): Promise<void> {
    const { database } = this.#options;
    this.#isLocked = await tryLock(database);
    if (this.#isLocked) {
      await database.session`update leadership set backend = pg_backend_pid() where epoch = ${this.#epoch}`;
    } else {
      await database.pool`select pg_terminate_backend(backend) from leadership where epoch = ${this.#epoch}`;
    }
  }
}

async function tryLock({ session, schema }: Database): Promise<boolean> {
  const [row] =
    await session`select pg_try_advisory_lock(hashtextextended(${`svc-leadership ${schema}`}, 0)) as locked`;
  return row!.locked as boolean;
}

async function rowIn({ session }: Database): Promise<Row> {
  const [row] = await session<Row[]>`
    select epoch, beat, leader, backend, token,
      (extract(epoch from clock_timestamp() - renewed) * 1000)::float8 as quiet_ms
    from leadership`;
  return row!;
}

/** Undefined when somebody else was faster. */
async function begin({ database, wall, candidate }: Options, row: Row, isLocked: boolean) {
  const { instance, address, newToken } = candidate;
  const token = candidate.token ?? row.token ?? newToken();
  const sentAt = wall.now();
  const [begun] = await database.session`
    update leadership set epoch = epoch + 1, beat = beat + 1, renewed = clock_timestamp(), leader = ${instance},
      backend = ${isLocked ? database.session`pg_backend_pid()` : database.session`backend`},
      address = ${database.session.json(address as never)}, token = ${token}
    where epoch = ${row.epoch} returning epoch`;
  if (!begun) return undefined;
  // By the server's clock, which wrote both times; ours has not seen when the one before was last told that it leads.
  const left = row.leader === null || !isLocked ? 0 : Math.min(leaseMs, Math.max(0, leaseMs - row.quiet_ms));
  return { epoch: begun.epoch as string, token, isLocked, sentAt, aloneAt: sentAt + left };
}
