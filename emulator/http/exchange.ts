import type { ServerResponse } from "node:http";
import { EmulatorBug } from "../../src/base/bug.ts";
import type { Wall } from "../../src/base/clock.ts";
import { readTraceparent } from "../../src/base/tracing/trace-context.ts";
import { whyRefused } from "../../src/files/refusals.ts";
import type { Cause, CauseRow } from "../store/cause.ts";
import type { Happened, MakeCauseRow } from "../store/causes.ts";
import { FileRefused, StateReplaced, StoreChangedError, StoreFailed } from "../store/port.ts";
import type { Answer } from "./answer.ts";
import type { Arrivals } from "./arrival.ts";
import { BodyAborted } from "./collect.ts";
import type { Dialect } from "./dialects/dialect.ts";
import type { ReceivedRequest } from "./handler.ts";
import type { Link } from "./outgoing/links.ts";
import type { Fault } from "./parts.ts";
import type { Received } from "./received.ts";
import { stateReplaced } from "./reply.ts";
import { shownTarget } from "./request-log/redact.ts";
import type { Finding, RequestLog } from "./request-log/request-log.ts";
import { withCors } from "./sending/cors.ts";
import type { Departures } from "./sending/departure.ts";
import { send } from "./sending/send.ts";

/** What all requests of one listener share. */
export interface Running {
  /** `router`, or the id of the cluster. */
  readonly name: string;
  readonly log: RequestLog;
  readonly wall: Wall;
  readonly now: () => number;
  /** Virtual time as `x-svc-time` has it. */
  readonly time: () => string;
  readonly maxBodyBytes: number;
  readonly arrivals: Arrivals;
  readonly departures: Departures;
  readonly causeRow: MakeCauseRow;
  readonly report: (bug: EmulatorBug) => void;
}

const noFindings: readonly Finding[] = [];

/** One request and the answer to it, from its arrival to its line in the log; and the reason for what it changes. */
export class Exchange implements Cause {
  readonly received: Received;
  readonly #response: ServerResponse;
  readonly #running: Running;
  readonly #service: string;
  readonly #operation: string | undefined;
  /** To the request of another listener that was sent on as this one. */
  readonly #link: Link | undefined;
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
    running: Running,
    received: Received,
    response: ServerResponse,
    service: string,
    operation: string | undefined,
    link?: Link,
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
      // Who called the first of them is not who called this one.
      caller: before === undefined ? caller : undefined,
      before,
    });
  }

  get maxBodyBytes(): number {
    return this.#running.maxBodyBytes;
  }

  get arrivals(): Arrivals {
    return this.#running.arrivals;
  }

  /** For whoever is to know nothing else of the exchange. */
  readonly finding = (code: string, detail?: string): void => {
    this.#findings ??= [];
    this.#findings.push({ code, detail });
  };

  /** Says who calls, once that is found out. */
  named(caller: string): void {
    this.#caller = caller;
  }

  /** Lets pages of this origin read the response, undefined: of none. */
  showTo(origin: string | undefined): void {
    this.#cors = { origin };
  }

  /** Says what scripted trouble befalls it. */
  meets(fault: Fault): void {
    this.#fault = fault.told;
  }

  report(bug: EmulatorBug): void {
    this.#running.report(bug);
  }

  /** Waits as long as a fault says, or until the caller goes away. */
  async delay(ms: number): Promise<void> {
    await this.#running.wall.sleep(ms, this.received.signal);
  }

  /** Sends the answer and logs it; a promise only where the body is a stream. */
  finish(answer: Answer, fault?: Fault): Promise<void> | undefined {
    const { time, departures } = this.#running;
    const shown = this.#cors ? withCors(answer, this.#cors.origin) : answer;
    const streaming = send(this.#response, shown, time(), fault?.truncated === true, departures);
    if (streaming) return streaming.then(() => this.#note(answer.status, answer.failure));
    this.#note(answer.status, answer.failure);
    return undefined;
  }

  /** The answer when nothing was kept, because the disk refused or another state was put in; undefined for other errors. */
  refusedByStore(error: unknown, dialect: Dialect): Answer | undefined {
    const answer = this.#answerOfStore(error, dialect);
    // By this a client knows that it may send the request again.
    return answer && { ...answer, headers: [...answer.headers, "x-svc-unchanged", "true"] };
  }

  #answerOfStore(error: unknown, dialect: Dialect): Answer | undefined {
    if (error instanceof FileRefused || error instanceof StoreChangedError) return dialect.storeFailed(error.message);
    if (error instanceof StoreFailed) return dialect.storeFailed();
    const why = whyRefused(error);
    if (why !== undefined) return dialect.storeFailed(`A file of the state cannot be used: ${why}`);
    if (!(error instanceof StateReplaced)) return undefined;
    this.finding("state-replaced", "it was under way when another state was put in; nothing of it was kept");
    return stateReplaced(this.#service === "emulator");
  }

  /**
   * When nothing could be sent: the caller went away while its body was read, the store refused where no operation is
   * declared, or the answer was impossible.
   */
  async rescue(error: unknown, dialect: Dialect, operation: string): Promise<void> {
    if (error instanceof BodyAborted || this.#response.headersSent || this.#response.destroyed) {
      this.#response.destroy();
      this.#note(0, undefined);
      return;
    }
    const refused = this.refusedByStore(error, dialect);
    if (refused) return this.finish(refused);
    const what = error instanceof Error ? error.message : String(error);
    this.report(new EmulatorBug(what, { operation, cause: error }));
    await this.finish(dialect.bug(operation));
  }

  /** Ends the connection without an answer. */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
    this.#note(0, undefined);
  }

  #note(status: number, failure: string | undefined): void {
    const { log, wall, name } = this.#running;
    const { method, target, rawHeaders } = this.received;
    log.add({
      id: this.#number,
      listener: name,
      service: this.#service,
      operation: this.#operation,
      method,
      target,
      rawHeaders: log.shared(rawHeaders),
      body: shortJson(this.received),
      status,
      failure,
      caller: this.#caller,
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

/** The body as it is kept in the log: not what it was cut out of. */
function shortJson({ method, body, headers }: Received): Buffer | undefined {
  if (method === "GET" || body.length === 0 || body.length > maxLoggedBody) return undefined;
  return headers["content-type"]?.includes("json") ? Buffer.from(body) : undefined;
}

interface Shown {
  readonly method: string;
  readonly target: string;
  readonly what: string;
}

/**
 * The last one of each operation. Most that change something come to the same target again, by the thousand: it is taken
 * apart once, and all that are kept share one text.
 */
const shown = new Map<string, Shown>();

/** A request as the reason for what it changes, without secrets; `operation` is undefined where its path has none. */
function requestCause(
  { method, target, headers }: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: string | undefined,
): Pick<Happened, "what" | "caller"> {
  const caller = readTraceparent(headers.traceparent);
  if (operation === undefined) return { what: `${method} ${shownTarget(target, operation)}`, caller };
  let last = shown.get(operation);
  if (last?.target !== target || last.method !== method) {
    last = { method, target, what: `${operation} ${method} ${shownTarget(target, operation)}` };
    shown.set(operation, last);
  }
  return { what: last.what, caller };
}
