import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { FastifyReply, onSendHookHandler } from "fastify";
import { nextTurn } from "../../src/base/timing.ts";
import { withCors } from "./guard.ts";
import { removeHeaders } from "./hop-by-hop.ts";
import type { HttpResponse } from "./reply.ts";

declare module "fastify" {
  interface FastifyReply {
    /** What is being sent: `setHeaders` reads it. */
    response: HttpResponse | undefined;
  }
}

/** The longest time that a caller may take nothing of its response. */
export const unreadResponseTimeoutMs = 120_000;

/** Unauthenticated uploads and requests must never be taken for a page of the emulator. */
export const noSniffHeader = ["x-content-type-options", "nosniff"] as const;

/**
 * For a response that a browser could take for a page of ours: it is shown in an origin of its own, without scripts, so
 * that scripted faults and uploads cannot act as the signed-in user (DECISIONS.md, E13).
 */
export const sandboxHeader = ["content-security-policy", "sandbox"] as const;

/** Types that can hold scripts. */
const isMarkup = (type: unknown): boolean => /html|xml|svg/i.test(String(type));

const noBytes = Buffer.alloc(0);

const isWhole = (body: unknown): body is string | Uint8Array => typeof body === "string" || body instanceof Uint8Array;

/**
 * Answers a request. It is logged here and not in a hook: Fastify calls no `onResponse` when the caller goes away, and
 * a caller that has its response must find its line in the log. A stream that fails ends the connection, so that the
 * caller sees that something is missing.
 */
export function respond(reply: FastifyReply, given: HttpResponse): void {
  const { raw, request } = reply;
  const { exchange } = request;
  const shown = exchange?.cors ? withCors(given, exchange.cors.origin) : given;
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
  // Clients that wait for a listener of events learn at once that it is connected. Not by flushHeaders, which writes
  // the head as UTF-8: another server's header bytes must stay as they are.
  if (!raw.headersSent && !raw.destroyed) raw.write(noBytes);
  const end = () => exchange?.end(status, failure);
  finished(raw).then(end, end);
}

/** The headers of a response: its own, and those of every response. The content type that Fastify guessed goes. */
export const setHeaders: onSendHookHandler = ({ exchange }, reply, payload, done) => {
  const { headers, isForeign } = reply.response!;
  reply.removeHeader("content-type");
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!];
    // Those of other servers stay as they are spelt, but for the length, which Fastify compares with a whole body.
    if (isForeign && !(isWhole(payload) && name.toLowerCase() === "content-length"))
      reply.raw.appendHeader(name, value);
    else reply.header(name, value);
  }
  if (exchange) reply.header("x-svc-time", exchange.served.time());
  if (!isForeign) {
    reply.header(...noSniffHeader);
    if (isMarkup(reply.getHeader("content-type")) && !reply.hasHeader(sandboxHeader[0])) reply.header(...sandboxHeader);
  }
  done(null, payload);
};

/** Announces the whole, sends half of it and ends the connection. */
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
