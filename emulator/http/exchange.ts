import type { IncomingMessage, ServerResponse } from "node:http";
import type { Service } from "../../src/api/services.ts";
import type { Clock, WallClock } from "../../src/base/clock.ts";
import type { EmulatorBugError } from "../../src/base/errors.ts";
import { readTraceparent } from "../../src/base/trace-context.ts";
import type { Cause, CauseRow } from "../store/cause.ts";
import type { CauseDetails, CauseRowFactory } from "../store/causes.ts";
import type { BoundOperation } from "./bind.ts";
import type { RequestBodyReader } from "./bodies/request-body-reader.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialects } from "./dialects/dialects.ts";
import type { ReceivedRequest } from "./handler.ts";
import type { CauseLink, CausePropagator } from "./outgoing/cause-propagator.ts";
import type { Fallback, FindRequestFault, IsOriginAllowed, RequestFault } from "./parts.ts";
import type { ObserveAnswer } from "./reply.ts";
import { redactTarget } from "./request-log/redact.ts";
import type { Finding, RequestLog } from "./request-log/request-log.ts";
import type { Match, OperationTable } from "./routing/operation-table.ts";
import { isControlPath, parseRequestTarget, type RequestTarget } from "./routing/path.ts";
import type { ForwardedInfo, TrustedProxies } from "./trusted-proxies.ts";

/** Resources that all requests of one listener share. */
export interface ListenerContext {
  /** `router`, or the id of the cluster whose listener it is. */
  readonly name: string;
  readonly wall: WallClock;
  readonly log: RequestLog;
  readonly bodies: RequestBodyReader;
  readonly proxies: TrustedProxies;
  /**
   * Address at which browsers find this listener, if that is not where it listens: behind a proxy that sends another
   * Host.
   */
  readonly publicUrl?: string | undefined;
  /** Connects requests with those of other listeners that led to them. */
  readonly links?: CausePropagator | undefined;
  /** Makes the rows of requests of which something follows. */
  readonly causeRow: CauseRowFactory;
  /** Called with every bug that a request met. */
  readonly report: (bug: EmulatorBugError) => void;
  /** Makes answers as the service was observed to make them. */
  readonly observe?: ObserveAnswer | undefined;
  /** Signals that a caller went away: for streams and long polls of the control plane, and other handlers. */
  readonly waiting: { readonly followers: Set<() => void>; readonly served: Set<() => void> };
}

/** What a listener serves at a time: it changes when the emulator has started, and when another process leads. */
export interface Served {
  /** Undefined: the listener has no control plane. */
  readonly control: OperationTable | undefined;
  readonly services: OperationTable;
  readonly clock: Clock;
  /** Virtual time as `x-svc-time` has it. */
  readonly time: () => string;
  /** Every undeclared path answers 503. */
  readonly isStarting?: boolean;
  readonly faultFor?: FindRequestFault | undefined;
  /** Waits, before a request is answered, for what must not come after its response; `cause`: the request. */
  readonly beforeAnswer?: ((cause: Cause) => Promise<void> | undefined) | undefined;
  /** Which pages of other origins may read what. */
  readonly allowsOrigin?: IsOriginAllowed | undefined;
  /** Answers requests for paths that nothing is declared for; undefined from it: 404. */
  readonly fallback?: Fallback | undefined;
  /** Answers them instead, in a process that does not lead. */
  readonly forward?: ((exchange: Exchange, response: ServerResponse) => Promise<void>) | undefined;
  /** Requests that have no response yet, or not all of it. */
  pending: number;
}

/** Who a request comes from, where that is not what its connection says. */
export interface RequestOrigin {
  /** The cause of a request that another listener sent. */
  readonly link?: CauseLink | undefined;
  /** A standby forwards it, and has let it in. */
  readonly isForwarded: boolean;
  /** A trusted proxy's description of the request. */
  readonly proxyInfo?: ForwardedInfo | undefined;
  /** The caller of the standby; undefined: the peer of the connection. */
  readonly remoteAddress?: string | undefined;
}

const noFindings: readonly Finding[] = [];
const noBytes = Buffer.alloc(0);

/**
 * One request and its response, from its arrival to its line in the log. It is what handlers see of the request, and
 * the cause of its changes.
 */
export class Exchange implements ReceivedRequest, Cause {
  readonly raw: IncomingMessage;
  readonly served: Served;
  readonly from: RequestOrigin;
  readonly target: string;
  readonly parsedTarget: RequestTarget;
  /** Whether it leads to the control plane, or might for another server. */
  readonly isControlled: boolean;
  /** Where its operation was searched. */
  readonly operations: OperationTable;
  /** Undefined: its path is wrong, or its method, or a parameter is empty. */
  readonly match: Match | undefined;
  /** Operations of its path. */
  readonly atPath: readonly BoundOperation[];
  readonly service: Service | undefined;
  readonly dialect: Dialect;
  /** The scripted fault that it meets. */
  fault: RequestFault | undefined;
  /** Whether pages of other sites may read the response: of this origin, or undefined: of none. */
  cors: { readonly origin: string | undefined } | undefined;
  body: Buffer = noBytes;
  readonly #listener: ListenerContext;
  readonly #response: ServerResponse;
  readonly #number: number;
  readonly #at: number;
  readonly #wallAt: number;
  readonly #begunAt: number;
  #hasEnded = false;
  #abort: AbortController | undefined;
  #findings: Finding[] | undefined;
  #caller: string | undefined;
  #id: string | undefined;

  constructor(
    listener: ListenerContext,
    served: Served,
    raw: IncomingMessage,
    response: ServerResponse,
    from: RequestOrigin,
  ) {
    const { log, wall } = listener;
    const target = raw.url!;
    const parsed = parseRequestTarget(target);
    // Such a request may bear a token of the control plane: no cluster is asked, and none answers it.
    const isControlled = isControlPath(parsed.path);
    const operations = (isControlled && served.control) || served.services;
    const match = isControlled && !served.control ? undefined : operations.match(raw, parsed);
    const atPath = match ? [match.bound] : operations.at(parsed.path);
    const service = atPath[0]?.operation.service ?? operations.service;
    this.#listener = listener;
    this.#response = response;
    this.served = served;
    this.raw = raw;
    this.from = from;
    this.target = target;
    this.parsedTarget = parsed;
    this.isControlled = isControlled;
    this.operations = operations;
    this.match = match;
    this.atPath = atPath;
    this.service = service;
    this.dialect = match ? match.bound.steps.dialect : dialects[service?.dialect ?? "control"];
    this.#number = log.nextNumber();
    this.#at = served.clock.now();
    this.#wallAt = wall.now();
    this.#begunAt = wall.monotonicNow();
    served.pending += 1;
    if (match?.documented) this.finding("other-slash", `the service redirects to ${match.documented}`);
  }

  /** Undefined: none is declared for its path and method. */
  get operation(): string | undefined {
    return this.match?.bound.operation.id;
  }

  /** Whether the control plane words its failures. */
  get isOfControl(): boolean {
    return this.service?.name === "emulator";
  }

  get bodies(): RequestBodyReader {
    return this.#listener.bodies;
  }

  get method(): string {
    return this.raw.method!;
  }

  get headers(): ReceivedRequest["headers"] {
    // Node gives a list for set-cookie alone, which no request carries.
    return this.raw.headers as ReceivedRequest["headers"];
  }

  get rawHeaders(): readonly string[] {
    return this.raw.rawHeaders;
  }

  get remoteAddress(): string {
    return this.from.remoteAddress ?? this.raw.socket.remoteAddress ?? "";
  }

  get origin(): string {
    const { host } = this.raw.headers;
    const { proxyInfo } = this.from;
    if (proxyInfo === undefined) return `http://${host}`;
    return this.#listener.publicUrl ?? `${proxyInfo.protocol ?? "http"}://${proxyInfo.host ?? host}`;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      this.onDisconnect(() => abort.abort());
    }
    return this.#abort.signal;
  }

  onDisconnect(listener: () => void): void {
    const response = this.#response;
    if (response.destroyed) {
      listener();
      return;
    }
    const { followers, served } = this.#listener.waiting;
    const open = this.match && this.isOfControl ? followers : served;
    open.add(listener);
    response.once("close", () => {
      open.delete(listener);
      if (!response.writableFinished) listener();
    });
  }

  get cause(): Cause {
    return this;
  }

  get id(): string {
    this.#id ??= `request:${this.#number}`;
    return this.#id;
  }

  get before(): Cause | undefined {
    return this.from.link?.cause;
  }

  isLeft(): boolean {
    return this.from.link?.isLeft() === true;
  }

  createRow(before: CauseRow | undefined): CauseRow {
    const { what, caller } = requestCause(this, this.operation);
    const effect = this.fault?.effect;
    return this.#listener.causeRow({
      id: this.id,
      what: effect === undefined ? what : `${what}; scripted: ${effect}`,
      at: this.#at,
      wallAt: this.#wallAt,
      // The caller of the first request is not the caller of this one.
      caller: before === undefined ? caller : undefined,
      before,
    });
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

  report(bug: EmulatorBugError): void {
    this.#listener.report(bug);
  }

  /** Adds its line to the request log, once. Status 0: it got no response. */
  end(status: number, failure: string | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.served.pending -= 1;
    this.bodies.discard(this.raw);
    const { log, wall, name } = this.#listener;
    const { method, target, rawHeaders } = this;
    // Browsers ask for it by themselves, whatever they show.
    if (target === "/favicon.ico" && method === "GET") return;
    log.add({
      id: this.#number,
      listener: name,
      service: this.service?.name ?? "none",
      operation: this.operation,
      method,
      target,
      rawHeaders: log.internHeaders(rawHeaders),
      body: shortJson(this),
      status,
      failure,
      caller: this.#caller,
      cause: this.from.link?.cause.id,
      findings: this.#findings ?? noFindings,
      fault: this.fault?.effect,
      at: this.#at,
      wallAt: this.#wallAt,
      durationMs: wall.monotonicNow() - this.#begunAt,
    });
  }
}

/** Longer bodies are files and jobs. */
const maxLoggedBody = 16 * 1024;

/** The body as it is stored in the log: not what it was cut out of. */
function shortJson({ method, body, headers }: ReceivedRequest): Buffer | undefined {
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
