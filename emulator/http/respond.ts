import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { FastifyReply, onSendHookHandler } from "fastify";
import { nextTurn } from "../../src/base/timing.ts";
import { emulatorOptions } from "../../src/derive/emulator-options.ts";
import { withCors } from "./guard.ts";
import { removeHeaders } from "./hop-by-hop.ts";
import type { HttpResponse } from "./reply.ts";

declare module "fastify" {
  interface FastifyReply {
    /** The current response, which `setHeaders` reads. */
    response: HttpResponse | undefined;
  }
}

/** The maximum time for which a client may read nothing of its response. */
export const unreadResponseTimeoutMs = emulatorOptions.unreadAnswerTimeoutMs.default;

/** Unauthenticated uploads and requests must never be mistaken for a page of the emulator. */
export const noSniffHeader = ["x-content-type-options", "nosniff"] as const;

/**
 * For a response that a browser could mistake for a page of the emulator: it gets a separate origin without scripts, so
 * that scripted faults and uploads cannot act as the signed-in user (DECISIONS.md, E13).
 */
export const sandboxHeader = ["content-security-policy", "sandbox"] as const;

/** Types that can contain scripts. */
const isMarkup = (type: unknown): boolean => /html|xml|svg/i.test(String(type));

const noBytes = Buffer.alloc(0);

const isWhole = (body: unknown): body is string | Uint8Array => typeof body === "string" || body instanceof Uint8Array;

/**
 * Sends the response. It is logged here and not in a hook: Fastify calls no `onResponse` when the client disconnects,
 * and a client with a response must find its line in the log. If a stream fails, the connection is closed, so that the
 * client notices it.
 */
export function respond(reply: FastifyReply, httpResponse: HttpResponse): void {
  const { raw, request } = reply;
  const { exchange } = request;
  const shown = exchange?.cors ? withCors(httpResponse, exchange.cors.origin) : httpResponse;
  const response = exchange?.fault?.truncated ? truncate(shown) : shown;
  const { status, body, failure } = response;
  reply.response = response;
  reply.code(status);
  if (body === undefined || isWhole(body)) {
    reply.send(status === 304 ? undefined : body);
    exchange?.end(status, failure);
    return;
  }
  reply.send(Readable.from(body));
  // Sends the head at once, so that clients of event streams learn that they are connected. Not with flushHeaders,
  // which writes the head as UTF-8 and would change header bytes of other servers.
  if (!raw.headersSent && !raw.destroyed) raw.write(noBytes);
  const end = () => exchange?.end(status, failure);
  finished(raw).then(end, end);
}

/** Sets the headers of a response and those of every response. The content type that Fastify guessed is removed. */
export const setHeaders: onSendHookHandler = ({ exchange }, reply, payload, done) => {
  const { headers, isForeign } = reply.response!;
  reply.removeHeader("content-type");
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!];
    // Headers of other servers keep their spelling, except the length, which Fastify compares with a whole body.
    if (isForeign && !(isWhole(payload) && name.toLowerCase() === "content-length"))
      reply.raw.appendHeader(name, value);
    else reply.header(name, value);
  }
  if (exchange) reply.header("x-svc-time", exchange.served.formatTime());
  if (!isForeign) {
    reply.header(...noSniffHeader);
    if (isMarkup(reply.getHeader("content-type")) && !reply.hasHeader(sandboxHeader[0])) reply.header(...sandboxHeader);
  }
  done(null, payload);
};

/** Announces the whole body, sends half of it and closes the connection. */
function truncate(response: HttpResponse): HttpResponse {
  const { headers, body = "" } = response;
  if (!isWhole(body)) return { ...response, body: sendHalf(body) };
  const bytes = Buffer.from(body);
  const length = ["content-length", String(bytes.length)];
  return { ...response, headers: [...removeHeaders(headers, ["content-length"]), ...length], body: sendHalf([bytes]) };
}

async function* sendHalf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    yield piece.subarray(0, Math.floor(piece.length / 2));
    await nextTurn();
    throw new Error("Cut off by a scripted fault");
  }
}
