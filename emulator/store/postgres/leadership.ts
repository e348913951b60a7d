import type postgres from "postgres";
import { createSteadyClock, type WallClock } from "../../../src/base/clock.ts";
import { createDeferred } from "../../../src/base/concurrency.ts";
import { withTimeout } from "../../../src/base/timing.ts";
import { StoreFailedError } from "../port.ts";
import type { Database, Sql } from "./database.ts";

/*
 * Decides which process may write. One process leads. The only row of `leadership` names it, with an epoch that every
 * new leader increments. Every write checks that epoch in its own statement (`fenced`) and locks the row until it is
 * committed. A new leader therefore waits for pending statements and sees them, and writes of the previous epoch are
 * rejected from then on.
 *
 * A process begins to lead by two signs. The leader holds an advisory lock, which PostgreSQL releases when its
 * connection ends, and it increments `beat` regularly. Another process begins when the lock is free and the beat has
 * not changed for longer than one interval (a leader whose connection was cut continues), or when the beat has not
 * changed for the whole lease, because the leader or its network was stopped. While a previous lease may still be
 * running, the new leader answers no requests, because the previous leader may do so (DECISIONS.md, E18).
 *
 * A copy of a database still names the leader of the original. The leader therefore stores the ID of the database that
 * it leads, so a restored dump is recognized at once. A process counts as the leader only after its beat was seen to
 * change, which does not happen in a copy of a whole server. Until then nothing is forwarded.
 */

/** How long a leader may act after its last confirmation, which is repeated often within a lease. */
export const defaultLeaseMs = 3_000;
const beatsPerLease = 6;

/** Time without a heartbeat after which another process takes over a free lock. A live leader beats earlier. */
const getTakeoverDelayMs = (leaseMs: number): number => (leaseMs * 1.5) / beatsPerLease;

const checkIntervalMs = 100;

const releaseTimeoutMs = 1_000;

/** Errors of a database that can be read but not written: read-only, no permission, full disk. */
const lastingErrors: ReadonlySet<string | undefined> = new Set(["25006", "42501", "53100"]);

export interface Candidate {
  /** Identifies the process. Each start of a process creates a new value. */
  readonly instance: string;
  /** The addresses of its listeners. Standbys forward requests to them. */
  readonly address: unknown;
  /** The configured token. If it is undefined, the process uses the token of the other processes, or a new token. */
  readonly token: string | undefined;
  readonly createToken: () => string;
}

interface LeadershipRow {
  readonly epoch: string;
  readonly beat: string;
  readonly leader: string | null;
  readonly address: unknown;
  readonly token: string | null;
  /** True if the leader uses another database, of which this database is a copy. */
  readonly is_copied: boolean;
  /** Time since the beat was last raised, by the server's clock. */
  readonly quiet_ms: number;
}

interface LeadershipOptions {
  readonly database: Database;
  readonly wall: WallClock;
  readonly candidate: Candidate;
  readonly leaseMs: number;
  readonly report: (line: string) => void;
}

/** Addresses of the leader, or null if no leader is known, and the token of all processes. */
export type LeaderChangeHandler = (leader: unknown, token: string | null) => void;

class CandidacyAbortedError extends Error {
  override readonly name = "CandidacyAbortedError";
}

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly token: string;
  #epoch: string;
  #isLocked: boolean;
  /** Returns the time with that for which the machine slept, in which other processes can take over. */
  readonly #now: () => number;
  /** Time until which no other process can have taken over, on that clock. */
  #assuredUntil: number;
  #isLost = false;
  readonly #ended = new AbortController();
  readonly #loss = createDeferred();
  /** Resolves when another process leads. */
  readonly lost = this.#loss.promise;
  /** Time until which the previous leader may consider itself the leader. */
  readonly #previousLeaseEndsAt: number;
  #beatLoop: Promise<void>;
  #isUnconfirmed = false;
  /** Called with each beat. Returns since when a commit waits for its response, or undefined. */
  waitingSince: () => number | undefined = () => undefined;

  private constructor(options: LeadershipOptions, start: EpochStart) {
    this.#options = options;
    this.#now = start.now;
    this.#epoch = start.epoch;
    this.token = start.token;
    this.#isLocked = start.isLocked;
    this.#assuredUntil = start.sentAt + options.leaseMs;
    this.#previousLeaseEndsAt = start.previousLeaseEndsAt;
    options.database.onSessionEnd(() => {
      this.#isLocked = false;
    });
    this.#beatLoop = this.#beat();
  }

  /**
   * Resolves when this process leads. Until then, `onChange` is called repeatedly with the present leader, or with null
   * if no leader is known. Fails with CandidacyAbortedError when the signal aborts, and with the error of PostgreSQL if
   * it was never reached or cannot be written.
   */
  static async acquire(
    options: LeadershipOptions,
    signal: AbortSignal,
    onChange: LeaderChangeHandler,
  ): Promise<Leadership> {
    const { database, wall, leaseMs } = options;
    let lastSeen: (Pick<LeadershipRow, "epoch" | "beat" | "leader"> & { readonly since: number }) | undefined;
    /** The last leader whose beat was seen to change. */
    let liveLeader: string | null = null;
    let isLocked = false;
    database.onSessionEnd(() => {
      isLocked = false;
    });
    for (let wasReached = false; ; await wall.sleep(checkIntervalMs, signal)) {
      if (signal.aborted) throw new CandidacyAbortedError();
      try {
        const row = await readRow(database);
        wasReached = true;
        const now = wall.monotonicNow();
        const isFree = row.leader === null || row.is_copied;
        if (lastSeen?.epoch !== row.epoch || lastSeen.beat !== row.beat) {
          if (lastSeen?.leader === row.leader) liveLeader = row.leader;
          // The leader is alive without the lock, which it acquires with a later beat.
          if (lastSeen && isLocked && !isFree) isLocked = await unlock(database);
          lastSeen = { ...row, since: now };
        }
        const quietMs = now - lastSeen.since;
        // Otherwise a live leader whose connection was cut would find the lock taken at each of its beats.
        if (isFree || quietMs > getTakeoverDelayMs(leaseMs)) isLocked ||= await tryLock(database);
        // The delay is longer than the lease, in case the clock of this process is faster than the clock of the leader.
        const takeoverDelayMs = isLocked ? getTakeoverDelayMs(leaseMs) : leaseMs * (1 + 2 / beatsPerLease);
        if (isFree ? isLocked : quietMs > takeoverDelayMs) {
          // The previous leader no longer receives requests.
          onChange(null, row.token);
          const epochStart = await tryBeginEpoch(options, row, isLocked);
          if (epochStart) return new Leadership(options, epochStart);
        }
        onChange(!isFree && liveLeader === row.leader ? row.address : null, row.token);
      } catch (error) {
        if (!wasReached || lastingErrors.has((error as { code?: string }).code)) throw error;
        // The beat may have changed while it could not be observed.
        lastSeen = undefined;
      }
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** True if no other process can have taken over, so that reads are current. */
  get isAssured(): boolean {
    return !this.#isLost && this.#now() < this.#assuredUntil;
  }

  /** Resolves when the previous leader can no longer consider itself the leader. */
  async waitForPreviousLease(): Promise<void> {
    await this.#options.wall.sleep(this.#previousLeaseEndsAt - this.#now(), this.#ended.signal);
  }

  /**
   * Called when a statement found another epoch. It may be a new epoch of this process whose response has not yet
   * arrived. Only a query by instance shows whether another process leads.
   */
  createFencedError(): StoreFailedError {
    void this.#renewLease(this.#now()).catch(() => {});
    return createLostError();
  }

  #markLost(): StoreFailedError {
    this.#isLost = true;
    this.#ended.abort();
    this.#loss.resolve();
    return createLostError();
  }

  /**
   * The condition of every writing statement, as a common table `mine`. It has a row while this process leads, and
   * locks it until the statement is committed. Writes are single statements instead of transactions, because the client
   * cannot roll back on a closed connection and throws an error that cannot be caught.
   */
  get mine(): postgres.Fragment {
    return this.#options.database.pool`mine as (select from leadership where epoch = ${this.#epoch} for share)`;
  }

  /**
   * Starts a new epoch and deletes the journal after a line, so that lines without a response never appear later. Fails
   * with StoreFailedError when another process leads.
   */
  async renew(lastLine: number): Promise<void> {
    if (this.#isLost) throw this.#markLost();
    const sentAt = this.#now();
    // The condition is the instance, not the epoch. If the response to this statement is lost, the next attempt finds
    // its result.
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

  async publishAddress(address: unknown): Promise<void> {
    const { pool } = this.#options.database;
    await pool`update leadership set address = ${pool.json(address as never)} where epoch = ${this.#epoch}`;
  }

  /** Hands over, so that a waiting process leads immediately. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#beatLoop;
    if (this.#isLost) return;
    const { database, wall } = this.#options;
    const release = async () => {
      await database.pool`update leadership set leader = null, address = null where epoch = ${this.#epoch}`;
      await database.session`select pg_advisory_unlock_all()`;
    };
    // If that fails, the lease expires after the connections of this process have ended.
    await withTimeout(wall, releaseTimeoutMs, release()).catch(() => {});
  }

  async #beat(): Promise<void> {
    const { database, wall, leaseMs } = this.#options;
    const { signal } = this.#ended;
    let pendingRenewal: Promise<void> | undefined;
    // The count is a number of checks, not a time. If this process was busy, the response has arrived at the next
    // check.
    let lateRenewalChecks = 0;
    let stuckCommitChecks = 0;
    for (let lastWaitingSince: number | undefined; !signal.aborted; await wall.sleep(leaseMs / beatsPerLease, signal)) {
      lateRenewalChecks = pendingRenewal ? lateRenewalChecks + 1 : 0;
      const waitingSince = this.waitingSince();
      stuckCommitChecks = waitingSince !== undefined && waitingSince === lastWaitingSince ? stuckCommitChecks + 1 : 0;
      lastWaitingSince = waitingSince;
      // A response that is this late may never arrive, because a stalled network reports no error.
      if (Math.max(lateRenewalChecks, stuckCommitChecks) > beatsPerLease) {
        database.disconnect();
        lateRenewalChecks = 0;
        stuckCommitChecks = 0;
      }
      pendingRenewal ??= this.#renewLease(this.#now())
        .catch((error) => this.#reportUnconfirmed(error))
        .then(() => {
          pendingRenewal = undefined;
        });
    }
  }

  async #renewLease(sentAt: number): Promise<void> {
    const { database, candidate } = this.#options;
    const { count } = await database.pool`
      update leadership set beat = beat + 1, renewed = clock_timestamp() where leader = ${candidate.instance}`;
    if (count === 0) {
      this.#markLost();
      return;
    }
    this.#assuredUntil = Math.max(this.#assuredUntil, sentAt + this.#options.leaseMs);
    if (this.#isUnconfirmed)
      this.#options.report(`The store ${database.displayUrl} confirms again that this process leads`);
    this.#isUnconfirmed = false;
    if (!this.#isLocked) await this.#reacquireLock();
  }

  /** Reports once that requests fail, and why. */
  #reportUnconfirmed({ message }: Error): void {
    if (this.#isUnconfirmed || this.#ended.signal.aborted || this.isAssured) return;
    this.#isUnconfirmed = true;
    const { database, report } = this.#options;
    report(
      `The store ${database.displayUrl} does not confirm that this process leads: ${message}. Requests fail until it does`,
    );
  }

  /** Acquires the lock again after its connection has ended. If that connection still holds it, it is terminated. */
  async #reacquireLock(): Promise<void> {
    const { database } = this.#options;
    this.#isLocked = await tryLock(database);
    if (this.#isLocked) {
      await database.session`update leadership set backend = pg_backend_pid() where epoch = ${this.#epoch}`;
    } else {
      // The system may have given the ID of an ended server process to another one.
      await database.pool`
        select pg_terminate_backend(pid) from leadership join pg_locks on pid = backend
        where epoch = ${this.#epoch} and locktype = 'advisory' and objsubid = 1
          and database = (select oid from pg_database where datname = current_database())
          and (classid::bigint << 32 | objid::bigint) = ${selectLockKey(database.pool, database.schema)}`;
    }
  }
}

const createLostError = (): StoreFailedError => new StoreFailedError("Another process leads this store now");

const selectLockKey = (sql: Sql, schema: string): postgres.Fragment =>
  sql`hashtextextended(${`svc-leadership ${schema}`}, 0)`;

async function tryLock({ session, schema }: Database): Promise<boolean> {
  const [row] = await session`select pg_try_advisory_lock(${selectLockKey(session, schema)}) as locked`;
  return row!.locked as boolean;
}

async function unlock({ session, schema }: Database): Promise<false> {
  await session`select pg_advisory_unlock(${selectLockKey(session, schema)})`;
  return false;
}

/** Distinguishes a database from its copies, but not from a copy of the whole server. */
const selectDatabaseId = (sql: Sql): postgres.Fragment => sql`(
  select system_identifier || '/' || pg_database.oid from pg_control_system(), pg_database
  where datname = current_database())`;

async function readRow({ session }: Database): Promise<LeadershipRow> {
  const [row] = await session<LeadershipRow[]>`
    select epoch, beat, leader, address, token, database is distinct from ${selectDatabaseId(session)} as is_copied,
      (extract(epoch from clock_timestamp() - renewed) * 1000)::float8 as quiet_ms
    from leadership`;
  return row!;
}

type EpochStart = NonNullable<Awaited<ReturnType<typeof tryBeginEpoch>>>;

/** Begins an epoch. Returns undefined if another process was faster. */
async function tryBeginEpoch(
  { database, wall, candidate, leaseMs }: LeadershipOptions,
  row: LeadershipRow,
  isLocked: boolean,
) {
  const { instance, address, createToken } = candidate;
  const token = candidate.token ?? row.token ?? createToken();
  const now = createSteadyClock(wall);
  const sentAt = now();
  const [updated] = await database.session`
    update leadership set epoch = epoch + 1, beat = beat + 1, renewed = clock_timestamp(), leader = ${instance},
      backend = ${isLocked ? database.session`pg_backend_pid()` : database.session`backend`},
      address = ${database.session.json(address as never)}, token = ${token}, database = ${selectDatabaseId(database.session)}
    where epoch = ${row.epoch} returning epoch`;
  if (!updated) return undefined;
  // The time is measured by the server's clock, because this process does not know when the previous leader last
  // confirmed its lease.
  const remainingLeaseMs =
    row.leader === null || row.is_copied || !isLocked ? 0 : Math.min(leaseMs, Math.max(0, leaseMs - row.quiet_ms));
  return {
    epoch: updated.epoch as string,
    token,
    isLocked,
    sentAt,
    previousLeaseEndsAt: sentAt + remainingLeaseMs,
    now,
  };
}
