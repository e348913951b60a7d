import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { FastifyReply, onSendHookHandler } from "fastify";
import { toIsoMillis } from "../../src/base/clock.ts";
import { hasNoBody } from "../../src/base/response-quirks.ts";
import { waitForNextTurn } from "../../src/base/timing.ts";
import { applyCorsHeaders } from "./guard.ts";
import { removeHeaders } from "./hop-by-hop.ts";
import type { HttpResponse } from "./reply.ts";

declare module "fastify" {
  interface FastifyReply {
    /** Response that is being sent, for `setHeaders`. */
    response: HttpResponse | undefined;
  }
}

/** Header that prevents browsers from interpreting unauthenticated uploads and requests as a page of the emulator. */
export const noSniffHeader = ["x-content-type-options", "nosniff"] as const;

/**
 * Header for a response that a browser could interpret as a page of the emulator. It assigns a separate origin without
 * scripts, so that scripted faults and uploads cannot act as the signed-in user (DECISIONS.md, E13).
 */
export const sandboxHeader = ["content-security-policy", "sandbox"] as const;

/** Returns whether a type can contain scripts. */
const isMarkup = (type: unknown): boolean => /html|xml|svg/i.test(String(type));

const noBytes = Buffer.alloc(0);

const isComplete = (body: unknown): body is string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array;

/**
 * Sends and logs the response. A hook cannot log it, because Fastify does not call `onResponse` when the client
 * disconnects, and the log must contain a request before its client has the response. If a stream fails, the connection
 * is closed, so that the client detects the failure.
 */
export function sendResponse(reply: FastifyReply, httpResponse: HttpResponse): void {
  const { raw, request } = reply;
  const { exchange } = request;
  const corsResponse = exchange?.cors ? applyCorsHeaders(httpResponse, exchange.cors.origin) : httpResponse;
  const response = exchange?.fault?.truncated ? truncateResponse(corsResponse) : corsResponse;
  const { status, body, failure } = response;
  reply.response = response;
  // Fastify rejects a status above 599, which other servers send.
  reply.raw.statusCode = status;
  if (body === undefined || isComplete(body)) {
    // Fastify removes the type of a 204 that has a payload, even an empty one.
    reply.send(hasNoBody(status) ? undefined : body);
    exchange?.end(status, failure);
    return;
  }
  reply.send(Readable.from(body));
  // The head is sent immediately, so that clients of event streams see that they are connected. flushHeaders would
  // write the head as UTF-8 and change header bytes of other servers.
  if (!raw.headersSent && !raw.destroyed) raw.write(noBytes);
  const endExchange = () => exchange?.end(status, failure);
  finished(raw).then(endExchange, endExchange);
}

/** Sets the headers of a response and the headers of all responses. Removes the content type that Fastify adds. */
export const setHeaders: onSendHookHandler = ({ exchange }, reply, payload, done) => {
  const { headers, isForeign } = reply.response!;
  reply.removeHeader("content-type");
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!];
    // Headers of other servers keep their spelling. The length is an exception, because Fastify compares it with a
    // whole body.
    if (isForeign && !(isComplete(payload) && name.toLowerCase() === "content-length"))
      reply.raw.appendHeader(name, value);
    else reply.header(name, value);
  }
  if (exchange) reply.header("x-svc-time", toIsoMillis(exchange.served.clock.now()));
  if (!isForeign) {
    reply.header(...noSniffHeader);
    if (isMarkup(reply.getHeader("content-type")) && !reply.hasHeader(sandboxHeader[0])) reply.header(...sandboxHeader);
  }
  done(null, payload);
};

/** Changes a response so that the connection closes after half of the announced body. */
function truncateResponse(response: HttpResponse): HttpResponse {
  const { headers, body = "" } = response;
  if (!isComplete(body)) return { ...response, body: sendHalf(body) };
  const bytes = Buffer.from(body);
  const length = ["content-length", String(bytes.length)];
  return { ...response, headers: [...removeHeaders(headers, ["content-length"]), ...length], body: sendHalf([bytes]) };
}

async function* sendHalf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    yield piece.subarray(0, Math.floor(piece.length / 2));
    await waitForNextTurn();
    throw new Error("Cut off by a scripted fault");
  }
}
