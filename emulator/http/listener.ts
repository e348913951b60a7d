import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import { fastify } from "fastify";
import type { Clock, WallClock } from "../../src/base/clock.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import type { Cause } from "../store/cause.ts";
import { createCauseRowFactory, type MakeCauseRow } from "../store/causes.ts";
import { bindPart } from "./bind.ts";
import { maxBodyBytes } from "./bodies/body-limits.ts";
import type { CausePropagator } from "./outgoing/cause-propagator.ts";
import type { FindRequestFault, Part } from "./parts.ts";
import type { ObserveAnswer } from "./reply.ts";
import { type BodyReadTimeouts, defaultBodyReadTimeouts, RequestBodyReader } from "./request-body-reader.ts";
import { type ForwardRequest, RequestDispatcher } from "./request-dispatcher.ts";
import type { RequestLog } from "./request-log/request-log.ts";
import { ResponseWriter, unreadResponseTimeoutMs, waitForPipelineTurn } from "./sending/response-writer.ts";
import { type IsOriginAllowed, noSniffHeader } from "./sending/send.ts";
import {
  extractForwarded,
  type ForwardedRequest,
  forwardToLeader,
  type LeaderListener,
  respondNotLeading,
} from "./standby/forward.ts";
import { TrustedProxies } from "./trusted-proxies.ts";
import type { Fallback } from "./unmatched-request.ts";

/** Default grace for pending requests when the listener closes. */
const closeGraceMs = 1_000;

/** How long a request waits until it is certain that this process leads, and the response in either case. */
const defaultAssuranceMs = 5_000;
const tellsOfItself = /^\/_emulator\/(?:ready|live|metrics|stop)$/;

/** Interval of checks whether requests have ended when another process takes over. */
const handOverLookMs = 5;

/** How long a connection stays open that nothing comes on: as Fastify has it, since Node's 5 s race with clients. */
const keptOpenMs = 72_000;

/** The settings of an emulator that requests are checked by. */
export interface HttpSettings {
  /** The leniencies that are turned off, by name (`--strict`). */
  readonly strict: ReadonlySet<string>;
  /** Serve both spellings of a path instead of redirecting. */
  readonly lenientSlashes: boolean;
  /** How long a caller may take nothing of its response, wall-clock time; default: `unreadAnswerMs`. */
  readonly unreadAnswerTimeoutMs?: number;
}

/** Options for binding a listener. */
export interface ListenerOptions {
  /** `router`, or the id of the cluster whose listener it is. */
  readonly name: string;
  readonly wall: WallClock;
  readonly log: RequestLog;
  /** Makes the rows of requests of which something follows. */
  readonly causeRow?: MakeCauseRow;
  /** Connects requests with those of other listeners that led to them. */
  readonly links?: CausePropagator;
  /** When it closes: once this is aborted, requests that are being served are not waited for. */
  readonly closeSignal?: AbortSignal | undefined;
  /** How long these may take then, wall-clock time. */
  readonly graceMs?: number | undefined;
  readonly settings: HttpSettings;
  /** Names that the Host header may have next to those of this machine; without port. */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Address at which browsers find this listener, if that is not where it listens: behind a proxy that sends another
   * Host.
   */
  readonly publicUrl?: string | undefined;
  /** Addresses and ranges of proxies that are believed whom they ask for. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** How long requests may take to come. */
  readonly arrival?: BodyReadTimeouts | undefined;
  /** Called with every bug that a request met. */
  readonly report?: ((bug: EmulatorBugError) => void) | undefined;
  /** Makes answers as the service was observed to make them. */
  readonly observe?: ObserveAnswer | undefined;
  /** Whether other processes share the state, of which one leads. */
  readonly isShared?: boolean | undefined;
  /** Whether what would be answered is what there is; requests wait until it is so. Of a state that is shared. */
  readonly isAssured?: (() => boolean) | undefined;
  /** How long they wait, wall-clock time. */
  readonly assuranceMs?: number;
  /** Routes that are served before it is opened; everything else is 503 until then. */
  readonly whileStarting?: readonly Part[];
}

/** Routes of a listener, once they are known. */
export interface ServedParts {
  /** The first one's service words what belongs to none. */
  readonly parts: readonly [Part, ...Part[]];
  readonly clock: Clock;
  readonly faultFor?: FindRequestFault | undefined;
  /** Waits, before a request is answered, for what must not come after its response; `cause`: the request. */
  readonly beforeAnswer?: ((cause: Cause) => Promise<void> | undefined) | undefined;
  /** Which pages of other origins may read what. */
  readonly allowsOrigin?: IsOriginAllowed | undefined;
  /** Answers requests for paths that nothing is declared for; undefined from it: 404. */
  readonly fallback?: Fallback | undefined;
}

/** A server that is bound before it has routes: they name its URL. Until it is opened it answers 503. */
export interface Listener {
  /** Port 0: any free one. Resolves with the origin to speak to: `http://127.0.0.1:4010`. */
  listen(port: number, host?: string): Promise<string>;
  /** Serves operations from now on, also after it was handed over. Fails with EmulatorBugError when one cannot be served. */
  open(served: ServedParts): void;
  /** Forwards to the leader from now on, instead of all that it serves. */
  standBy(standby: Standby): void;
  /** Serves what it was opened with again, and what standbys forward with this key. */
  lead(key: string): void;
  /**
   * Rejects what comes from now on, as another process will answer it, and resolves once what came before is answered.
   */
  handOver(): Promise<void>;
  /** Stops accepting, notifies waiting callers, and ends open connections after its grace. */
  close(): Promise<void>;
}

/** Behavior of a listener while another process leads. */
export interface Standby {
  /** Routes that it serves itself. */
  readonly parts: readonly Part[];
  /** Whether it has answered a request that is meant for this very process. */
  readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The leader's listener of the same name; undefined: there is no leader. */
  readonly leader: () => LeaderListener | undefined;
}

type Take = (request: IncomingMessage, response: ServerResponse, forwarded?: ForwardedRequest) => unknown;

/** A listener that is neither bound nor opened yet. */
export function createListener({ whileStarting = [], ...options }: ListenerOptions): Listener {
  const strictBodies = options.settings.strict.has("bodies");
  const waiting = { followers: new Set<() => void>(), served: new Set<() => void>() };
  const limits = options.arrival ?? defaultBodyReadTimeouts;
  const arrivals = new RequestBodyReader(options.wall, limits);
  const departures = new ResponseWriter(
    options.wall,
    options.settings.unreadAnswerTimeoutMs ?? unreadResponseTimeoutMs,
  );
  const causeRow = options.causeRow ?? createCauseRowFactory(options);
  const proxies = new TrustedProxies(options.trustedProxies ?? []);
  const common = { ...options, causeRow, waiting, maxBodyBytes, arrivals, departures, proxies };
  const bind = (parts: readonly Part[]) => parts.flatMap((part) => bindPart(part, strictBodies));
  let dispatch = new RequestDispatcher({ ...common, bounds: bind(whileStarting), clock: options.wall, starting: true });
  const serve: Take = (request, response, forwarded) => dispatch.handle(request, response, forwarded);
  const refuse: Take = (request, response, forwarded) => respondNotLeading(request, response, options.name, forwarded);
  const refuseLast: Take = (request, response, forwarded) => {
    response.shouldKeepAlive = false;
    refuse(request, response, forwarded);
  };
  let take = serve;
  let standby: RequestDispatcher | undefined;
  let key: string | undefined;
  /** Options of a state that several processes share. */
  const shared: RequestListener = (request, response) => {
    const forwarded = extractForwarded(request);
    // It goes no further: who sent it looks again who leads.
    if (forwarded && forwarded.key !== key) return void refuse(request, response, forwarded);
    void answerShared(request, response, forwarded);
  };
  const answerShared: Take = (request, response, forwarded) => {
    if (standby) return standby.handle(request, response);
    const isCertain = options.isAssured?.() !== false || tellsOfItself.test(request.url ?? "");
    return isCertain ? take(request, response, forwarded) : wait(request, response, forwarded);
  };
  /** Another process may lead by now: until that is known, no request is answered. */
  async function wait(request: IncomingMessage, response: ServerResponse, forwarded?: ForwardedRequest): Promise<void> {
    const until = options.wall.monotonicNow() + (options.assuranceMs ?? defaultAssuranceMs);
    const isOpen = () => !standby && options.isAssured?.() === false;
    while (isOpen() && options.wall.monotonicNow() < until) await options.wall.sleep(handOverLookMs);
    if (isOpen() || (standby && forwarded)) refuse(request, response, forwarded);
    else await answerShared(request, response, forwarded);
  }
  const answer: RequestListener = options.isShared ? shared : (request, response) => void take(request, response);
  const entrance: RequestListener = (request, response) => {
    if (response.socket) answer(request, response);
    else void waitForPipelineTurn(request, response).then(() => answer(request, response));
  };
  const app = fastify({
    // Fastify's own routes and its reading of bodies contradict both services (DECISIONS.md, P16): no request gets there.
    serverFactory: () => serverFor(entrance, limits),
    // Every listener hands its own signals on; Fastify need not wait for idle connections.
    forceCloseConnections: "idle",
    clientErrorHandler: refuseUnread,
    // Without these options Fastify loads schema compilers that are never used.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });

  return {
    async listen(port, host = "127.0.0.1") {
      await app.listen({ port, host });
      const address = app.server.address();
      const bound = typeof address === "object" ? address?.port : port;
      const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
      return `http://${name}:${bound}`;
    },
    open({ parts, ...served }) {
      take = serve;
      dispatch = new RequestDispatcher({ ...common, ...served, bounds: bind(parts), starting: false });
    },
    standBy({ parts, answers, leader }) {
      key = undefined;
      const forward: ForwardRequest = async (request, response, proxyInfo) => {
        if (!answers?.(request, response)) {
          await forwardToLeader(request, response, { ...common, proxyInfo, leader });
        }
      };
      standby = new RequestDispatcher({
        ...common,
        bounds: bind(parts),
        clock: options.wall,
        starting: false,
        forward,
      });
    },
    lead(current) {
      key = current;
      standby = undefined;
    },
    async handOver() {
      take = refuse;
      endAll(waiting.followers);
      const until = options.wall.monotonicNow() + (options.graceMs ?? closeGraceMs);
      while (dispatch.underWay > 0 && options.wall.monotonicNow() < until && !options.closeSignal?.aborted)
        await options.wall.sleep(handOverLookMs);
    },
    async close() {
      standby = undefined;
      take = options.isShared ? refuseLast : refuseLate;
      const ended = new AbortController();
      const closed = app.close().finally(() => ended.abort());
      endAll(waiting.followers);
      // Pending requests continue as long as their grace.
      if (options.graceMs === undefined) endAll(waiting.served);
      arrivals.stop();
      departures.stop();
      const enough = AbortSignal.any([ended.signal, ...(options.closeSignal ? [options.closeSignal] : [])]);
      void options.wall.sleep(options.graceMs ?? closeGraceMs, enough).then(() => {
        endAll(waiting.served);
        app.server.closeAllConnections();
      });
      await closed;
    },
  };
}

function endAll(all: ReadonlySet<() => void>): void {
  for (const end of all) end();
}

function noSchemas(): never {
  throw new EmulatorBugError("Fastify was handed a schema");
}

function serverFor(take: RequestListener, { headMs }: BodyReadTimeouts): Server {
  const server = createServer(
    {
      headersTimeout: headMs,
      // Node looks twice in the time that a head may take.
      connectionsCheckingInterval: headMs / 2,
      // Bodies have limits of their own.
      requestTimeout: 0,
      keepAliveTimeout: keptOpenMs,
      // Node's own answer to a request without a host goes past everything here; the guard rejects it.
      requireHostHeader: false,
    },
    take,
  );
  server.on("connect", (_, socket) => socket.end(noTunnel));
  return server.on("checkExpectation", refuseExpectation);
}

/** For CONNECT: this server is not a proxy. */
const noTunnel = "HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

const statuses: ReadonlyMap<string | undefined, number> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
  ["HPE_HEADER_OVERFLOW", 431],
]);

/** Answers unreadable requests on the bare socket. */
function refuseUnread(error: Error & { readonly code?: string }, socket: Socket): void {
  // There is no connection to answer on.
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const status = statuses.get(error.code) ?? 400;
  const body = JSON.stringify({ detail: STATUS_CODES[status] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    noSniffHeader.join(": "),
    "connection: close",
  ];
  if (socket.writable) socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.destroy(error);
}

/** Answers a request that expects something else than `100-continue`. */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, [...noSniffHeader, "content-length", "0"]).end();
}

/** Answers what comes on an open connection while the listener closes. */
async function refuseLate(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(503, [...noSniffHeader, "content-length", "0", "connection", "close"]).end();
}
