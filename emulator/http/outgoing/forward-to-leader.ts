import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Agent } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { tryParseJson } from "../../../src/base/object.ts";
import { concatBody } from "../bodies/decode.ts";
import { hasBody, type RequestBodyReader } from "../bodies/request-body-reader.ts";
import { filterEndToEndHeaders, setRequestHeader } from "../hop-by-hop.ts";
import { createErrorResponse, type HttpResponse, retryAfterHeader } from "../reply.ts";
import { noSniffHeader } from "../respond.ts";
import type { ForwardedInfo } from "../trusted-proxies.ts";
import { startForward } from "./dispatch.ts";

/*
 * A standby forwards everything to the leader, byte for byte, and streams bodies and responses. Without a leader, a
 * request waits. It is repeated only if it cannot have had an effect: the leader cannot be reached, the process
 * responds that it does not lead, or the request only reads.
 */

/** Maximum time that a request waits for a leader, and the interval of the checks. */
const maxLeaderWaitMs = 10_000;
const leaderCheckIntervalMs = 50;

/** Maximum size of a body that can be retried, and of a response that is forwarded as a whole. */
const maxReplayBytes = 1 << 20;

/** The timeout is shorter than the idle timeout of a listener, so that a connection does not end while it is in use. */
const agent = new Agent({ keepAliveTimeout: 30_000, headersTimeout: 0, bodyTimeout: 0 });

export interface LeaderListener {
  readonly url: string;
  /** Secret of the leader's term, which other processes of the same database can read. */
  readonly key: string;
}

interface ForwardOptions {
  readonly wall: WallClock;
  /** `router`, or the id of the listener's cluster. */
  readonly name: string;
  readonly bodies: RequestBodyReader;
  /** Returns whether each connection closes after its response. */
  readonly isClosing: () => boolean;
  /** Headers of a trusted proxy about the request. */
  readonly proxyInfo: ForwardedInfo | undefined;
  /** Returns the leader's listener of the same name, or undefined if there is no leader. */
  readonly findLeader: () => LeaderListener | undefined;
}

export async function forwardToLeader(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): Promise<void> {
  const { wall, name, bodies, findLeader } = options;
  const body = new ReplayableBody(hasBody(request) ? bodies.readPieces(request) : undefined);
  response.once("close", () => body.discard());
  try {
    await body.begin();
  } catch {
    return void response.destroy();
  }
  const deadline = wall.monotonicNow() + maxLeaderWaitMs;
  while (!response.destroyed) {
    const target = findLeader();
    const outcome = target === undefined ? "again" : await sendOnce(target, request, response, body, options);
    if (outcome === "done") return;
    if (outcome === "uncertain") return sendResponse(response, createOutcomeUnknownResponse(name, request.url!));
    if ((target !== undefined && !body.isComplete) || wall.monotonicNow() > deadline) break;
    await wall.sleep(leaderCheckIntervalMs);
  }
  sendResponse(response, createNotLeadingResponse(name, request.url!));
}

/** A body whose start is stored for a retry. The remaining part is streamed once. */
class ReplayableBody {
  readonly #pieces: AsyncGenerator<Uint8Array, void> | undefined;
  readonly #storedChunks: Uint8Array[] = [];
  isComplete = false;

  constructor(pieces: AsyncGenerator<Uint8Array, void> | undefined) {
    this.#pieces = pieces;
  }

  async begin(): Promise<void> {
    for (let length = 0; length < maxReplayBytes; ) {
      const next = await this.#pieces?.next();
      if (!next || next.done) {
        this.isComplete = true;
        return;
      }
      this.#storedChunks.push(next.value);
      length += next.value.byteLength;
    }
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    yield* this.#storedChunks;
    while (!this.isComplete) {
      // A loop over the pieces would discard them if the leader responds before it has read the body.
      const next = await this.#pieces!.next();
      if (next.done) return;
      yield next.value;
    }
  }

  discard(): void {
    void this.#pieces?.return().catch(() => {});
  }
}

/** `again`: the leader did nothing. `uncertain`: the leader may have applied the request. */
type ForwardOutcome = "done" | "again" | "uncertain";

async function sendOnce(
  { url, key }: LeaderListener,
  request: IncomingMessage,
  response: ServerResponse,
  body: ReplayableBody,
  { proxyInfo, isClosing, wall, findLeader }: ForwardOptions,
): Promise<ForwardOutcome> {
  const { method = "", headers, rawHeaders, socket } = request;
  const isSafe = method === "GET" || method === "HEAD" || method === "OPTIONS";
  const hasPath = request.url![0] === "/";
  const target = hasPath ? undefined : request.url;
  const forwardedValue = formatForwardedHeader({ key, proxyInfo, target, remoteAddress: socket.remoteAddress ?? "" });
  const sending = startForward(agent, {
    origin: url,
    path: hasPath ? request.url! : "/",
    method,
    headers: [...filterHeaders(rawHeaders, headers["content-length"]), forwardedHeader, forwardedValue],
    body: hasBody(request) ? Readable.from(body.read()) : null,
  });
  const abort = () => sending.abort();
  response.once("close", abort);
  const ended = new AbortController();
  void abortWhenReplaced();
  try {
    const result = await sending.result;
    ended.abort();
    if (result.kind === "unreachable") {
      if (response.destroyed) return "done";
      return result.isSent && !isSafe ? "uncertain" : "again";
    }
    const { status, rawHeaders: receivedHeaders, body: pieces } = result.response;
    const length = result.response.findHeader("content-length");
    // A short response is sent when it is complete, because the request can be retried until then.
    const completeBody = Number(length) <= maxReplayBytes ? await concatBody(pieces) : undefined;
    if (result.response.findHeader(notLeadingHeader) === key) return "again";
    if (isClosing()) response.shouldKeepAlive = false;
    response.writeHead(status, filterHeaders(receivedHeaders, length));
    if (completeBody) response.end(completeBody);
    else {
      response.flushHeaders();
      await pipeline(pieces instanceof Uint8Array ? [pieces] : pieces, response);
    }
    return "done";
  } catch {
    // The connection ended before the response was complete. A truncated response is also truncated for the client.
    if (!response.headersSent && !response.destroyed) return isSafe ? "again" : "uncertain";
    response.destroy();
    return "done";
  } finally {
    response.off("close", abort);
  }

  /** A leader whose machine or network has stopped never closes the connection. */
  async function abortWhenReplaced(): Promise<void> {
    const isReplaced = () => (findLeader()?.key ?? key) !== key;
    while (!ended.signal.aborted && !isReplaced()) await wall.sleep(leaderCheckIntervalMs, ended.signal);
    if (!ended.signal.aborted) abort();
  }
}

/** Returns the headers for the next server, with the length that was announced. */
const filterHeaders = (rawHeaders: readonly string[], length: string | undefined): string[] => [
  ...filterEndToEndHeaders(rawHeaders, isNotForwarded),
  ...(length === undefined ? [] : ["content-length", length]),
];

/*
 * Headers between processes that share a store. They are removed from requests of clients and from responses of back
 * ends, so that outside headers cannot be mistaken for them.
 */

/** Header of a forwarded request: the key of the leader's term, and facts about the client. */
const forwardedHeader = "x-svc-forwarded";
/** Header of the response of a process that does not lead and did nothing: the key of the request. */
const notLeadingHeader = "x-svc-not-leading";

/** A request that another process of the store forwarded. */
export interface ForwardedRequest {
  /** Key of the term to which the request was sent. */
  readonly key: string;
  readonly remoteAddress: string;
  /** Headers of a trusted proxy to the process that received the request. */
  readonly proxyInfo: ForwardedInfo | undefined;
  /** A target without a path, such as `*`, which the HTTP client does not send. */
  readonly target: string | undefined;
}

const forwardedHeaderPattern = /^([\w-]{43})\.([\w-]+)$/;

const formatForwardedHeader = ({ key, remoteAddress, proxyInfo, target }: ForwardedRequest): string =>
  `${key}.${Buffer.from(JSON.stringify([remoteAddress, proxyInfo ?? null, target])).toString("base64url")}`;

/** Removes the internal headers from a request and parses them. Returns undefined if a client sent the request. */
export function extractForwarded(request: IncomingMessage): ForwardedRequest | undefined {
  const { [forwardedHeader]: value, [notLeadingHeader]: notLeadingKey } = request.headers;
  if (value === undefined && notLeadingKey === undefined) return undefined;
  for (const name of [forwardedHeader, notLeadingHeader]) setRequestHeader(request, name);
  const [, key, clientInfo] = forwardedHeaderPattern.exec(String(value)) ?? [];
  const details = tryParseJson(Buffer.from(clientInfo ?? "", "base64url").toString());
  if (key === undefined || !Array.isArray(details)) return undefined;
  const [remoteAddress, proxyInfo, target] = details as [string, ForwardedInfo | null, (string | null)?];
  return { key, remoteAddress, proxyInfo: proxyInfo ?? undefined, target: target ?? undefined };
}

/** Nothing was done, because another process is or will become the leader. `name` is the listener. */
export const createNotLeadingResponse = (name: string, target: string, forwarded?: ForwardedRequest): HttpResponse =>
  createErrorResponse(isForControl(name, target), {
    status: 503,
    code: "not_leading",
    message: "Another process leads this state, or is about to. Nothing was changed. Retry the request.",
    headers: [notLeadingHeader, forwarded?.key ?? "1", ...retryAfterHeader],
  });

/** Creates the response if the leader stopped before it responded. A retry could apply the request twice. */
const createOutcomeUnknownResponse = (name: string, target: string): HttpResponse =>
  createErrorResponse(isForControl(name, target), {
    status: 503,
    code: "uncertain",
    message: "The leader of this state ended before it responded. The outcome is unknown. Check before you retry.",
  });

const isForControl = (name: string, target: string): boolean => name === "router" && target.startsWith("/_emulator/");

function sendResponse(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  if (response.destroyed) return;
  const length = String(Buffer.byteLength(body as string));
  response.writeHead(status, [...noSniffHeader, ...headers, "content-length", length]).end(body);
}

/** These headers are not copied: this process handles `expect`, and it adds the length again if it is known. */
const notForwarded = new Set(["expect", "content-length", forwardedHeader, notLeadingHeader]);
const isNotForwarded = (name: string): boolean => notForwarded.has(name);
