import type postgres from "postgres";
import { createSteadyClock, type WallClock } from "../../../src/base/clock.ts";
import { withTimeout } from "../../../src/base/timing.ts";
import { StoreFailedError } from "../port.ts";
import type { Database, Sql } from "./database.ts";

/*
 * Decides which process may write. One process leads: it is named in the only row of `leadership`, with an epoch that
 * every new leader raises. Every write checks that epoch in its own statement (`fenced`), and holds the row until it is
 * committed; so a new leader waits for pending statements, sees them, and writes of the previous epoch are rejected
 * from then on.
 *
 * Two signs decide when to begin. The leader holds an advisory lock, which PostgreSQL frees the moment its connection
 * ends; and it raises `beat` all the time. Another process begins when the lock is free and the beat stands still for
 * longer than one takes (a leader whose connection was cut continues), or when the beat stands still for the whole
 * lease: the leader was stopped, or its network was. As long as a previous lease may still be running, the new leader
 * answers no requests, because until then the previous leader may do so (DECISIONS.md, E18).
 *
 * A copy of a database still names the leader of the original. So the leader writes down which database it leads, by
 * which a restored dump is recognized at once; and a process counts as the leader only after its beat was seen to move,
 * which it does not in a copy of a whole server. Until then nothing is forwarded.
 */

/**
 * How long a leader may consider itself the leader after its last confirmation; requests in between are not stale. It
 * confirms this many times within.
 */
export const defaultLeaseMs = 3_000;
const beatsPerLease = 6;

/** How long the beat stands still while the lock is free, until another process begins: a leader alive beats before. */
const quietMsWithoutLock = (leaseMs: number): number => (leaseMs * 1.5) / beatsPerLease;

/** How often others look whether it still does. */
const lookMs = 100;

/** How long it may take to hand over. */
const releaseMs = 1_000;

/** A process that wants to lead. */
export interface Candidate {
  /** New at each start of a process. */
  readonly instance: string;
  /** Addresses of its listeners; standbys forward requests to them. */
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
  /** Time since the beat was last raised, by the server's clock. */
  readonly quiet_ms: number;
}

interface Options {
  readonly database: Database;
  readonly wall: WallClock;
  readonly candidate: Candidate;
  readonly leaseMs: number;
}

/** Addresses of the leader, null: no leader is known; and the token that all processes have. */
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
  /**
   * Counts the time, too, for which the machine slept: a monotonic clock stands still then, and others begin to lead.
   */
  readonly #now: () => number;
  /** Time until which no other process can have begun to lead, on that clock. */
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
   * Resolves once this process leads; `seen` is called repeatedly while another one does, or none yet. Fails with
   * CandidacyAbortedError when the signal is aborted, and as PostgreSQL fails if it was never reached.
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
          // The leader lives, and has lost its lock, or never had it: it acquires it with its next beat.
          if (seen && isLocked && !isFree) isLocked = await unlock(database);
          seen = { ...row, since: now };
        }
        const quietMs = now - seen.since;
        // More than the lease, in case our clock is faster than the other's.
        const patienceMs = isLocked ? quietMsWithoutLock(leaseMs) : leaseMs * (1 + 2 / beatsPerLease);
        if (isFree ? isLocked : quietMs > patienceMs) {
          // The previous leader is no longer asked.
          tell(null, row.token);
          const begun = await begin(options, row, isLocked);
          if (begun) return new Leadership(options, begun);
        }
        tell(!isFree && alive === row.leader ? row.address : null, row.token);
      } catch (error) {
        if (!wasReached) throw error;
        // A beat that could not be observed may have moved.
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

  /** Whether no other process can have begun to lead: then reads here are current. */
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
   * A statement that checks our epoch found another one. That may be a new one of our own, whose response is still on
   * its way: only a query by name can show that another process leads.
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
   * The condition of every statement that writes, as a common table `mine`: it has a row if we lead, and keeps it so
   * until the statement is committed. Each is a statement of its own: the client cannot roll back on a connection that
   * has ended, and throws where the error cannot be caught.
   */
  get mine(): postgres.Fragment {
    return this.#options.database.pool`mine as (select from leadership where epoch = ${this.#epoch} for share)`;
  }

  /**
   * Begins a new epoch of our own, and cuts the journal off behind a line: lines without a response are gone then, and
   * never will be there. Fails with StoreFailedError when another process leads.
   */
  async renew(lastLine: number): Promise<void> {
    if (this.#isLost) throw this.#markLost();
    const sentAt = this.#now();
    // By name, not by epoch: when the response to this very statement is lost, the next attempt finds its result.
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

  /** Publishes the addresses of the listeners. */
  async publishAddress(address: unknown): Promise<void> {
    const { pool } = this.#options.database;
    await pool`update leadership set address = ${pool.json(address as never)} where epoch = ${this.#epoch}`;
  }

  /** Hands over: a waiting process begins at once. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#beating;
    if (this.#isLost) return;
    const { database, wall } = this.#options;
    const released = async () => {
      await database.pool`update leadership set leader = null, address = null where epoch = ${this.#epoch}`;
      await database.session`select pg_advisory_unlock_all()`;
    };
    // If that fails, it ends with our connections, and the lease runs out.
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
      // A response that is this late may never come: a stalled network sends no error.
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

  /** The connection that held the lock has ended; the connection that held it before us is terminated. */
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

/** Distinguishes a database from its copies, as long as they are not of the whole server. */
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

/** Undefined if another process was faster. */
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
  // By the server's clock, which wrote both times; ours does not know when the previous leader last confirmed its
  // lease.
  const left =
    row.leader === null || row.is_copied || !isLocked ? 0 : Math.min(leaseMs, Math.max(0, leaseMs - row.quiet_ms));
  return { epoch: begun.epoch as string, token, isLocked, sentAt, aloneAt: sentAt + left, now };
}
