import { join } from "node:path";
import { toIsoSeconds, type WallClock } from "../../../../../base/clock.ts";
import { AppendLog } from "../../../../../files/append-log.ts";
import { type Disk, type DiskFile, systemDisk } from "../../../../../files/disk.ts";
import { startPosition } from "../../../../../files/log-line.ts";
import { saveTornTail } from "../../../../../files/read-log.ts";
import {
  addCounts,
  type BatchLine,
  type BatchMoves,
  type EventLine,
  type FinishedBatches,
  type LoggedState,
  type MovesLine,
  type RowCounts,
  readJobLog,
} from "./log-file.ts";
import { OpenResults } from "./results.ts";

type FinishedBatch = Omit<BatchLine, "low" | "results">;

/** Maximum number of finished batches that wait for the disk. The job waits when it is reached. */
const maxWaitingBatches = 64;
/** Time during which lines are collected before a flush, which costs as much as a request. */
const maxCollectMs = 10;

interface Options {
  readonly wall: WallClock;
  readonly disk?: Disk;
  readonly report: (message: string) => Promise<void>;
}

/**
 * Log and results of a running job. The results of finished batches are appended first, then their lines. Each write is
 * durable and covers all waiting batches. Batches that are lost in a crash are resent, which changes nothing.
 */
export class OpenJob {
  readonly finished: FinishedBatches;
  /** Moves of batches that an earlier run sent and did not finish. */
  readonly unfinishedMoves: ReadonlyMap<number, BatchMoves>;
  readonly #log: AppendLog<Error>;
  readonly #results: OpenResults;
  readonly #wall: WallClock;
  #counts: RowCounts;
  #unverifiedCount: number;
  #durable: RowCounts;
  #flushNow = new AbortController();

  private constructor(file: DiskFile, state: LoggedState, results: OpenResults, wall: WallClock) {
    const { rows, invalid, failed, moved, finished } = state;
    this.finished = finished;
    this.unfinishedMoves = state.unfinishedMoves;
    this.#counts = { rows, invalid, failed, moved };
    this.#durable = this.#counts;
    this.#unverifiedCount = state.unverified;
    this.#results = results;
    this.#wall = wall;
    this.#log = new AppendLog({
      path: state.file.path,
      file,
      length: state.file.length,
      position: state.file.position ?? startPosition,
      createError: (_reason, cause) => cause as Error,
      gather: () => this.#collectLines(),
      prepare: () => results.write(),
    });
  }

  /**
   * Opens the files in a job's folder and truncates them to their valid part. Stores the rest next to them and reports
   * it.
   */
  static async open(folder: string, { wall, report, disk = systemDisk }: Options): Promise<OpenJob> {
    const state = await readJobLog(folder, disk);
    const { path, length, torn } = state.file;
    if (torn) await report(await saveTornTail(disk, path, length));
    const file = await disk.open(path, "write");
    if (torn) {
      await file.truncate(length);
      await file.sync();
    }
    const results = await OpenResults.open(disk, join(folder, "results.csv"), state.results, report);
    return new OpenJob(file, state, results, wall);
  }

  /** Counts of all finished batches, in this and earlier runs. */
  get counts(): RowCounts {
    return this.#counts;
  }

  get unverified(): number {
    return this.#unverifiedCount;
  }

  /** Counts without batches that may not be on disk. A resume resends those batches. */
  get durable(): RowCounts {
    return this.#durable;
  }

  /**
   * Counts a batch as finished. Resolves at once, or when the disk has caught up. Rejects when the disk cannot be
   * written.
   */
  async finish(batch: FinishedBatch, results: string): Promise<void> {
    if (this.#log.failure) throw this.#log.failure;
    this.finished.add(batch.batch, batch.digest);
    const { rows, invalid, failed, moved } = this.#counts;
    const counts: RowCounts = {
      rows: rows + batch.rows,
      invalid: invalid + batch.invalid,
      failed: failed + batch.failed,
      moved: addCounts(moved, batch.moved),
    };
    this.#counts = counts;
    this.#unverifiedCount += batch.unverified ?? 0;
    this.#results.add(results);
    const line: BatchLine = { ...batch, low: this.finished.low, results: this.#results.length };
    const markDurable = () => {
      this.#durable = counts;
    };
    // A failure here is a failure of the log. The next waiting caller receives it.
    void this.#log.append(JSON.stringify(line)).then(markDurable, () => {});
    if (this.#log.waiting > maxWaitingBatches) await this.#flush();
  }

  /** Records the previous clusters of a batch that is about to be sent. Resolves when they are on disk. */
  async recordMoves(batch: number, moves: BatchMoves): Promise<void> {
    const line: MovesLine = { sending: batch, moves };
    const durable = this.#log.append(JSON.stringify(line));
    this.#flushNow.abort();
    await durable;
  }

  /** Records the outcome of the job, and waits until everything is on disk. */
  async note(event: EventLine["event"], reason?: string): Promise<void> {
    const line = { event, at: toIsoSeconds(this.#wall.now()), ...(reason === undefined ? {} : { reason }) };
    const durable = this.#log.append(JSON.stringify(line));
    this.#flushNow.abort();
    await durable;
  }

  async close(): Promise<void> {
    await this.#flush().catch(() => {});
    await this.#log.close();
    await this.#results.close();
  }

  #flush(): Promise<void> {
    this.#flushNow.abort();
    return this.#log.waitUntilDurable();
  }

  async #collectLines(): Promise<void> {
    await this.#wall.sleep(maxCollectMs, this.#flushNow.signal);
    this.#flushNow = new AbortController();
  }
}
