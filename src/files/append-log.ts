import { createDeferred } from "../base/concurrency.ts";
import { waitForNextTurn } from "../base/timing.ts";
import type { DiskFile } from "./disk.ts";
import { formatLogLine, type LogPosition } from "./log-line.ts";

interface Batch {
  readonly lines: Buffer[];
  readonly group: number;
  end: LogPosition;
  readonly durable: Promise<void>;
  readonly settle: (failure?: Error) => void;
}

interface Rotation {
  readonly file: DiskFile;
  readonly length: number;
}

export interface AppendLogOptions<Failure extends Error> {
  readonly path: string;
  readonly file: DiskFile;
  /** End of the file's valid lines, in bytes. */
  readonly length: number;
  readonly position: LogPosition;
  /** Creates the error for waiting callers from the error of the disk. */
  readonly createError: (reason: string, cause: unknown) => Failure;
  /** Creates the error for the callers of lines that were being written, if these lines may be durable nevertheless. */
  readonly createUnconfirmedError?: (failure: Failure, cause: unknown) => Failure | undefined;
  /** Called immediately when writing fails, before waiting callers get the error. */
  readonly onFailure?: (failure: Failure) => void;
  /**
   * Makes data durable to which the lines of a group refer, before the lines are written. Called in the turn in which
   * the group is closed.
   */
  readonly prepare?: () => Promise<void>;
  /**
   * Fails if the file does not end with the last durable line, at `length`. In that case, the log neither writes nor
   * truncates.
   */
  readonly verify?: (file: DiskFile, length: number) => Promise<void>;
}

/**
 * Appends lines to a file and makes them durable. While one `fdatasync` runs, new lines wait for the next one (group
 * commit). After a failed write or fdatasync, all waiting and later lines fail without a retry, and the file is
 * truncated to its last valid length if possible. `resume` starts writing again. `readLog` reads the file. Small
 * databases in one JSON file rewrite the whole file at each change (ARCHITECTURE.md, Written by hand).
 */
export class AppendLog<Failure extends Error> {
  readonly #options: AppendLogOptions<Failure>;
  #file: DiskFile;
  #length: number;
  #lastAdded: LogPosition;
  #durable: LogPosition;
  #queue: (Batch | Rotation)[] = [];
  #flushing: Promise<void> | undefined;
  #newest: Promise<void> = Promise.resolve();
  #failure: Failure | undefined;
  #intact = true;

  constructor(options: AppendLogOptions<Failure>) {
    const { file, length, position } = options;
    this.#options = options;
    this.#file = file;
    this.#length = length;
    this.#lastAdded = position;
    this.#durable = position;
  }

  get failure(): Failure | undefined {
    return this.#failure;
  }

  /**
   * Whether the file can continue after a failure, once it is truncated. After a failed write, all earlier bytes are as
   * durable as before. After a failed fdatasync their state is unknown, because the system can drop pages and mark them
   * as clean.
   */
  get intact(): boolean {
    return this.#intact;
  }

  get length(): number {
    return this.#length;
  }

  get position(): LogPosition {
    return this.#lastAdded;
  }

  get waiting(): number {
    return this.#lastAdded.number - this.#durable.number;
  }

  /** Adds a line. Resolves when this line and all earlier lines are durable. Rejects with the failure. */
  append(json: string): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const number = this.#lastAdded.number + 1;
    const last = this.#queue.at(-1);
    const batch = last && "lines" in last ? last : createBatch(number, this.#lastAdded);
    if (batch !== last) this.#queue.push(batch);
    this.#newest = batch.durable;
    const { bytes, checksum } = formatLogLine(json, { number, group: batch.group, before: this.#lastAdded.checksum });
    this.#lastAdded = { number, checksum };
    batch.lines.push(bytes);
    batch.end = this.#lastAdded;
    this.#flushing ??= this.#flush();
    return batch.durable;
  }

  /** Resolves when all lines added so far are durable. Does not wait for later lines. */
  async waitUntilDurable(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await this.#newest;
  }

  /** Directs later lines to another file. Earlier lines still go to this file. */
  rotate(file: DiskFile, length: number): void {
    this.#queue.push({ file, length });
    this.#flushing ??= this.#flush();
  }

  /** Makes all pending and later calls fail with that reason. */
  fail(reason: string, cause: unknown, intact = false): Failure {
    if (this.#failure) return this.#failure;
    const failure = this.#options.createError(reason, cause);
    this.#failure = failure;
    this.#intact = intact && this.#queue.every((step) => "lines" in step);
    this.#lastAdded = this.#durable;
    this.#newest = Promise.resolve();
    this.#options.onFailure?.(failure);
    for (const step of this.#queue.splice(0)) {
      if ("lines" in step) step.settle(failure);
      else void step.file.close().catch(() => {});
    }
    return failure;
  }

  /** Durably truncates the file and resumes writing. Fails with the system's error. */
  async resume(): Promise<void> {
    await this.#flushing;
    await this.#file.truncate(this.#length);
    await this.#file.datasync();
    this.#failure = undefined;
  }

  /** Resumes writing in another file and leaves the old file unchanged. */
  async continueIn(file: DiskFile, length: number): Promise<void> {
    await this.#flushing;
    await this.#switch({ file, length });
    this.#failure = undefined;
    this.#intact = true;
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      // Concurrent requests share their fdatasync, including the first request.
      await waitForNextTurn();
      const step = this.#queue.shift();
      if (step === undefined) break;
      if ("lines" in step) await this.#write(step);
      else await this.#switch(step);
    }
    this.#flushing = undefined;
  }

  async #write(batch: Batch): Promise<void> {
    const bytes = batch.lines.length === 1 ? batch.lines[0]! : Buffer.concat(batch.lines);
    let written = false;
    try {
      await this.#options.verify?.(this.#file, this.#length);
    } catch (cause) {
      batch.settle(this.#createFailure(cause));
      return;
    }
    try {
      if (this.#options.prepare) await this.#options.prepare();
      await this.#file.write(bytes, this.#length);
      written = true;
      await this.#file.datasync();
      this.#length += bytes.byteLength;
      this.#durable = batch.end;
      batch.settle();
    } catch (cause) {
      const failure = this.#createFailure(cause, !written);
      // A partial line must not reappear at the next start, because its callers get an error.
      await this.#file.truncate(this.#length).catch(() => {});
      batch.settle(this.#options.createUnconfirmedError?.(failure, cause) ?? failure);
    }
  }

  #createFailure(cause: unknown, intact = false): Failure {
    const why = cause instanceof Error ? cause.message : String(cause);
    return this.fail(`${this.#options.path} cannot be written: ${why}`, cause, intact);
  }

  async #switch({ file, length }: Rotation): Promise<void> {
    const old = this.#file;
    this.#file = file;
    this.#length = length;
    await old.close().catch(() => {});
  }
}

function createBatch(group: number, end: LogPosition): Batch {
  const { promise: durable, resolve, reject } = createDeferred();
  // The caller of append awaits the promise. Without a caller, `failure` still reports a failure.
  durable.catch(() => {});
  return { lines: [], group, end, durable, settle: (failure) => (failure ? reject(failure) : resolve()) };
}
