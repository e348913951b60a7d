import { dirname } from "node:path";
import { toIsoSeconds, type WallClock } from "../../../../../base/clock.ts";
import { AppendLog } from "../../../../../files/append-log.ts";
import { type Disk, type DiskFile, isMissing, systemDisk } from "../../../../../files/disk.ts";
import { startPosition } from "../../../../../files/log-line.ts";
import { saveTornTail } from "../../../../../files/read-log.ts";
import {
  addBatch,
  type BatchLine,
  type BatchMoves,
  type EventLine,
  type FinishedBatches,
  type LogLine,
  type RowCounts,
  readJobLog,
} from "./log-file.ts";
import { getResultsPath, resultsHeader } from "./results.ts";

/** Maximum number of finished batches that wait for the disk. The job waits when it is reached. */
const maxWaitingBatches = 64;
/** Time during which lines are collected before a flush, which costs as much as a request. */
const maxCollectMs = 10;

interface OpenOptions {
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
  #durable: RowCounts;
  #flushNow = new AbortController();

  private constructor(
    state: Awaited<ReturnType<typeof readJobLog>>,
    log: DiskFile,
    results: OpenResults,
    wall: WallClock,
  ) {
    this.finished = state.finished;
    this.unfinishedMoves = state.unfinishedMoves;
    this.#counts = state;
    this.#durable = state;
    this.#results = results;
    this.#wall = wall;
    const { path, length, position = startPosition } = state.file;
    this.#log = new AppendLog({
      ...{ path, file: log, length, position },
      createError: (_reason, cause) => cause as Error,
      gather: () => this.#collectLines(),
      prepare: () => results.write(),
    });
  }

  /**
   * Opens the files in a job's folder and truncates them to their valid part. Stores the rest next to them and reports
   * it.
   */
  static async open(folder: string, { wall, report, disk = systemDisk }: OpenOptions): Promise<OpenJob> {
    const state = await readJobLog(folder, disk);
    const { path, length, torn } = state.file;
    if (torn) await report(await saveTornTail(disk, path, length));
    const log = await disk.open(path, "write");
    if (torn) {
      await log.truncate(length);
      await log.sync();
    }
    return new OpenJob(state, log, await openResults(disk, getResultsPath(folder), state.results, report), wall);
  }

  /** Counts of all finished batches, in this and earlier runs. */
  get counts(): RowCounts {
    return this.#counts;
  }

  /** Counts without batches that may not be on disk. A resume resends those batches. */
  get durable(): RowCounts {
    return this.#durable;
  }

  /**
   * Counts a batch as finished. Resolves at once, or when the disk has caught up. Rejects when the disk cannot be
   * written.
   */
  async finish(batch: Omit<BatchLine, "low" | "results">, results: string): Promise<void> {
    if (this.#log.failure) throw this.#log.failure;
    this.finished.add(batch.batch, batch.digest);
    const counts = addBatch(this.#counts, batch);
    this.#counts = counts;
    this.#results.add(results);
    const markDurable = () => {
      this.#durable = counts;
    };
    // A failure here is a failure of the log. The next waiting caller receives it.
    void this.#append({ ...batch, low: this.finished.low, results: this.#results.length }).then(markDurable, () => {});
    if (this.#log.waiting > maxWaitingBatches) await this.#flush();
  }

  /** Records the previous clusters of a batch that is about to be sent. Resolves when they are on disk. */
  recordMoves(batch: number, moves: BatchMoves): Promise<void> {
    return this.#appendNow({ sending: batch, moves });
  }

  /** Records the outcome of the job, and waits until everything is on disk. */
  note(event: EventLine["event"], reason?: string): Promise<void> {
    return this.#appendNow({ event, at: toIsoSeconds(this.#wall.now()), ...(reason !== undefined && { reason }) });
  }

  async close(): Promise<void> {
    await this.#flush().catch(() => {});
    await this.#log.close();
    await this.#results.close();
  }

  #append(line: LogLine): Promise<void> {
    return this.#log.append(JSON.stringify(line));
  }

  async #appendNow(line: LogLine): Promise<void> {
    const durable = this.#append(line);
    this.#flushNow.abort();
    await durable;
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

class OpenResults {
  readonly #file: DiskFile;
  #writtenBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;

  constructor(file: DiskFile, length: number) {
    this.#file = file;
    this.#writtenBytes = length;
  }

  get length(): number {
    return this.#writtenBytes + this.#waitingBytes;
  }

  add(rows: string): void {
    if (rows === "") return;
    this.#waiting.push(rows);
    this.#waitingBytes += Buffer.byteLength(rows);
  }

  async write(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.splice(0).join(""));
    if (bytes.byteLength === 0) return;
    await this.#file.write(bytes, this.#writtenBytes);
    await this.#file.datasync();
    this.#writtenBytes += bytes.byteLength;
    this.#waitingBytes -= bytes.byteLength;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Opens or creates the file and truncates it to the length in the log. Reports a shorter file. */
async function openResults(
  disk: Disk,
  path: string,
  length: number,
  report: OpenOptions["report"],
): Promise<OpenResults> {
  const header = Buffer.from(resultsHeader);
  const file = await disk.open(path, "write").catch(async (error: unknown) => {
    if (!isMissing(error)) throw error;
    const created = await disk.create(path);
    await disk.syncFolder(dirname(path));
    return created;
  });
  const size = await file.size();
  if (size < length) await report(`${path} was truncated: earlier failed rows are missing`);
  const keptBytes = Math.min(size, length);
  await file.truncate(keptBytes < header.byteLength ? 0 : keptBytes);
  if (keptBytes < header.byteLength) await file.write(header, 0);
  await file.sync();
  return new OpenResults(file, Math.max(keptBytes, header.byteLength));
}
