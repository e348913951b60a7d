import type { ServerResponse } from "node:http";
import type { WallClock } from "../../src/base/clock.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { readTraceparent } from "../../src/base/trace-context.ts";
import { describeFsError } from "../../src/files/disk.ts";
import type { Cause, CauseRow } from "../store/cause.ts";
import type { CauseDetails, MakeCauseRow } from "../store/causes.ts";
import { FileWriteError, StateReplacedError, StoreChangedError, StoreFailedError } from "../store/port.ts";
import { BodyAbortedError } from "./bodies/body-limits.ts";
import type { Dialect } from "./dialects/dialect.ts";
import type { ReceivedRequest } from "./handler.ts";
import type { CauseLink } from "./outgoing/cause-propagator.ts";
import type { RequestFault } from "./parts.ts";
import { type HttpResponse, stateReplacedResponse } from "./reply.ts";
import type { IncomingRequest, RequestBodyReader } from "./request-body-reader.ts";
import { redactTarget } from "./request-log/redact.ts";
import type { Finding, RequestLog } from "./request-log/request-log.ts";
import type { ResponseWriter } from "./sending/response-writer.ts";
import { send, withCors } from "./sending/send.ts";

/** Resources that all requests of one listener share. */
export interface ListenerContext {
  /** `router`, or the id of the cluster. */
  readonly name: string;
  readonly log: RequestLog;
  readonly wall: WallClock;
  readonly now: () => number;
  /** Virtual time as `x-svc-time` has it. */
  readonly time: () => string;
  readonly maxBodyBytes: number;
  readonly arrivals: RequestBodyReader;
  readonly departures: ResponseWriter;
  readonly causeRow: MakeCauseRow;
  readonly report: (bug: EmulatorBugError) => void;
}

const noFindings: readonly Finding[] = [];

/** One request and the response to it, from its arrival to its line in the log; it is the cause of its changes. */
export class Exchange implements Cause {
  readonly received: IncomingRequest;
  readonly #response: ServerResponse;
  readonly #running: ListenerContext;
  readonly #service: string;
  readonly #operation: string | undefined;
  /** Link to the request of another listener that was sent on as this one. */
  readonly #link: CauseLink | undefined;
  readonly #number: number;
  readonly #at: number;
  readonly #wallAt: number;
  readonly #begunAt: number;
  #findings: Finding[] | undefined;
  #caller: string | undefined;
  #fault: string | undefined;
  #cors: { readonly origin: string | undefined } | undefined;
  #id: string | undefined;

  constructor(
    running: ListenerContext,
    received: IncomingRequest,
    response: ServerResponse,
    service: string,
    operation: string | undefined,
    link?: CauseLink,
  ) {
    this.#running = running;
    this.received = received;
    this.#response = response;
    this.#service = service;
    this.#operation = operation;
    this.#link = link;
    this.#number = running.log.nextNumber();
    this.#at = running.now();
    this.#wallAt = running.wall.now();
    this.#begunAt = running.wall.monotonicNow();
    received.cause = this;
  }

  get id(): string {
    this.#id ??= `request:${this.#number}`;
    return this.#id;
  }

  get before(): Cause | undefined {
    return this.#link?.cause;
  }

  isLeft(): boolean {
    return this.#link?.isLeft() === true;
  }

  row(before: CauseRow | undefined): CauseRow {
    const { what, caller } = requestCause(this.received, this.#operation);
    return this.#running.causeRow({
      id: this.id,
      what: this.#fault === undefined ? what : `${what}; scripted: ${this.#fault}`,
      at: this.#at,
      wallAt: this.#wallAt,
      // The caller of the first request is not the caller of this one.
      caller: before === undefined ? caller : undefined,
      before,
    });
  }

  get maxBodyBytes(): number {
    return this.#running.maxBodyBytes;
  }

  get arrivals(): RequestBodyReader {
    return this.#running.arrivals;
  }

  /** For code that must not see the rest of the exchange. */
  readonly finding = (code: string, detail?: string): void => {
    this.#findings ??= [];
    this.#findings.push({ code, detail });
  };

  /** Reports who calls, once that is found out. */
  setCaller(caller: string): void {
    this.#caller = caller;
  }

  /** Lets pages of this origin read the response, undefined: of none. */
  allowOrigin(origin: string | undefined): void {
    this.#cors = { origin };
  }

  /** Reports what scripted trouble befalls it. */
  setFault(fault: RequestFault): void {
    this.#fault = fault.effect;
  }

  report(bug: EmulatorBugError): void {
    this.#running.report(bug);
  }

  /** Waits as long as a fault says, or until the caller goes away. */
  async delay(ms: number): Promise<void> {
    await this.#running.wall.sleep(ms, this.received.signal);
  }

  /** Sends the response and logs it; a promise only where the body is a stream. */
  finish(answer: HttpResponse, fault?: RequestFault): Promise<void> | undefined {
    const { time, departures } = this.#running;
    const shown = this.#cors ? withCors(answer, this.#cors.origin) : answer;
    const streaming = send(this.#response, shown, time(), fault?.truncated === true, departures);
    if (streaming) return streaming.then(() => this.#logRequest(answer.status, answer.failure));
    this.#logRequest(answer.status, answer.failure);
    return undefined;
  }

  /**
   * The response when nothing was stored, because the disk rejected or another state was put in; undefined for other
   * errors.
   */
  toStoreErrorResponse(error: unknown, dialect: Dialect): HttpResponse | undefined {
    const answer = this.#createStoreErrorResponse(error, dialect);
    // Clients recognize by this that they may send the request again.
    return answer && { ...answer, headers: [...answer.headers, "x-svc-unchanged", "true"] };
  }

  #createStoreErrorResponse(error: unknown, dialect: Dialect): HttpResponse | undefined {
    if (error instanceof FileWriteError || error instanceof StoreChangedError)
      return dialect.storeFailed(error.message);
    if (error instanceof StoreFailedError) return dialect.storeFailed();
    const why = describeFsError(error);
    if (why !== undefined) return dialect.storeFailed(`A file of the state cannot be used: ${why}`);
    if (!(error instanceof StateReplacedError)) return undefined;
    this.finding("state-replaced", "the state was replaced while it was in progress; nothing was saved");
    return stateReplacedResponse(this.#service === "emulator");
  }

  /**
   * When nothing could be sent: the caller went away while its body was read, the store rejected where no operation is
   * declared, or the response was impossible.
   */
  async finishWithError(error: unknown, dialect: Dialect, operation: string): Promise<void> {
    if (error instanceof BodyAbortedError || this.#response.headersSent || this.#response.destroyed) {
      this.#response.destroy();
      this.#logRequest(0, undefined);
      return;
    }
    const refused = this.toStoreErrorResponse(error, dialect);
    if (refused) return this.finish(refused);
    const what = error instanceof Error ? error.message : String(error);
    this.report(new EmulatorBugError(what, { operation, cause: error }));
    await this.finish(dialect.bug(operation));
  }

  /** Ends the connection without a response. */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
    this.#logRequest(0, undefined);
  }

  #logRequest(status: number, failure: string | undefined): void {
    const { log, wall, name } = this.#running;
    const { method, target, rawHeaders } = this.received;
    // Browsers ask for it by themselves, whatever they show.
    if (target === "/favicon.ico" && method === "GET") return;
    log.add({
      id: this.#number,
      listener: name,
      service: this.#service,
      operation: this.#operation,
      method,
      target,
      rawHeaders: log.internHeaders(rawHeaders),
      body: shortJson(this.received),
      status,
      failure,
      caller: this.#caller,
      cause: this.#link?.cause.id,
      findings: this.#findings ?? noFindings,
      fault: this.#fault,
      at: this.#at,
      wallAt: this.#wallAt,
      durationMs: wall.monotonicNow() - this.#begunAt,
    });
  }
}

/** Longer bodies are files and jobs. */
const maxLoggedBody = 16 * 1024;

/** The body as it is stored in the log: not what it was cut out of. */
function shortJson({ method, body, headers }: IncomingRequest): Buffer | undefined {
  if (method === "GET" || body.length === 0 || body.length > maxLoggedBody) return undefined;
  return headers["content-type"]?.includes("json") ? Buffer.from(body) : undefined;
}

interface ShownRequest {
  readonly method: string;
  readonly target: string;
  readonly what: string;
}

/**
 * The last one of each operation. Most that change something come to the same target again, by the thousand: it is
 * taken apart once, and all that are stored share one text.
 */
const shownRequests = new Map<string, ShownRequest>();

/** A request as the reason for what it changes, without secrets; `operation` is undefined if its path has none. */
function requestCause(
  { method, target, headers }: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: string | undefined,
): Pick<CauseDetails, "what" | "caller"> {
  const caller = readTraceparent(headers.traceparent);
  if (operation === undefined) return { what: `${method} ${redactTarget(target, operation)}`, caller };
  let last = shownRequests.get(operation);
  if (last?.target !== target || last.method !== method) {
    last = { method, target, what: `${operation} ${method} ${redactTarget(target, operation)}` };
    shownRequests.set(operation, last);
  }
  return { what: last.what, caller };
}
