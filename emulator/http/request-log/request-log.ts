import { Kept, type KeptAmount, textBytes, textsBytes } from "../kept.ts";

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

/** What an entry holds beside its texts: an estimate. */
const entryBytes = 250;

/** Requests received, in memory, the oldest dropped first. One log serves all listeners of an emulator. */
export class RequestLog {
  readonly #kept: Kept<LoggedRequest>;
  readonly #watchers = new Set<(entry: LoggedRequest) => void>();
  #lastId = 0;
  #lastHeaders: readonly string[] = [];
  /** Weight of headers that no other entry holds yet. */
  #headersBytes = 0;

  constructor(maxBytes = 8 * 1024 * 1024) {
    this.#kept = new Kept(maxBytes);
  }

  /** `rawHeaders` must have been through `shared`. */
  add(request: Omit<LoggedRequest, "id">): void {
    this.#lastId += 1;
    const entry = numbered(this.#lastId, request);
    this.#kept.add(entry, entryBytes + textBytes(entry.target) + findingsBytes(entry.findings) + this.#headersBytes);
    this.#headersBytes = 0;
    for (const tell of this.#watchers) tell(entry);
  }

  /** Clients repeat their headers: one list for all such requests spares most of the memory. */
  shared(rawHeaders: readonly string[]): readonly string[] {
    if (sameTexts(rawHeaders, this.#lastHeaders)) return this.#lastHeaders;
    this.#lastHeaders = rawHeaders;
    this.#headersBytes = textsBytes(rawHeaders);
    return rawHeaders;
  }

  get amount(): KeptAmount {
    return this.#kept.amount;
  }

  /** Oldest first. */
  list(): readonly LoggedRequest[] {
    return this.#kept.list();
  }

  clear(): void {
    this.#kept.clear();
  }

  /** Calls for each further entry. Returns the function that ends it. */
  watch(tell: (entry: LoggedRequest) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }
}

/** Named one by one: a spread copy takes ten times as long. */
const numbered = (id: number, request: Omit<LoggedRequest, "id">): LoggedRequest => ({
  id,
  listener: request.listener,
  service: request.service,
  operation: request.operation,
  method: request.method,
  target: request.target,
  rawHeaders: request.rawHeaders,
  status: request.status,
  failure: request.failure,
  findings: request.findings,
  at: request.at,
  wallAt: request.wallAt,
  durationMs: request.durationMs,
});

function findingsBytes(findings: readonly Finding[]): number {
  let sum = 0;
  for (const { code, detail = "" } of findings) sum += 64 + textBytes(code) + textBytes(detail);
  return sum;
}

function sameTexts(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i += 1) if (some[i] !== others[i]) return false;
  return true;
}
