import type { IncomingMessage } from "node:http";

/** DECISIONS.md, R16 and C24 */
export const maxBodyBytes = 64 * 1024 * 1024;

/** Of a request, or of what it would make the emulator tell others. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** The caller went away before its body was complete: there is nobody to answer. */
export class BodyAborted extends Error {
  override readonly name = "BodyAborted";
}

/** The caller takes longer than a request may. */
export class BodyLate extends Error {
  override readonly name = "BodyLate";
}

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0");

/**
 * The whole body as one Buffer. Fails with BodyTooLarge as soon as it is known to be over `maxBytes`, and with BodyLate
 * when `enter`, which gives the way to leave, has called back first.
 */
export function collect(
  raw: IncomingMessage,
  maxBytes: number,
  enter: (late: () => void) => () => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(raw.headers["content-length"]) > maxBytes) return reject(new BodyTooLarge("announced"));
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (error?: Error) => {
      raw.off("data", onData).off("end", onEnd).off("close", onClose);
      leave();
      if (error) reject(error);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) done(new BodyTooLarge("sent"));
      else chunks.push(chunk);
    };
    const onEnd = () => done();
    const onClose = () => done(new BodyAborted("aborted"));
    const leave = enter(() => done(new BodyLate("the body did not come in time")));
    raw.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** How much of something is kept, and how much was dropped so that it stays so little. */
export interface KeptAmount {
  readonly count: number;
  readonly bytes: number;
  readonly max_bytes: number;
  /** Since the start, or since it was cleared. */
  readonly dropped: number;
}

/** Rows in memory that together weigh no more than so many bytes: the oldest is dropped first. */
export class Kept<Row> {
  readonly #maxBytes: number;
  #rows: (Row | undefined)[] = [];
  /** What each weighs. */
  #weights: number[] = [];
  /** Where the oldest is; before it nothing is left. */
  #oldest = 0;
  #bytes = 0;
  #dropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(row: Row, bytes: number): void {
    this.#rows.push(row);
    this.#weights.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOldest();
  }

  /** Oldest first. */
  list(): Row[] {
    return this.#rows.slice(this.#oldest) as Row[];
  }

  clear(): void {
    this.#rows = [];
    this.#weights = [];
    this.#oldest = 0;
    this.#bytes = 0;
    this.#dropped = 0;
  }

  get amount(): KeptAmount {
    const count = this.#rows.length - this.#oldest;
    return { count, bytes: this.#bytes, max_bytes: this.#maxBytes, dropped: this.#dropped };
  }

  #dropOldest(): void {
    this.#bytes -= this.#weights[this.#oldest]!;
    this.#rows[this.#oldest] = undefined;
    this.#oldest += 1;
    this.#dropped += 1;
    // Now and then, so that moving all the others costs next to nothing for each.
    if (2 * this.#oldest > this.#rows.length) {
      this.#rows = this.#rows.slice(this.#oldest);
      this.#weights = this.#weights.slice(this.#oldest);
      this.#oldest = 0;
    }
  }
}

/** What a text of so many characters holds of memory: an estimate of V8's head, its padding, and who points to it. */
export const textBytes = (text: string): number => 40 + text.length;

export function textsBytes(texts: readonly string[]): number {
  let sum = 32;
  for (const text of texts) sum += textBytes(text);
  return sum;
}
