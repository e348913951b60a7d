/** A note that something was accepted which the real service may refuse. */
export interface Finding {
  readonly code: string;
  readonly detail?: string | undefined;
}

/** One request that a listener received, and what came of it. Secrets are still in it: see redact.ts. */
export interface LoggedRequest {
  readonly id: number;
  /** `router`, or the id of the cluster whose listener it was. */
  readonly listener: string;
  readonly service: string;
  /** Undefined where nothing is declared for the path. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly status: number;
  /** Code of the declared failure that was answered. */
  readonly failure: string | undefined;
  readonly findings: readonly Finding[];
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall milliseconds. */
  readonly wallAt: number;
  readonly durationMs: number;
}

export interface RequestLogLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** What an entry weighs beside its strings: an estimate. */
const overheadBytes = 400;

/** Requests received, in memory, the oldest dropped first. One log serves all listeners of an emulator. */
export class RequestLog {
  readonly #limits: RequestLogLimits;
  readonly #watchers = new Set<(entry: LoggedRequest) => void>();
  #entries: (LoggedRequest | undefined)[] = [];
  #sizes: number[] = [];
  /** Index of the oldest entry that is still kept. */
  #first = 0;
  #bytes = 0;
  #lastId = 0;

  constructor(limits: RequestLogLimits = { maxRequests: 10_000, maxBytes: 8 * 1024 * 1024 }) {
    this.#limits = limits;
  }

  add(request: Omit<LoggedRequest, "id">): void {
    this.#lastId += 1;
    const entry = { id: this.#lastId, ...request };
    const size = sizeOf(entry);
    this.#entries.push(entry);
    this.#sizes.push(size);
    this.#bytes += size;
    while (this.#bytes > this.#limits.maxBytes || this.count > this.#limits.maxRequests) this.#dropOldest();
    for (const tell of this.#watchers) tell(entry);
  }

  get count(): number {
    return this.#entries.length - this.#first;
  }

  /** Oldest first. */
  list(): readonly LoggedRequest[] {
    return this.#entries.slice(this.#first) as LoggedRequest[];
  }

  clear(): void {
    this.#entries = [];
    this.#sizes = [];
    this.#first = 0;
    this.#bytes = 0;
  }

  /** Calls for each further entry. Returns the function that ends it. */
  watch(tell: (entry: LoggedRequest) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }

  #dropOldest(): void {
    this.#bytes -= this.#sizes[this.#first]!;
    this.#entries[this.#first] = undefined;
    this.#first += 1;
    // Moving the rest at every drop would cost as much as there are entries; now and then is cheap.
    if (this.#first >= 1_024 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#sizes = this.#sizes.slice(this.#first);
      this.#first = 0;
    }
  }
}

function sizeOf({ target, rawHeaders }: LoggedRequest): number {
  let size = overheadBytes + target.length;
  for (const text of rawHeaders) size += text.length + 16;
  return size;
}
