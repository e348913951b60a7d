import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from "fastify";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { maxHeadBytes } from "../../src/base/response-quirks.ts";
import { maxIdleConnectionMs, waitForNextTurn } from "../../src/base/timing.ts";
import { HttpExchange, type ListenerContext, type ServedRoutes } from "./exchange.ts";
import { applyTargetAuthority, createForbiddenCheck, createPreflightResponse, isPreflight } from "./guard.ts";
import type { RequestFault } from "./handler.ts";
import type { ForwardedRequest } from "./outgoing/forward-to-leader.ts";
import { ambiguousTargetResponse, createJsonResponse, type HttpResponse, notReadyResponse } from "./reply.ts";
import { noSniffHeader, sandboxHeader, sendResponse, setHeaders } from "./respond.ts";
import { isCatchAll } from "./routing/operation-table.ts";
import { hasDotSegments, removeDotSegments } from "./routing/path.ts";
import { serveRequest, toErrorResponse } from "./serve.ts";
import { respondUnmatched } from "./unmatched-request.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Undefined if the request has not been admitted. */
    exchange: HttpExchange | undefined;
  }
}

interface RequestAdmission {
  readonly served: ServedRoutes;
  readonly forwarded?: ForwardedRequest | undefined;
}

export interface AppOptions extends ListenerContext {
  /** Valid names in the Host header in addition to those of this machine, without port. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly headTimeoutMs: number;
  /** Maximum time for which a client may leave its response unread. */
  readonly unreadTimeoutMs: number;
  /** Selects the routes that serve a request. Returns undefined if the response has been sent. */
  readonly admit: (
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<RequestAdmission | undefined> | RequestAdmission | undefined;
  /** Returns whether each connection closes after its response. */
  readonly isClosing: () => boolean;
}

/**
 * Creates the Fastify application of one listener. A single route accepts everything, because Fastify's router is
 * slower to build and matches differently from the services (DECISIONS.md, P16).
 */
export function createApp(options: AppOptions): FastifyInstance {
  const { headTimeoutMs, unreadTimeoutMs } = options;
  const app = fastify({
    http: {
      maxHeaderSize: maxHeadBytes,
      headersTimeout: headTimeoutMs,
      // Node checks twice within the head timeout.
      connectionsCheckingInterval: headTimeoutMs / 2,
      // Node would reject a request without a host before the other checks run. The guard rejects such requests.
      requireHostHeader: false,
    },
    // Bodies have separate limits, because an upload may take any amount of time.
    requestTimeout: 0,
    connectionTimeout: unreadTimeoutMs,
    keepAliveTimeout: maxIdleConnectionMs,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: rejectUnreadable,
    // The operation table decodes targets. Fastify's router would reject some targets that the services accept.
    rewriteUrl: () => "/",
    // Without these options, Fastify loads schema compilers that are never used.
    schemaController: { compilersFactory: { buildValidator: rejectSchemas, buildSerializer: rejectSchemas } },
  });
  app.server.on("connect", (_, socket) => socket.end(connectResponse));
  app.server.on("checkExpectation", rejectExpectation);

  app.decorateRequest("exchange", undefined);
  app.decorateReply("response", undefined);
  app.addHook("onRequest", waitForPipelineTurn);
  app.addHook("onRequest", beginExchange(options));
  app.addHook("onRequest", guardRequest(options));
  app.addHook("onRequest", allowOrigin);
  app.addHook("onRequest", applyFault(options));
  app.addHook("onSend", setHeaders);
  app.addHook("onSend", (_request, reply, payload, done) => {
    if (options.isClosing()) reply.header("connection", "close");
    done(null, payload);
  });

  // Handlers read bodies, because a service may reject a request before its body is read, and limits depend on the
  // operation.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  const deliver = createDelivery(options);
  const respond = async ({ exchange }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { match } = exchange!;
    await deliver(exchange!, reply, await (match ? serveRequest(exchange!, match) : respondUnmatched(exchange!)));
  };
  const respondWithError = (error: Error, { exchange }: FastifyRequest, reply: FastifyReply): Promise<void> | void => {
    const response = exchange && toErrorResponse(error, exchange);
    if (!response || reply.raw.headersSent) {
      reply.hijack().raw.destroy();
      return exchange?.end(0, undefined);
    }
    if (!reply.response) return deliver(exchange, reply, response);
    // A response cannot be sent if, for example, a header contains a line break.
    removeAllHeaders(reply);
    return sendResponse(reply, response);
  };
  app.all("/", (request, reply) => (request.exchange!.match ? respond(request, reply) : reply.callNotFound()));
  app.setNotFoundHandler(respond);
  app.setErrorHandler((error: Error & { readonly code?: string }, request, reply) =>
    error.code && rejectedByFastify.has(error.code)
      ? // The services use their own messages.
        respond(request, reply).catch((answerFailure) => respondWithError(answerFailure, request, reply))
      : respondWithError(error, request, reply),
  );
  return app;
}

/** Errors before the handler runs: an invalid content type, and a QUERY without a content type. */
const rejectedByFastify = new Set(["FST_ERR_CTP_INVALID_MEDIA_TYPE", "FST_ERR_ROUTE_MISSING_CONTENT_TYPE"]);

function removeAllHeaders(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) {
    reply.removeHeader(name);
    reply.raw.removeHeader(name);
  }
}

function rejectSchemas(): never {
  throw new EmulatorBugError("Fastify was handed a schema");
}

/** Number of requests on a connection that wait for the responses to earlier requests. */
const waitingRequestCounts = new WeakMap<Socket, number>();

/** Node resumes a connection whenever a response or a body has been read, so it is paused again while requests wait. */
function pauseAgain(this: Socket): void {
  this.pause();
}

/**
 * Delays a pipelined request until the earlier requests on its connection have responses. Otherwise the responses would
 * be held in memory. The connection is paused meanwhile, so one read of the socket limits the number of waiting
 * requests.
 */
const waitForPipelineTurn: onRequestHookHandler = (request, reply, done) => {
  const { raw } = reply;
  if (raw.socket) return done();
  const { socket } = request.raw;
  const earlierCount = waitingRequestCounts.get(socket) ?? 0;
  waitingRequestCounts.set(socket, earlierCount + 1);
  if (earlierCount === 0) socket.on("resume", pauseAgain).pause();
  // Node assigns the socket to a response when all earlier responses are sent.
  void once(raw, "socket").then(() => {
    const waitingCount = waitingRequestCounts.get(socket)! - 1;
    waitingRequestCounts.set(socket, waitingCount);
    if (waitingCount === 0) socket.off("resume", pauseAgain).resume();
    done();
  });
};

/** Closes a connection without activity, because an unread response would stay in memory. */
function closeUnreadConnection(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

const beginExchange = (options: AppOptions): onRequestHookHandler => {
  const { admit, links, readForwarded } = options;
  return (request, reply, done) => {
    const { raw } = request;
    // `rewriteUrl` changed the URL for Fastify's router.
    raw.url = request.originalUrl;
    reply.raw.on("timeout", closeUnreadConnection);
    const next = (admission: RequestAdmission | undefined) => {
      if (!admission) return;
      // The client no longer waits for the response, and the changes of the request would apply to another state.
      if (links?.isAbandoned(raw)) return void reply.hijack().raw.destroy();
      const { served, forwarded } = admission;
      raw.url = forwarded?.target ?? raw.url!;
      const link = links?.extractLink(raw);
      applyTargetAuthority(raw);
      raw.url = removeDotSegments(raw.url);
      const source = forwarded
        ? { ...forwarded, isForwarded: true }
        : // The other listener has checked requests that it forwarded.
          { link, isForwarded: false, proxyInfo: link ? undefined : readForwarded(raw) };
      request.exchange = new HttpExchange(options, served, raw, reply.raw, source);
      done();
    };
    const admission = admit(request, reply);
    if (admission instanceof Promise) admission.then(next).catch(done);
    else next(admission);
  };
};

const guardRequest = (options: AppOptions): onRequestHookHandler => {
  const findRejection = createForbiddenCheck(options);
  return (request, reply, done) => {
    const exchange = request.exchange!;
    const { served, match, raw, bodies } = exchange;
    const rejection =
      findRejection(exchange) ?? (served.isStarting && !match ? notReadyResponse : rejectAmbiguous(exchange));
    if (rejection) return sendResponse(reply, rejection);
    if (match || !served.forward) return done();
    reply.hijack();
    void served.forward(exchange, reply.raw).finally(() => bodies.discard(raw));
  };
};

/** Rejects a target that a receiver of the forwarded request could interpret differently. */
const rejectAmbiguous = ({ match, isControlled, parsedTarget: { path } }: HttpExchange): HttpResponse | undefined =>
  !isControlled && (!match || isCatchAll(match.bound.operation)) && hasDotSegments(path)
    ? ambiguousTargetResponse
    : undefined;

/** Sets the headers that decide whether pages of other sites can read the response. */
const allowOrigin: onRequestHookHandler = (request, reply, done) => {
  const exchange = request.exchange!;
  const { origin } = exchange.raw.headers;
  if (!origin) return done();
  const isAllowed = exchange.served.allowsOrigin?.(exchange.parsedTarget.path, origin);
  if (isAllowed && isPreflight(exchange.raw)) return sendResponse(reply, createPreflightResponse(origin));
  if (isAllowed !== undefined) exchange.cors = { origin: isAllowed ? origin : undefined };
  done();
};

const applyFault =
  ({ wall }: AppOptions): onRequestHookHandler =>
  (request, reply, done) => {
    const exchange = request.exchange!;
    const fault = exchange.served.faultFor?.(exchange, exchange.match?.bound.operation);
    if (!fault) return done();
    exchange.fault = fault;
    const applyEffect = () => {
      if (fault.reset) {
        reply.hijack().raw.socket?.resetAndDestroy();
        exchange.end(0, undefined);
      } else if (fault.status !== undefined) sendResponse(reply, createFaultResponse(fault, fault.status));
      else done();
    };
    // The wait ends early if the client disconnects.
    if (fault.latencyMs) wall.sleep(fault.latencyMs, exchange.signal).then(applyEffect).catch(done);
    else applyEffect();
  };

function createFaultResponse(fault: RequestFault, status: number): HttpResponse {
  const body = fault.body ?? { detail: "This is a scripted fault of the control plane." };
  const headers = Object.entries(fault.headers ?? {});
  const isJson = headers.every(([name]) => name.toLowerCase() !== "content-type");
  const response = createJsonResponse(status, body, headers.flat());
  // Browsers apply all policies, so the policy of the response cannot lift the sandbox.
  return isJson ? response : { ...response, headers: [...headers.flat(), ...sandboxHeader] };
}

function createDelivery({ observe }: AppOptions) {
  let currentTurn: Promise<void> | undefined;
  /** So that no client wakes up before other responses are ready, which halves the CPU time at 64 connections. */
  const endOfTurn = () => {
    currentTurn ??= waitForNextTurn().then(() => {
      currentTurn = undefined;
    });
    return currentTurn;
  };
  return async (exchange: HttpExchange, reply: FastifyReply, httpResponse: HttpResponse): Promise<void> => {
    const { match, atPath, isControlled, served } = exchange;
    const observation =
      observe && !isControlled
        ? atPath.map(({ operation }) => observe(operation, httpResponse)).find(Boolean)
        : undefined;
    if (observation) exchange.reportFinding("observed", observation.finding);
    const response = observation?.response ?? httpResponse;
    const preparation = served.beforeAnswer?.(exchange);
    if (preparation) await preparation;
    await endOfTurn();
    sendResponse(reply, match && isCatchAll(match.bound.operation) ? markCatchAll(response) : response);
  };
}

/** Marks a response of the catch-all route, so that the client can see that no operation matched (DECISIONS.md, R2). */
const markCatchAll = (response: HttpResponse): HttpResponse => ({
  ...response,
  headers: [...response.headers, "x-svc-matched", "catch-all"],
});

/** Response to CONNECT, because this server is not a proxy. */
const connectResponse = "HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

const statusesByErrorCode: ReadonlyMap<string | undefined, number> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
  ["HPE_HEADER_OVERFLOW", 431],
]);

/** Writes the response to an unreadable request directly to the socket. */
function rejectUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const status = statusesByErrorCode.get(error.code) ?? 400;
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

/** Responds to a request that expects something other than `100-continue`. */
function rejectExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, [...noSniffHeader, "content-length", "0"]).end();
}
