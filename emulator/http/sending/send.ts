import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "../reply.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** Unauthenticated uploads and requests must never be taken for a page of the emulator. */
export const noSniffHeader = ["x-content-type-options", "nosniff"] as const;

/**
 * For a response that a browser could take for a page of ours: it is shown in an origin of its own, without scripts, so
 * that scripted faults and uploads cannot act as the signed-in user (DECISIONS.md, E13).
 */
export const sandboxHeader = ["content-security-policy", "sandbox"] as const;

/** Types that can hold scripts. */
const isMarkup = (type: string): boolean => /html|xml|svg/i.test(type);

/** Whether a browser would run its contents, as a page without any policy. */
function isForeignPage(headers: readonly string[]): boolean {
  let found = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (name === "content-security-policy") return false;
    if (name === "content-type") found ||= isMarkup(headers[i + 1]!);
  }
  return found;
}

const noBytes = Buffer.alloc(0);

/**
 * Writes a response. A whole body is at the socket at the end of this turn of the event loop; a streamed one when the
 * promise resolves. A stream that fails ends the connection, so that the caller sees that something is missing.
 * `truncated` announces the whole and sends half.
 */
export function send(
  response: ServerResponse,
  { status, headers, body, isForeign }: HttpResponse,
  time: string,
  truncated: boolean,
  departures: ResponseWriter,
): Promise<void> | undefined {
  if (response.destroyed) return abandon(body);
  if (departures.isLast) response.shouldKeepAlive = false;
  const head = [...headers, "x-svc-time", time];
  if (!isForeign && !has(headers, noSniffHeader[0])) head.push(...noSniffHeader);
  if (!isForeign && isForeignPage(headers)) head.push(...sandboxHeader);
  if (body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array)) {
    response.writeHead(status, head);
    return pump(response, body, truncated, departures);
  }
  const isBare = status === 204 || status === 304;
  if (!isBare && !has(headers, "content-length")) {
    head.push("content-length", String(body === undefined ? 0 : Buffer.byteLength(body)));
  }
  response.writeHead(status, head);
  if (truncated) {
    cutOff(response, body);
    departures.watchUnread(response);
  } else departures.end(response, isBare ? undefined : body);
  return undefined;
}

function has(headers: readonly string[], wanted: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === wanted.length && name.toLowerCase() === wanted) return true;
  }
  return false;
}

function cutOff(response: ServerResponse, body: string | Uint8Array | undefined): void {
  const bytes = Buffer.from(body ?? "");
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
}

async function pump(
  response: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  truncated: boolean,
  departures: ResponseWriter,
): Promise<void> {
  // Clients that wait for a listener of events learn at once that it is connected. Not by flushHeaders, which writes
  // the head as UTF-8: another server's header bytes must stay as they are.
  response.write(noBytes);
  try {
    for await (const chunk of body) {
      if (truncated) return cutOff(response, chunk);
      if (response.destroyed) return;
      if (!response.write(chunk)) await departures.waitForDrain(response);
    }
    response.end();
    departures.watchUnread(response);
  } catch {
    response.destroy();
  }
}

/** Notifies the source of a streamed body that its reader has gone. */
async function abandon(body: HttpResponse["body"]): Promise<void> {
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) return;
  await body[Symbol.asyncIterator]().return?.();
}

/** Whether pages of an origin may read the responses of a path; undefined: the path is not for pages of other origins. */
export type IsOriginAllowed = (path: string, origin: string) => Promise<boolean> | undefined;

/** Whether a browser asks if it may send a request (Fetch, CORS-preflight request). */
export const isPreflight = ({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

const preflightHeaders = [
  ...["access-control-allow-methods", "GET, POST"],
  ...["access-control-allow-headers", "authorization, content-type"],
  ...["access-control-max-age", "600"],
];

/** The response to a preflight request of an origin that is allowed. */
export const createPreflightResponse = (origin: string): HttpResponse =>
  withCors({ status: 204, headers: [], body: undefined }, origin, preflightHeaders);

/**
 * A response that pages of this origin may read, undefined: of none. The CORS headers of a cluster are replaced, since
 * browsers reject two. Cookies are never allowed.
 */
export function withCors(
  answer: HttpResponse,
  origin: string | undefined,
  more: readonly string[] = exposed,
): HttpResponse {
  const headers = answer.headers.filter((_, i, all) => !/^access-control-/i.test(all[i - (i % 2)]!));
  const allowed = origin === undefined ? [] : ["access-control-allow-origin", origin, ...more];
  return { ...answer, headers: [...headers, ...allowed, "vary", "origin"] };
}

/** Clients read why a token was rejected, and when to try again. */
const exposed = ["access-control-expose-headers", "retry-after, www-authenticate"];
