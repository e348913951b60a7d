import { join } from "node:path";
import { toIsoSeconds, type WallClock } from "../../../../../base/clock.ts";
import { AppendLog } from "../../../../../files/append-log.ts";
import { type Disk, type DiskFile, systemDisk } from "../../../../../files/disk.ts";
import { startPosition } from "../../../../../files/log-line.ts";
import { saveTornTail } from "../../../../../files/read-log.ts";
import {
  addCounts,
  type BatchLine,
  type EventLine,
  type FinishedBatches,
  type LoggedState,
  type RowCounts,
  readJobLog,
} from "./log-file.ts";
import { OpenResults } from "./results.ts";

type FinishedBatch = Omit<BatchLine, "low" | "results">;

/** This many finished batches may wait for the disk before the job waits too. */
const waitingMax = 64;
/** How long lines may gather before they are made durable together: each flush costs as much as a call. */
const gatherMs = 10;

interface Options {
  readonly wall: WallClock;
  readonly disk?: Disk;
  /** Called with the omitted parts of the files. */
  readonly report: (message: string) => Promise<void>;
}

/**
 * The log and the results of a job that runs. Finished batches are appended: first their results, then their lines,
 * each made durable, and all that wait at a time together. What a crash tears off is sent again, which changes nothing.
 */
export class OpenJob {
  readonly finished: FinishedBatches;
  readonly #log: AppendLog<Error>;
  readonly #results: OpenResults;
  readonly #wall: WallClock;
  #counts: RowCounts;
  #unverified: number;
  #kept: RowCounts;
  #hurry = new AbortController();

  private constructor(file: DiskFile, state: LoggedState, results: OpenResults, wall: WallClock) {
    const { rows, invalid, failed, moved, finished } = state;
    this.finished = finished;
    this.#counts = { rows, invalid, failed, moved };
    this.#kept = this.#counts;
    this.#unverified = state.unverified;
    this.#results = results;
    this.#wall = wall;
    this.#log = new AppendLog({
      path: state.file.path,
      file,
      length: state.file.length,
      position: state.file.position ?? startPosition,
      // The error of the system has the code by which the job's end is explained.
      createError: (_reason, cause) => cause as Error,
      gather: () => this.#gather(),
      prepare: () => results.write(),
    });
  }

  /**
   * Opens the files in a job's folder, and cuts them back to their valid part; the rest is stored next to them, and
   * reported.
   */
  static async open(folder: string, { wall, report, disk = systemDisk }: Options): Promise<OpenJob> {
    const state = await writable(folder, disk, report);
    const file = await disk.open(state.file.path, "write");
    if (state.file.torn) {
      await file.truncate(state.file.length);
      await file.sync();
    }
    const results = await OpenResults.open(disk, join(folder, "results.csv"), state.results, report);
    return new OpenJob(file, state, results, wall);
  }

  /** Of all batches that are finished, in this run and before. */
  get counts(): RowCounts {
    return this.#counts;
  }

  /** Of the rows that the service confirmed, those that cannot be looked up. */
  get unverified(): number {
    return this.#unverified;
  }

  /** The same without those that are not known to be on the disk: a resume sends them again. */
  get kept(): RowCounts {
    return this.#kept;
  }

  /** Counts a batch as finished. Resolves at once, or when the disk has caught up; rejects when it cannot be written. */
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
    this.#unverified += batch.unverified ?? 0;
    this.#results.add(results);
    const line: BatchLine = { ...batch, low: this.finished.low, results: this.#results.length };
    const keep = () => {
      this.#kept = counts;
    };
    // A failure here is the log's failure, which the next waiting caller gets.
    void this.#log.append(JSON.stringify(line)).then(keep, () => {});
    if (this.#log.waiting > waitingMax) await this.#flushed();
  }

  /** Notes what became of the job, and waits until all is on disk. */
  async note(event: EventLine["event"], reason?: string): Promise<void> {
    const line = { event, at: toIsoSeconds(this.#wall.now()), ...(reason === undefined ? {} : { reason }) };
    const durable = this.#log.append(JSON.stringify(line));
    this.#hurry.abort();
    await durable;
  }

  async close(): Promise<void> {
    await this.#flushed().catch(() => {});
    await this.#log.close();
    await this.#results.close();
  }

  #flushed(): Promise<void> {
    this.#hurry.abort();
    return this.#log.waitUntilDurable();
  }

  async #gather(): Promise<void> {
    await this.#wall.sleep(gatherMs, this.#hurry.signal);
    this.#hurry = new AbortController();
  }
}

/** Contents of the log, once it may be appended to. */
async function writable(folder: string, disk: Disk, report: Options["report"]): Promise<LoggedState> {
  const state = await readJobLog(folder, disk);
  const { path, length, torn } = state.file;
  if (torn) await report(await saveTornTail(disk, path, length));
  return state;
}
