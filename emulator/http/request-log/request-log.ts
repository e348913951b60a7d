import { Emitter } from "../../../src/base/concurrency.ts";
import { ByteBoundedLog, estimateStringBytes, estimateStringsBytes } from "../byte-bounded-log.ts";

/** A finding: the emulator accepted something that the real service may reject. */
export interface RequestFinding {
  readonly code: string;
  readonly detail?: string | undefined;
}

/** One received request and its outcome. It still contains secrets (see redact.ts). */
export interface LoggedRequest {
  /** Number in the order of arrival. */
  readonly id: number;
  /** `router`, or the ID of the listener's cluster. */
  readonly listener: string;
  readonly service: string;
  /** Undefined if nothing is declared for the path. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly target: string;
  rawHeaders: readonly string[];
  /** JSON body, if it is short. */
  readonly body?: Buffer | undefined;
  readonly status: number;
  /** Code of the declared failure in the response. */
  readonly failure: string | undefined;
  /** Name of the caller, if the credentials identify a caller. */
  readonly caller: string | undefined;
  readonly tokenHash?: string | undefined;
  /** Workspace that the credentials identify. */
  readonly workspaceId?: number | undefined;
  /** Name of the request to another listener of this emulator that caused this request. */
  readonly cause?: string | undefined;
  readonly findings: readonly RequestFinding[];
  /** Short description of the effect of a scripted fault, and the cause of the fault. */
  readonly fault?: string | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall-clock milliseconds. */
  readonly wallAt: number;
  readonly durationMs: number;
  /** True if the state of the request has been replaced. Another request can then have the same number. */
  isReplaced?: true;
}

/** Estimated size of an entry in bytes, without its strings. */
const defaultEntryBytes = 250;

/** Received requests of all listeners, in the order of their responses. The oldest request is dropped first. */
export class RequestLog extends ByteBoundedLog<LoggedRequest> {
  readonly #additions = new Emitter<[entry: LoggedRequest, bytes: number]>();
  /** Calls the listener for each new entry with its size in memory in bytes. Returns a function that removes it. */
  readonly watch = this.#additions.watch;
  #lastId = 0;
  #numbering = 0;
  #lastHeaders: readonly string[] = [];

  /** Returns the number of a new request. The entry is added after the response. */
  nextNumber(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Continues after a number to which a stored row still refers. */
  resumeAfter(number: number): void {
    this.#lastId = Math.max(this.#lastId, number);
  }

  get lastNumber(): number {
    return this.#lastId;
  }

  /** Changes when another state begins, in which requests can get numbers that were in use. */
  get numbering(): number {
    return this.#numbering;
  }

  /** Continues after this number when the state is reset or rewound. */
  rewindTo(number: number): void {
    for (const entry of this.list()) if (entry.id > number) entry.isReplaced = true;
    this.#lastId = number;
    this.#numbering += 1;
  }

  /** Adds an entry. Equal headers of successive entries are stored once, because clients repeat their headers. */
  override add(entry: LoggedRequest): void {
    let bytes =
      defaultEntryBytes +
      estimateStringBytes(entry.target) +
      estimateFindingsBytes(entry.findings) +
      (entry.body?.length ?? 0);
    if (areEqual(entry.rawHeaders, this.#lastHeaders)) entry.rawHeaders = this.#lastHeaders;
    else {
      this.#lastHeaders = entry.rawHeaders;
      bytes += estimateStringsBytes(entry.rawHeaders);
    }
    super.add(entry, bytes);
    this.#additions.emit(entry, bytes);
  }
}

const estimateFindingsBytes = (findings: readonly RequestFinding[]): number =>
  findings.reduce((sum, { code, detail = "" }) => sum + 64 + estimateStringsBytes([code, detail]), 0);

const areEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i]);
