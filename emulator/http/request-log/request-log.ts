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

interface Kept {
  readonly entry: LoggedRequest;
  readonly size: number;
}

/** Requests received, in memory, the oldest dropped first. One log serves all listeners of an emulator. */
export class RequestLog {
  readonly #limits: RequestLogLimits;
  readonly #watchers = new Set<(entry: LoggedRequest) => void>();
  /** A ring: the slot of an entry is its id modulo the limit. */
  readonly #ring: (Kept | undefined)[] = [];
  #oldestId = 1;
  #nextId = 1;
  #bytes = 0;
  #lastHeaders: readonly string[] = [];
  /** Weight of headers that no other entry holds yet. */
  #headersSize = 0;

  constructor(limits: RequestLogLimits = { maxRequests: 10_000, maxBytes: 8 * 1024 * 1024 }) {
    this.#limits = limits;
  }

  /** `rawHeaders` must have been through `shared`. */
  add(request: Omit<LoggedRequest, "id">): void {
    const id = this.#nextId;
    this.#nextId += 1;
    // What is copied comes last: V8 is fast only there.
    const entry: LoggedRequest = { id, ...request };
    const size = overheadBytes + request.target.length + this.#headersSize;
    this.#headersSize = 0;
    if (this.count > this.#limits.maxRequests) this.#dropOldest();
    this.#ring[id % this.#limits.maxRequests] = { entry, size };
    this.#bytes += size;
    while (this.#bytes > this.#limits.maxBytes && this.count > 0) this.#dropOldest();
    for (const tell of this.#watchers) tell(entry);
  }

  /** Clients repeat their headers: one list for all such requests spares most of the memory. */
  shared(rawHeaders: readonly string[]): readonly string[] {
    if (sameTexts(rawHeaders, this.#lastHeaders)) return this.#lastHeaders;
    this.#lastHeaders = rawHeaders;
    this.#headersSize = rawHeaders.reduce((sum, text) => sum + text.length + 16, 0);
    return rawHeaders;
  }

  get count(): number {
    return this.#nextId - this.#oldestId;
  }

  /** Oldest first. */
  list(): readonly LoggedRequest[] {
    const out: LoggedRequest[] = [];
    for (let id = this.#oldestId; id < this.#nextId; id += 1) out.push(this.#at(id)!.entry);
    return out;
  }

  clear(): void {
    while (this.count > 0) this.#dropOldest();
  }

  /** Calls for each further entry. Returns the function that ends it. */
  watch(tell: (entry: LoggedRequest) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }

  #at(id: number): Kept | undefined {
    return this.#ring[id % this.#limits.maxRequests];
  }

  #dropOldest(): void {
    this.#bytes -= this.#at(this.#oldestId)?.size ?? 0;
    this.#ring[this.#oldestId % this.#limits.maxRequests] = undefined;
    this.#oldestId += 1;
  }
}

function sameTexts(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i += 1) if (some[i] !== others[i]) return false;
  return true;
}
