import type { DiskFile } from "./disk.ts";
import { journalLine } from "./journal-line.ts";
import { StoreFailed } from "./store.ts";

interface Batch {
  readonly lines: Buffer[];
  readonly durable: Promise<void>;
  readonly settle: (failure?: StoreFailed) => void;
}

interface Rotation {
  readonly file: DiskFile;
  readonly length: number;
}

/**
 * Appends lines and makes them durable: while one `fdatasync` runs, the lines that come gather for the next (group
 * commit). Once a write or fdatasync fails nothing is tried again: what waits and what comes later fails, and the
 * file is cut back to its last good length, if it lets itself be cut.
 */
export class Journal {
  readonly #path: string;
  #file: DiskFile;
  /** Bytes that are known to be durable. */
  #length: number;
  #queue: (Batch | Rotation)[] = [];
  #flushing: Promise<void> | undefined;
  #newest: Promise<void> = Promise.resolve();
  #failure: StoreFailed | undefined;

  /** `length` is where the file's good lines end; `path` is for messages. */
  constructor(path: string, file: DiskFile, length: number) {
    this.#path = path;
    this.#file = file;
    this.#length = length;
  }

  get failure(): StoreFailed | undefined {
    return this.#failure;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a line. Resolves once it, and all before it, are durable; fails with StoreFailed. */
  append(json: string): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const last = this.#queue.at(-1);
    const batch = last && "lines" in last ? last : newBatch();
    if (batch !== last) this.#queue.push(batch);
    this.#newest = batch.durable;
    batch.lines.push(journalLine(json));
    this.#flushing ??= this.#flush();
    return batch.durable;
  }

  /** Resolves once everything that was added until now is durable; does not wait for what comes after. */
  async flushed(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await this.#newest;
  }

  /** Lines added from now on go to another file; those added before still go to this one. */
  rotate(file: DiskFile, length: number): void {
    this.#queue.push({ file, length });
    this.#flushing ??= this.#flush();
  }

  /** From here on everything fails for that reason. */
  fail(reason: string, cause: unknown): StoreFailed {
    this.#failure ??= new StoreFailed(reason, { cause });
    for (const step of this.#queue.splice(0)) {
      if ("lines" in step) step.settle(this.#failure);
      else void step.file.close().catch(() => {});
    }
    return this.#failure;
  }

  /** Waits for what is under way and closes the file. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    // One turn of the microtask queue, so that transactions that commit together share their first fdatasync.
    await undefined;
    for (let step = this.#queue.shift(); step; step = this.#queue.shift()) {
      if ("lines" in step) await this.#write(step);
      else await this.#switch(step);
    }
    this.#flushing = undefined;
  }

  async #write(batch: Batch): Promise<void> {
    const bytes = batch.lines.length === 1 ? batch.lines[0]! : Buffer.concat(batch.lines);
    try {
      await this.#file.write(bytes, this.#length);
      await this.#file.datasync();
      this.#length += bytes.byteLength;
      batch.settle();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const reason = `${this.#path} cannot be written: ${why}. Nothing is written any more; free the disk and start again`;
      const failure = this.fail(reason, cause);
      // What was half written must not come back at the next start, for its callers are told that it failed.
      await this.#file.truncate(this.#length).catch(() => {});
      batch.settle(failure);
    }
  }

  async #switch({ file, length }: Rotation): Promise<void> {
    const old = this.#file;
    this.#file = file;
    this.#length = length;
    await old.close().catch(() => {});
  }
}

function newBatch(): Batch {
  let settle: Batch["settle"] = () => {};
  const durable = new Promise<void>((resolve, reject) => {
    settle = (failure) => (failure ? reject(failure) : resolve());
  });
  // Whoever appended awaits it; without anybody a failure is still told by `failure`.
  durable.catch(() => {});
  return { lines: [], durable, settle };
}
