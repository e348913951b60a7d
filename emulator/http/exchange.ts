import type { IncomingMessage, ServerResponse } from "node:http";
import type { Service } from "../../src/api/services.ts";
import type { Clock, WallClock } from "../../src/base/clock.ts";
import type { EmulatorBugError } from "../../src/base/errors.ts";
import { readTraceparent } from "../../src/base/otel.ts";
import type { CauseRowFactory } from "../store/causes.ts";
import type { Cause, CauseRow } from "../store/port.ts";
import type { BoundOperation } from "./bind.ts";
import type { RequestBodyReader } from "./bodies/request-body-reader.ts";
import { dialects, type ErrorDialect, getDialect } from "./dialects/dialects.ts";
import type {
  OriginPredicate,
  ReceivedRequest,
  RequestFallback,
  RequestFault,
  RequestFaultFinder,
  RequestIdentity,
} from "./handler.ts";
import type { CauseLink, CausePropagator } from "./outgoing/forward.ts";
import type { ResponseObserver } from "./reply.ts";
import { redactTarget } from "./request-log/redact.ts";
import type { RequestFinding, RequestLog } from "./request-log/request-log.ts";
import type { OperationMatch, OperationTable } from "./routing/operation-table.ts";
import { isControlPath, parseRequestTarget, type RequestTarget } from "./routing/path.ts";
import type { createForwardedReader, ForwardedInfo } from "./trusted-proxies.ts";

export interface ListenerContext {
  /** `router`, or the ID of the listener's cluster. */
  readonly name: string;
  readonly wall: WallClock;
  readonly log: RequestLog;
  readonly bodies: RequestBodyReader;
  readonly readForwarded: ReturnType<typeof createForwardedReader>;
  /** Address of this listener for browsers if a proxy sends another Host. */
  readonly publicUrl?: string | undefined;
  /** Connects requests with the requests of other listeners that caused them. Undefined if requests have no cause. */
  readonly links?: CausePropagator | undefined;
  readonly createCauseRow: CauseRowFactory;
  readonly report: (bug: EmulatorBugError) => void;
  readonly observe?: ResponseObserver | undefined;
  /** Called when a client disconnects. `followers` are streams and long polls of the control plane. */
  readonly disconnectListeners: { readonly followers: Set<() => void>; readonly served: Set<() => void> };
}

/** Routes of a listener. They change at the start and when another process becomes the leader. */
export interface ServedRoutes {
  /** Undefined if the listener has no control plane. */
  readonly control: OperationTable | undefined;
  readonly services: OperationTable;
  readonly clock: Clock;
  /** True if every undeclared path responds with 503. */
  readonly isStarting?: boolean;
  readonly faultFor?: RequestFaultFinder | undefined;
  /** Returns a promise that must resolve before the response is sent. `cause` is the request. */
  readonly beforeAnswer?: ((cause: Cause) => Promise<void> | undefined) | undefined;
  readonly allowsOrigin?: OriginPredicate | undefined;
  readonly fallback?: RequestFallback | undefined;
  /** Handles all requests in a process that is not the leader. */
  readonly forward?: ((exchange: HttpExchange, response: ServerResponse) => Promise<void>) | undefined;
  /** Number of requests without a complete response. */
  pending: number;
}

/** Origin of a request, if it differs from the peer of its connection. */
interface RequestOrigin {
  readonly link?: CauseLink | undefined;
  /** True if a standby has admitted and forwarded the request. */
  readonly isForwarded: boolean;
  readonly proxyInfo?: ForwardedInfo | undefined;
  /** Address of the standby's client. Undefined if the client is the peer of the connection. */
  readonly remoteAddress?: string | undefined;
}

const noFindings: readonly RequestFinding[] = [];
const noBytes = Buffer.alloc(0);

/** A request until it is logged. For handlers, it is the request and the cause of its changes. */
export class HttpExchange implements ReceivedRequest, RequestIdentity, Cause {
  readonly raw: IncomingMessage;
  readonly served: ServedRoutes;
  readonly requestOrigin: RequestOrigin;
  readonly bodies: RequestBodyReader;
  readonly method: string;
  readonly target: string;
  readonly parsedTarget: RequestTarget;
  readonly headers: ReceivedRequest["headers"];
  readonly rawHeaders: readonly string[];
  /** True if the path leads to the control plane, or could lead there for a server that parses paths less strictly. */
  readonly isControlled: boolean;
  readonly operations: OperationTable;
  /** Undefined if the path or method is wrong, or a parameter is empty. */
  readonly match: OperationMatch | undefined;
  /** Undefined if no operation is declared for the path and method. */
  readonly operation: string | undefined;
  readonly atPath: readonly BoundOperation[];
  readonly service: Service | undefined;
  readonly dialect: ErrorDialect;
  /** True if errors have the format of the control plane. */
  readonly usesControlFormat: boolean;
  fault: RequestFault | undefined;
  /** Origin whose pages can read the response. Undefined if no origin can read it. */
  cors: { readonly origin: string | undefined } | undefined;
  body: Buffer = noBytes;
  caller: string | undefined;
  tokenHash: string | undefined;
  workspaceId: number | undefined;
  readonly #listener: ListenerContext;
  readonly #response: ServerResponse;
  #number: number;
  #numbering: number;
  #at: number;
  readonly #wallAt: number;
  readonly #startedAt: number;
  #hasEnded = false;
  #abort: AbortController | undefined;
  #findings: RequestFinding[] | undefined;

  constructor(
    listener: ListenerContext,
    served: ServedRoutes,
    raw: IncomingMessage,
    response: ServerResponse,
    requestOrigin: RequestOrigin,
  ) {
    const { log, wall } = listener;
    this.#listener = listener;
    this.#response = response;
    this.served = served;
    this.raw = raw;
    this.requestOrigin = requestOrigin;
    this.bodies = listener.bodies;
    this.method = raw.method!;
    this.target = raw.url!;
    this.parsedTarget = parseRequestTarget(this.target);
    // Node has a list only for set-cookie, which is a response header.
    this.headers = raw.headers as ReceivedRequest["headers"];
    this.rawHeaders = raw.rawHeaders;
    const { path } = this.parsedTarget;
    // Such a request can contain a token of the control plane, so it is never forwarded to a cluster.
    this.isControlled = isControlPath(path);
    this.operations = (this.isControlled && served.control) || served.services;
    const match = this.isControlled && !served.control ? undefined : this.operations.match(raw, this.parsedTarget);
    this.match = match;
    this.operation = match?.bound.operation.id;
    this.atPath = match ? [match.bound] : this.operations.findAll(path);
    this.service = (this.atPath[0] ?? this.operations.all[0])?.operation.service;
    this.dialect = match ? getDialect(match.bound.operation) : dialects[this.service?.dialect ?? "control"];
    this.usesControlFormat = this.dialect === dialects.control;
    this.#number = log.nextNumber();
    this.#numbering = log.numbering;
    this.#at = served.clock.now();
    this.#wallAt = wall.now();
    this.#startedAt = wall.monotonicNow();
    served.pending += 1;
    if (match?.documentedPath) this.reportFinding("other-slash", `the service redirects to ${match.documentedPath}`);
  }

  get remoteAddress(): string {
    const address = this.requestOrigin.remoteAddress ?? this.raw.socket.remoteAddress ?? "";
    // A listener for IPv4 and IPv6 gets IPv4 addresses in this form.
    return address.replace(/^::ffff:(?=\d+\.)/, "");
  }

  get origin(): string {
    const { host } = this.raw.headers;
    const { proxyInfo } = this.requestOrigin;
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
    const { followers, served } = this.#listener.disconnectListeners;
    const listeners = this.match && this.usesControlFormat ? followers : served;
    listeners.add(listener);
    response.once("close", () => {
      listeners.delete(listener);
      if (!response.writableFinished) listener();
    });
  }

  get cause(): Cause {
    return this;
  }

  get id(): string {
    return `request:${this.#number}`;
  }

  /**
   * Makes the request belong to the present state. If another state began while it arrived, its number belongs to
   * another request, so it takes the next number and the present time.
   */
  enterState(): void {
    const { log } = this.#listener;
    if (log.numbering === this.#numbering) return;
    this.#numbering = log.numbering;
    this.#number = log.nextNumber();
    this.#at = this.served.clock.now();
  }

  get before(): Cause | undefined {
    return this.requestOrigin.link?.cause;
  }

  isStateReplaced(): boolean {
    return this.requestOrigin.link?.isStateReplaced() === true || this.#listener.log.numbering !== this.#numbering;
  }

  createRow(before: CauseRow | undefined): CauseRow {
    const { operation, method, target, headers, fault } = this;
    const request = `${method} ${redactTarget(target, operation)}`;
    const what = operation === undefined ? request : `${operation} ${request}`;
    return this.#listener.createCauseRow({
      id: this.id,
      what: fault?.effect === undefined ? what : `${what}; scripted: ${fault.effect}`,
      at: this.#at,
      wallAt: this.#wallAt,
      // The caller of the previous request can differ from the caller of this request.
      caller: before === undefined ? readTraceparent(headers.traceparent) : undefined,
      before,
    });
  }

  /** Reports a finding for code that must not access the rest of the exchange. */
  readonly reportFinding = (code: string, detail?: string): void => {
    this.#findings ??= [];
    this.#findings.push({ code, detail });
  };

  report(bug: EmulatorBugError): void {
    this.#listener.report(bug);
  }

  /** Adds the request to the log once. Status 0 means that no response was sent. */
  end(status: number, failure: string | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.served.pending -= 1;
    this.bodies.discard(this.raw);
    const { log, wall, name } = this.#listener;
    const { method, target, rawHeaders } = this;
    // Browsers request this automatically for every page.
    if (target === "/favicon.ico" && method === "GET") return;
    log.add({
      id: this.#number,
      listener: name,
      service: this.service?.name ?? "none",
      operation: this.operation,
      method,
      target,
      rawHeaders,
      body: getShortJson(this),
      status,
      failure,
      caller: this.caller,
      tokenHash: this.tokenHash,
      workspaceId: this.workspaceId,
      cause: this.requestOrigin.link?.cause.id,
      findings: this.#findings ?? noFindings,
      fault: this.fault?.effect,
      at: this.#at,
      wallAt: this.#wallAt,
      durationMs: wall.monotonicNow() - this.#startedAt,
      ...(log.numbering !== this.#numbering && { isReplaced: true as const }),
    });
  }
}

/** Longer bodies are not logged, because they are files and jobs. */
const maxLoggedBodyBytes = 16 * 1024;

/** Returns the body for the log as a copy, so that the log does not retain a larger buffer. */
function getShortJson({ method, body, headers }: ReceivedRequest): Buffer | undefined {
  if (method === "GET" || body.length === 0 || body.length > maxLoggedBodyBytes) return undefined;
  return headers["content-type"]?.includes("json") ? Buffer.from(body) : undefined;
}
