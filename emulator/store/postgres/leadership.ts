import type postgres from "postgres";
import { createSteadyClock, type WallClock } from "../../../src/base/clock.ts";
import { withTimeout } from "../../../src/base/timing.ts";
import { StoreFailedError } from "../port.ts";
import type { Database, Sql } from "./database.ts";

/*
 * Who may write. One process leads: it is named in the only row of `leadership`, with an epoch that is raised by
 * whoever begins to lead. All that is written asks for that epoch in its own statement (`fenced`), and holds the row
 * until it is committed; so whoever begins to lead waits for what is under way, sees it, and nothing of before is
 * written any more.
 *
 * When to begin is a matter of two signs. The leader holds an advisory lock, which PostgreSQL frees the moment its
 * connection ends; and it raises `beat` all the time. Somebody else begins when the lock is free and the beat stands
 * still for longer than one takes (a leader whose connection was cut continues), or when the beat stands still for the
 * whole lease: the leader was stopped, or its network was. As long as a lease may still be running, whoever took over
 * answers nobody (`whenAlone`), for until then the one before may do so (DECISIONS.md, E18).
 *
 * A copy of a database says of itself that somebody leads, who leads the original. So the leader writes down which
 * database it leads, by which a dump that was restored is known at once; and nobody is taken for the leader before its
 * beat was seen to move, which it does not in a copy of a whole server. Until then nothing is forwarded.
 */

/**
 * How long a leader may take itself for one after it was last told so; what came to it in between is not stale. It asks
 * this many times within.
 */
export const defaultLeaseMs = 3_000;
const beatsPerLease = 6;

/** How long the beat stands still where the lock is free, until somebody else begins: a leader alive beats before. */
const quietMsWithoutLock = (leaseMs: number): number => (leaseMs * 1.5) / beatsPerLease;

/** How often others look whether it still does. */
const lookMs = 100;

/** How long it may take to hand over. */
const releaseMs = 1_000;

/** Who wants to lead. */
export interface Candidate {
  /** New at each start of a process. */
  readonly instance: string;
  /** Where its listeners are; standbys forward requests to it. */
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
  readonly address: unknown;
  readonly token: string | null;
  /** Whether the leader leads another database, of which this one is a copy. */
  readonly is_copied: boolean;
  /** For how long nobody has raised the beat, by the server's clock. */
  readonly quiet_ms: number;
}

interface Options {
  readonly database: Database;
  readonly wall: WallClock;
  readonly candidate: Candidate;
  readonly leaseMs: number;
}

/** Where the leader is, null: nobody leads, as far as is known; and the token that all processes have. */
export type LeaderChangeHandler = (leader: unknown, token: string | null) => void;

/** Ends the waiting for leadership. */
export class CandidacyAbortedError extends Error {
  override readonly name = "CandidacyAbortedError";
}

export class Leadership {
  readonly #options: Options;
  readonly token: string;
  #epoch: string;
  #isLocked: boolean;
  /** Counts the time, too, for which the machine slept: a monotonic clock stands then, and others begin to lead. */
  readonly #now: () => number;
  /** Until when nobody else can have begun to lead, on that clock. */
  #assuredUntil: number;
  #isLost = false;
  readonly #ended = new AbortController();
  readonly #lost: Promise<void>;
  #lose: () => void = () => {};
  /** Until when the one before may believe that it leads. */
  readonly #aloneAt: number;
  #beating: Promise<void>;
  /** Asked with each beat: since when a commit waits for its response; undefined: none does. */
  waitingSince: () => number | undefined = () => undefined;

  private constructor(
    options: Options,
    begun: { epoch: string; token: string; isLocked: boolean; sentAt: number; aloneAt: number; now: () => number },
  ) {
    this.#options = options;
    this.#now = begun.now;
    this.#epoch = begun.epoch;
    this.token = begun.token;
    this.#isLocked = begun.isLocked;
    this.#assuredUntil = begun.sentAt + options.leaseMs;
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
   * Resolves once this process leads; `seen` is called, again and again, while another one does, or nobody yet. Fails with
   * CandidacyAbortedError when the signal is aborted, and as PostgreSQL fails where it was never reached.
   */
  static async acquire(options: Options, signal: AbortSignal, tell: LeaderChangeHandler): Promise<Leadership> {
    const { database, wall, leaseMs } = options;
    let seen: (Pick<Row, "epoch" | "beat" | "leader"> & { readonly since: number }) | undefined;
    /** The leader whose beat was seen to move. */
    let alive: string | null = null;
    let isLocked = false;
    database.onSessionEnd(() => {
      isLocked = false;
    });
    for (let wasReached = false; ; await wall.sleep(lookMs, signal)) {
      if (signal.aborted) throw new CandidacyAbortedError();
      try {
        isLocked ||= await tryLock(database);
        const row = await rowIn(database);
        wasReached = true;
        const now = wall.monotonicNow();
        const isFree = row.leader === null || row.is_copied;
        if (seen?.epoch !== row.epoch || seen.beat !== row.beat) {
          if (seen?.leader === row.leader) alive = row.leader;
          // The one that leads is there, and has lost its lock, or never had it: it takes it with its next beat.
          if (seen && isLocked && !isFree) isLocked = await unlock(database);
          seen = { ...row, since: now };
        }
        const quietMs = now - seen.since;
        // More than the lease, should our clock be faster than the other's.
        const patienceMs = isLocked ? quietMsWithoutLock(leaseMs) : leaseMs * (1 + 2 / beatsPerLease);
        if (isFree ? isLocked : quietMs > patienceMs) {
          // Whoever led before is asked no more.
          tell(null, row.token);
          const begun = await begin(options, row, isLocked);
          if (begun) return new Leadership(options, begun);
        }
        tell(!isFree && alive === row.leader ? row.address : null, row.token);
      } catch (error) {
        if (!wasReached) throw error;
        // What was not seen to stand still, while nobody could see it, may have moved.
        seen = undefined;
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
    return !this.#isLost && this.#now() < this.#assuredUntil;
  }

  /** The epoch that is ours, for the statement of a commit. */
  get epoch(): string {
    return this.#epoch;
  }

  /** Resolves once the one that led before cannot take itself for the leader any more. */
  async whenPreviousLeaseExpired(): Promise<void> {
    await this.#options.wall.sleep(this.#aloneAt - this.#now(), this.#ended.signal);
  }

  /**
   * A statement that asks for our epoch found another one. That may be a new one of our own, whose answer is still on its
   * way: only who is asked for by name can tell that another process leads.
   */
  fencedOff(): StoreFailedError {
    void this.#ask(this.#now()).catch(() => {});
    return anotherLeads();
  }

  #markLost(): StoreFailedError {
    this.#isLost = true;
    this.#ended.abort();
    this.#lose();
    return anotherLeads();
  }

  /**
   * The condition of every statement that writes, as a common table `mine`: it has a row if we lead, and keeps it so until
   * the statement is committed. Each is a statement of its own: the client cannot undo what was begun on a connection that
   * has ended, and throws where nobody can catch it.
   */
  get mine(): postgres.Fragment {
    return this.#options.database.pool`mine as (select from leadership where epoch = ${this.#epoch} for share)`;
  }

  /**
   * Begins a new epoch of our own, and cuts the journal off behind a line: what a response never came of is gone then,
   * and never will be there. Fails with StoreFailedError when another process leads.
   */
  async renew(lastLine: number): Promise<void> {
    if (this.#isLost) throw this.#markLost();
    const sentAt = this.#now();
    // By name, not by epoch: when the response to this very statement is lost, the next attempt finds what it did.
    const [row] = await this.#options.database.pool`
      with led as (
        update leadership set epoch = epoch + 1, beat = beat + 1, renewed = clock_timestamp()
        where leader = ${this.#options.candidate.instance} returning epoch
      ), cut as (delete from journal using led where last > ${lastLine} returning last)
      select epoch, (select count(*) from cut) from led`;
    if (!row) throw this.#markLost();
    this.#epoch = row.epoch as string;
    this.#assuredUntil = sentAt + this.#options.leaseMs;
  }

  /** Tells others where the listeners are. */
  async publishAddress(address: unknown): Promise<void> {
    const { pool } = this.#options.database;
    await pool`update leadership set address = ${pool.json(address as never)} where epoch = ${this.#epoch}`;
  }

  /** Hands over: whoever waits begins at once. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#beating;
    if (this.#isLost) return;
    const { database, wall } = this.#options;
    const released = async () => {
      await database.pool`update leadership set leader = null, address = null where epoch = ${this.#epoch}`;
      await database.session`select pg_advisory_unlock_all()`;
    };
    // Where that cannot be, it ends with our connections, and the lease runs out.
    await withTimeout(wall, releaseMs, released()).catch(() => {});
  }

  async #beat(): Promise<void> {
    const { database, wall, leaseMs } = this.#options;
    const { signal } = this.#ended;
    let asked: Promise<void> | undefined;
    // Counted in looks, not in time: when we were busy ourselves, the response is there at the next one.
    let unanswered = 0;
    let stuck = 0;
    for (let waiting: number | undefined; !signal.aborted; await wall.sleep(leaseMs / beatsPerLease, signal)) {
      unanswered = asked ? unanswered + 1 : 0;
      const since = this.waitingSince();
      stuck = since !== undefined && since === waiting ? stuck + 1 : 0;
      waiting = since;
      // What waits so long for a response may wait forever: a network that stalls tells nobody.
      if (Math.max(unanswered, stuck) > beatsPerLease) {
        database.cut();
        unanswered = 0;
        stuck = 0;
      }
      asked ??= this.#ask(this.#now())
        .catch(() => {})
        .then(() => {
          asked = undefined;
        });
    }
  }

  async #ask(sentAt: number): Promise<void> {
    const { database, candidate } = this.#options;
    const { count } = await database.pool`
      update leadership set beat = beat + 1, renewed = clock_timestamp() where leader = ${candidate.instance}`;
    if (count === 0) {
      this.#markLost();
      return;
    }
    this.#assuredUntil = Math.max(this.#assuredUntil, sentAt + this.#options.leaseMs);
    if (!this.#isLocked) await this.#reacquireLock();
  }

  /** The connection that held the lock has ended; whoever held it before us, is ended. */
  async #reacquireLock(): Promise<void> {
    const { database } = this.#options;
    this.#isLocked = await tryLock(database);
    if (this.#isLocked) {
      await database.session`update leadership set backend = pg_backend_pid() where epoch = ${this.#epoch}`;
    } else {
      await database.pool`select pg_terminate_backend(backend) from leadership where epoch = ${this.#epoch}`;
    }
  }
}

const anotherLeads = (): StoreFailedError => new StoreFailedError("Another process leads this store now");

async function tryLock({ session, schema }: Database): Promise<boolean> {
  const [row] =
    await session`select pg_try_advisory_lock(hashtextextended(${`svc-leadership ${schema}`}, 0)) as locked`;
  return row!.locked as boolean;
}

async function unlock({ session, schema }: Database): Promise<false> {
  await session`select pg_advisory_unlock(hashtextextended(${`svc-leadership ${schema}`}, 0))`;
  return false;
}

/** Tells a database from its copies, as long as they are not of the whole server. */
const thisDatabase = (sql: Sql): postgres.Fragment => sql`(
  select system_identifier || '/' || pg_database.oid from pg_control_system(), pg_database
  where datname = current_database())`;

async function rowIn({ session }: Database): Promise<Row> {
  const [row] = await session<Row[]>`
    select epoch, beat, leader, backend, address, token, database is distinct from ${thisDatabase(session)} as is_copied,
      (extract(epoch from clock_timestamp() - renewed) * 1000)::float8 as quiet_ms
    from leadership`;
  return row!;
}

/** Undefined when somebody else was faster. */
async function begin({ database, wall, candidate, leaseMs }: Options, row: Row, isLocked: boolean) {
  const { instance, address, newToken } = candidate;
  const token = candidate.token ?? row.token ?? newToken();
  const now = createSteadyClock(wall);
  const sentAt = now();
  const [begun] = await database.session`
    update leadership set epoch = epoch + 1, beat = beat + 1, renewed = clock_timestamp(), leader = ${instance},
      backend = ${isLocked ? database.session`pg_backend_pid()` : database.session`backend`},
      address = ${database.session.json(address as never)}, token = ${token}, database = ${thisDatabase(database.session)}
    where epoch = ${row.epoch} returning epoch`;
  if (!begun) return undefined;
  // By the server's clock, which wrote both times; ours has not seen when the one before was last told that it leads.
  const left =
    row.leader === null || row.is_copied || !isLocked ? 0 : Math.min(leaseMs, Math.max(0, leaseMs - row.quiet_ms));
  return { epoch: begun.epoch as string, token, isLocked, sentAt, aloneAt: sentAt + left, now };
}
