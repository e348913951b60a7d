import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { isoSeconds, type Wall } from "../../../base/clock.ts";
import type { FinishedBatches } from "./finished.ts";
import { type BatchLine, type Counts, type EventLine, type LogLine, readJobLog } from "./job-log.ts";
import { resultsHeader } from "./results.ts";

type Finished = Omit<BatchLine, "low" | "results">;

/** So many finished batches may wait for the disk before the job waits too. */
const waitingMax = 64;
/** How long lines may gather before they are made durable together: each flush costs as much as a call. */
const gatherMs = 10;

/**
 * The log and the results of a job that runs. Finished batches are appended by one writer: first their results, then
 * their lines, each made durable, and all that wait at a time together. What a crash tears off is sent again, which
 * changes nothing.
 */
export class OpenJob {
  readonly finished: FinishedBatches;
  readonly #log: FileHandle;
  readonly #results: FileHandle;
  readonly #wall: Wall;
  #counts: Counts;
  #resultBytes: number;
  #waiting: { readonly lines: string[]; readonly results: string[] } = { lines: [], results: [] };
  #writing: Promise<void> | undefined;
  #hurry = new AbortController();
  #trouble: { readonly error: unknown } | undefined;

  private constructor(
    files: { log: FileHandle; results: FileHandle },
    state: { finished: FinishedBatches; counts: Counts; results: number },
    wall: Wall,
  ) {
    this.#log = files.log;
    this.#results = files.results;
    this.#wall = wall;
    this.finished = state.finished;
    this.#counts = state.counts;
    this.#resultBytes = state.results;
  }

  /** Opens the files in a job's folder, and cuts them back to what is whole. */
  static async open(folder: string, wall: Wall): Promise<OpenJob> {
    const { finished, results, bytes, rows, invalid, failed, moved } = (await readJobLog(join(folder, "log.ndjson")))!;
    const log = await open(join(folder, "log.ndjson"), "a", 0o600);
    const resultFile = await open(join(folder, "results.csv"), "a", 0o600);
    const header = Buffer.byteLength(resultsHeader);
    await log.truncate(bytes);
    await resultFile.truncate(Math.max(header, results));
    if (results < header) {
      await resultFile.truncate(0);
      await resultFile.appendFile(resultsHeader);
    }
    const state = { finished, counts: { rows, invalid, failed, moved }, results: Math.max(header, results) };
    return new OpenJob({ log, results: resultFile }, state, wall);
  }

  /** Of all batches that are finished, in this run and before. */
  get counts(): Counts {
    return this.#counts;
  }

  /** Counts a batch as finished. Resolves at once, or when the disk has caught up; rejects when it cannot be written. */
  async finish(batch: Finished, results: string): Promise<void> {
    this.finished.add(batch.batch, batch.digest);
    const { rows, invalid, failed, moved } = this.#counts;
    this.#counts = {
      rows: rows + batch.rows,
      invalid: invalid + batch.invalid,
      failed: failed + batch.failed,
      moved: moved + batch.moved,
    };
    if (results !== "") {
      this.#resultBytes += Buffer.byteLength(results);
      this.#waiting.results.push(results);
    }
    const line: BatchLine = { ...batch, low: this.finished.low, results: this.#resultBytes };
    await this.#append(line);
  }

  /** Notes what became of the job, and waits until all is on disk. */
  async note(event: EventLine["event"], reason?: string): Promise<void> {
    await this.#append({ event, at: isoSeconds(this.#wall.now()), ...(reason === undefined ? {} : { reason }) });
    await this.#flushed();
    if (this.#trouble) throw this.#trouble.error;
  }

  async close(): Promise<void> {
    await this.#flushed();
    await this.#log.close();
    await this.#results.close();
  }

  async #append(line: LogLine): Promise<void> {
    if (this.#trouble) throw this.#trouble.error;
    this.#waiting.lines.push(`${JSON.stringify(line)}\n`);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    if (this.#waiting.lines.length > waitingMax) await this.#flushed();
  }

  #flushed(): Promise<void> | undefined {
    this.#hurry.abort();
    return this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.lines.length > 0) {
        await this.#wall.sleep(gatherMs, this.#hurry.signal);
        this.#hurry = new AbortController();
        const { lines, results } = this.#waiting;
        this.#waiting = { lines: [], results: [] };
        if (results.length > 0) await append(this.#results, results);
        await append(this.#log, lines);
      }
    } catch (error) {
      this.#trouble = { error };
    }
  }
}

async function append(file: FileHandle, lines: readonly string[]): Promise<void> {
  await file.appendFile(lines.join(""));
  await file.datasync();
}
