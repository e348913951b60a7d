import { type BufferUsage, ByteBoundedLog, estimateStringBytes, estimateStringsBytes } from "../byte-bounded-log.ts";

/** A note that something was accepted which the real service may reject. */
export interface Finding {
  readonly code: string;
  readonly detail?: string | undefined;
}

/** One request that a listener received, and its outcome. Secrets are still in it: see redact.ts. */
export interface LoggedRequest {
  /** In order of arrival. */
  readonly id: number;
  /** `router`, or the id of the cluster whose listener it was. */
  readonly listener: string;
  readonly service: string;
  /** Undefined if nothing is declared for the path. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** JSON that was sent, if it is short. */
  readonly body?: Buffer | undefined;
  readonly status: number;
  /** Code of the declared failure that was answered. */
  readonly failure: string | undefined;
  /** Name of who called, where the credentials say so. */
  readonly caller: string | undefined;
  /** The request to another listener of this emulator that made it send this one. */
  readonly cause?: string | undefined;
  readonly findings: readonly Finding[];
  /** The scripted fault that it met, in a few words, and what scripted it. */
  readonly fault?: string | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall-clock milliseconds. */
  readonly wallAt: number;
  readonly durationMs: number;
  /** The state that it was of has been left since: another request may have its number. */
  left?: true;
}

/** Estimated size of an entry without its strings. */
const entryBytes = 250;

/** Requests received, in memory, in the order in which they were answered, the oldest dropped first. One log serves all listeners of an emulator. */
export class RequestLog {
  readonly #kept: ByteBoundedLog<LoggedRequest>;
  readonly #watchers = new Set<(entry: LoggedRequest, bytes: number) => void>();
  #lastId = 0;
  #lastHeaders: readonly string[] = [];
  /** Weight of headers that no other entry holds yet. */
  #headersBytes = 0;

  constructor(maxBytes = 4 * 1024 * 1024) {
    this.#kept = new ByteBoundedLog(maxBytes);
  }

  /** The number of a request that has just come; its entry is added when it has been answered. */
  nextNumber(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Goes on after a number that a request had before, and that something kept still names. */
  resumeAfter(number: number): void {
    this.#lastId = Math.max(this.#lastId, number);
  }

  /** The number that was given last. */
  get lastNumber(): number {
    return this.#lastId;
  }

  /** Numbers go on after this one: they are of the state, and it begins again, or goes back. */
  rewindTo(number: number): void {
    for (const entry of this.#kept.list()) if (entry.id > number) entry.left = true;
    this.#lastId = number;
  }

  /** `rawHeaders` must have been through `shared`. */
  add(entry: LoggedRequest): void {
    // It came before the numbers went back.
    if (entry.id > this.#lastId) entry.left = true;
    const bytes =
      entryBytes +
      estimateStringBytes(entry.target) +
      findingsBytes(entry.findings) +
      this.#headersBytes +
      (entry.body?.length ?? 0);
    this.#kept.add(entry, bytes);
    this.#headersBytes = 0;
    for (const tell of this.#watchers) tell(entry, bytes);
  }

  /** Clients repeat their headers: one list for all such requests spares most of the memory. */
  internHeaders(rawHeaders: readonly string[]): readonly string[] {
    if (sameTexts(rawHeaders, this.#lastHeaders)) return this.#lastHeaders;
    this.#lastHeaders = rawHeaders;
    this.#headersBytes = estimateStringsBytes(rawHeaders);
    return rawHeaders;
  }

  get amount(): BufferUsage {
    return this.#kept.amount;
  }

  /** Oldest first. */
  list(): readonly LoggedRequest[] {
    return this.#kept.list();
  }

  clear(): void {
    this.#kept.clear();
  }

  /** Calls for each further entry, with what it holds of memory. Returns the function that ends it. */
  watch(tell: (entry: LoggedRequest, bytes: number) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }
}

function findingsBytes(findings: readonly Finding[]): number {
  let sum = 0;
  for (const { code, detail = "" } of findings) sum += 64 + estimateStringBytes(code) + estimateStringBytes(detail);
  return sum;
}

function sameTexts(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i += 1) if (some[i] !== others[i]) return false;
  return true;
}
