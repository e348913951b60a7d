import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request as requestTo, type ServerResponse } from "node:http";
import type { WallClock } from "../../src/base/clock.ts";
import { hasBody, type RequestBodyReader } from "./bodies/request-body-reader.ts";
import { changeHeader, keepEndToEndHeaders } from "./hop-by-hop.ts";
import { errorBody, type HttpResponse, jsonResponse } from "./reply.ts";
import { noSniffHeader } from "./respond.ts";
import type { ForwardedInfo } from "./trusted-proxies.ts";

/*
 * A standby forwards everything to the leader: byte for byte, bodies and responses as they come. In a moment without a
 * leader a request waits. It is sent again only if it cannot have had an effect: nothing listens there, the process
 * there answers that it does not lead, or the request only reads.
 */

/** How long a request waits for a leader, and how often it is looked. */
const patienceMs = 10_000;
const lookMs = 50;

/**
 * This much of a body is stored, to be sent again; a response that is not longer is passed back once all of it is
 * there.
 */
const replayBytes = 1 << 20;

/** Shorter than a listener keeps idle connections open, so that none ends just when it is used. */
const agent = new Agent({ keepAlive: true, timeout: 30_000 });

/** Address of a listener of the leader. */
export interface LeaderListener {
  readonly url: string;
  /** A secret of the leader's term, which readers of its database know. */
  readonly key: string;
}

interface Options {
  readonly wall: WallClock;
  /** `router`, or the id of the cluster whose listener it is. */
  readonly name: string;
  readonly bodies: RequestBodyReader;
  /** Whether connections end with their responses. */
  readonly isClosing: () => boolean;
  /** A trusted proxy's headers about the request. */
  readonly proxyInfo: ForwardedInfo | undefined;
  /** The leader's listener of that name; undefined: there is no leader. */
  readonly leader: () => LeaderListener | undefined;
}

/** Forwards a request to the leader, and its response back. */
export async function forwardToLeader(
  request: IncomingMessage,
  response: ServerResponse,
  options: Options,
): Promise<void> {
  const { wall, name, bodies, leader } = options;
  const body = new Body(hasBody(request) ? bodies.pieces(request) : undefined);
  // Ends what reads the body, which ends the connection: not before the response is sent.
  response.once("close", () => body.discard());
  try {
    await body.begin();
  } catch {
    return void response.destroy();
  }
  const until = wall.monotonicNow() + patienceMs;
  while (!response.destroyed) {
    const target = leader();
    const outcome = target === undefined ? "again" : await attempt(target, request, response, body, options);
    if (outcome === "done") return;
    if (outcome === "uncertain") return send(response, outcomeUnknownResponse(name, request.url!));
    if ((target !== undefined && !body.isWhole) || wall.monotonicNow() > until) break;
    await wall.sleep(lookMs);
  }
  send(response, notLeadingResponse(name, request.url!));
}

/** A body whose start is stored, so that it can be sent again; the rest is read once, as it comes. */
class Body {
  readonly #pieces: AsyncGenerator<Uint8Array, void> | undefined;
  readonly #start: Uint8Array[] = [];
  isWhole = false;

  constructor(pieces: AsyncGenerator<Uint8Array, void> | undefined) {
    this.#pieces = pieces;
  }

  async begin(): Promise<void> {
    for (let length = 0; length < replayBytes; ) {
      const next = await this.#pieces?.next();
      if (!next || next.done) {
        this.isWhole = true;
        return;
      }
      this.#start.push(next.value);
      length += next.value.byteLength;
    }
  }

  async sendTo(sent: ClientRequest): Promise<void> {
    for (const piece of this.#start) sent.write(piece);
    while (!this.isWhole && !sent.destroyed) {
      const next = await this.#pieces!.next();
      if (next.done) break;
      if (!sent.write(next.value)) await Promise.race([once(sent, "drain"), once(sent, "close")]);
    }
    sent.end();
  }

  discard(): void {
    void this.#pieces?.return().catch(() => {});
  }
}

/** `again`: nothing was done. `uncertain`: something may have been done. */
type Outcome = "done" | "again" | "uncertain";

/** Sends it once. */
function attempt(
  { url, key }: LeaderListener,
  from: IncomingMessage,
  to: ServerResponse,
  body: Body,
  { proxyInfo, isClosing }: Options,
): Promise<Outcome> {
  const { hostname, port } = new URL(url);
  const isHarmless = from.method === "GET" || from.method === "HEAD" || from.method === "OPTIONS";
  const framing = (["transfer-encoding", "content-length"] as const).find((name) => from.headers[name] !== undefined);
  const forwarded = formatForwardedHeader({ key, proxyInfo, remoteAddress: from.socket.remoteAddress ?? "" });
  return new Promise((resolve) => {
    const sent = requestTo({
      agent,
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      port,
      method: from.method,
      path: from.url,
      headers: [
        ...keepEndToEndHeaders(from.rawHeaders, isNotForwarded),
        ...(framing ? [framing, framing === "content-length" ? from.headers[framing]! : "chunked"] : []),
        ...[forwardedHeader, forwarded],
      ],
      setHost: false,
    });
    const gone = () => sent.destroy();
    to.once("close", gone);
    const end = (outcome: Outcome) => {
      to.off("close", gone);
      resolve(outcome);
    };
    let hasResponse = false;
    /** The connection ended before there was a response, or all of it. */
    const broken = (isRefused: boolean) => {
      if (to.headersSent || to.destroyed) {
        to.destroy();
        end("done");
      } else end(isRefused || isHarmless ? "again" : "uncertain");
    };
    sent.once("response", (response) => {
      hasResponse = true;
      if (response.headers[notLeadingHeader] === key) {
        response.resume();
        return end("again");
      }
      if (isClosing()) to.shouldKeepAlive = false;
      response.once("error", () => {});
      response.once("close", () => {
        if (!response.complete) broken(false);
      });
      if (Number(response.headers["content-length"]) <= replayBytes) passWhole(response, to);
      else pass(response, to);
      response.once("end", () => end("done"));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (!hasResponse) broken(error.code === "ECONNREFUSED");
    });
    body.sendTo(sent).catch(gone);
  });
}

/** A response that ends in the middle ends in the middle for the caller, too. */
function pass(response: IncomingMessage, to: ServerResponse): void {
  writeHead(response, to);
  to.flushHeaders();
  response.pipe(to);
}

/** Once all of it is there: until then it may be asked for again. */
function passWhole(response: IncomingMessage, to: ServerResponse): void {
  const pieces: Buffer[] = [];
  response.on("data", (piece: Buffer) => pieces.push(piece));
  response.once("end", () => {
    if (to.destroyed) return;
    writeHead(response, to);
    to.end(Buffer.concat(pieces));
  });
}

function writeHead(response: IncomingMessage, to: ServerResponse): void {
  const length = response.headers["content-length"];
  const headers = keepEndToEndHeaders(response.rawHeaders, isNotForwarded);
  if (length !== undefined) headers.push("content-length", length);
  to.writeHead(response.statusCode ?? 502, response.statusMessage, headers);
}

/*
 * Headers between processes that share a store. A client's own are taken off on the way in, and a back end's on the way
 * out, so nothing from outside can be mistaken for them.
 */

/** On a request that a standby forwards: the key of the leader's term, and what the standby knows of the caller. */
const forwardedHeader = "x-svc-forwarded";
/** On a response by a process that does not lead and has done nothing: the key that the request brought. */
const notLeadingHeader = "x-svc-not-leading";

/** A request that another process of the store forwarded. */
export interface ForwardedRequest {
  /** The term to which it was sent. */
  readonly key: string;
  readonly remoteAddress: string;
  /** A trusted proxy's headers to the process that received the request. */
  readonly proxyInfo: ForwardedInfo | undefined;
}

const form = /^([\w-]{43})\.([\w-]+)$/;

const formatForwardedHeader = ({ key, remoteAddress, proxyInfo }: ForwardedRequest): string =>
  `${key}.${Buffer.from(JSON.stringify([remoteAddress, proxyInfo ?? null])).toString("base64url")}`;

/** Takes the internal headers off a request; undefined: a client sent it. */
export function extractForwarded(request: IncomingMessage): ForwardedRequest | undefined {
  const { [forwardedHeader]: value, [notLeadingHeader]: mark } = request.headers;
  if (value === undefined && mark === undefined) return undefined;
  for (const name of [forwardedHeader, notLeadingHeader]) changeHeader(request, name);
  const [, key, about] = form.exec(String(value)) ?? [];
  if (key === undefined || about === undefined) return undefined;
  try {
    const [remoteAddress, proxyInfo] = JSON.parse(Buffer.from(about, "base64url").toString()) as [
      string,
      ForwardedInfo | null,
    ];
    return { key, remoteAddress, proxyInfo: proxyInfo ?? undefined };
  } catch {
    return undefined;
  }
}

/** The response when nothing was done, since another process leads, or will in a moment. `name`: of the listener. */
export function notLeadingResponse(name: string, target: string, forwarded?: ForwardedRequest): HttpResponse {
  const message = "Another process leads this state, or is about to. Nothing was changed. Retry the request.";
  const headers = [notLeadingHeader, forwarded?.key ?? "1", "retry-after", "1"];
  return unavailable(name, target, "not_leading", message, headers);
}

/** The response when the leader ended before it had answered. Sent again, the request might be done twice. */
function outcomeUnknownResponse(name: string, target: string): HttpResponse {
  const message = "The leader of this state ended before it responded. The outcome is unknown. Check before you retry.";
  return unavailable(name, target, "uncertain", message);
}

/** As the listener words its failures: both services have them in one form, the control plane in its own. */
function unavailable(name: string, target: string, code: string, message: string, headers: readonly string[] = []) {
  const isControl = name === "router" && target.startsWith("/_emulator/");
  return jsonResponse(503, errorBody(isControl, code, message), headers);
}

function send(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  if (response.destroyed) return;
  const length = String(Buffer.byteLength(body as string));
  response.writeHead(status, [...noSniffHeader, ...headers, "content-length", length]).end(body);
}

/** `expect` is answered by this process; a length is counted or repeated. */
const notForwarded = new Set(["expect", "content-length", forwardedHeader, notLeadingHeader]);
const isNotForwarded = (name: string): boolean => notForwarded.has(name);
