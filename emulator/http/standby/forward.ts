import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request as requestTo, type ServerResponse } from "node:http";
import type { Wall } from "../../../src/base/clock.ts";
import type { Arrivals } from "../arrival.ts";
import { hasBody } from "../collect.ts";
import { endToEnd } from "../hop-by-hop.ts";
import type { Told } from "../proxies.ts";
import type { Departures } from "../sending/departure.ts";
import { forwardedHeader, forwardedValue, notLeadingHeader, refuseNotLeading, refuseUncertain } from "./not-leading.ts";

/*
 * A standby forwards everything to the leader: byte for byte, bodies and responses as they come. In a moment without a
 * leader a request waits. It is sent again only where nothing can have been done: nothing listens there, what listens
 * there says that it does not lead, or the request only reads.
 */

/** How long a request waits for a leader, and how often it is looked. */
const patienceMs = 10_000;
const lookMs = 50;

/** So much of a body is kept, to be sent again; a response that is not longer is passed back once all of it is there. */
const replayBytes = 1 << 20;

/** Shorter than a listener keeps idle connections open, so that none ends just when it is used. */
const agent = new Agent({ keepAlive: true, timeout: 30_000 });

/** Where a listener of the leader is. */
export interface LeaderListener {
  readonly url: string;
  /** A secret of the leader's term, which whoever reads its database knows. */
  readonly key: string;
}

interface Options {
  readonly wall: Wall;
  /** `router`, or the id of the cluster whose listener it is. */
  readonly name: string;
  readonly arrivals: Arrivals;
  readonly departures: Departures;
  /** What a trusted proxy said of the request. */
  readonly told: Told | undefined;
  /** The leader's listener of that name; undefined: nobody leads now. */
  readonly leader: () => LeaderListener | undefined;
}

/** Forwards a request to the leader, and its response back. */
export async function forwardToLeader(
  request: IncomingMessage,
  response: ServerResponse,
  options: Options,
): Promise<void> {
  const { wall, name, arrivals, leader } = options;
  const body = new Body(hasBody(request) ? arrivals.pieces(request) : undefined);
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
    if (outcome === "uncertain") return refuseUncertain(request, response, name);
    if ((target !== undefined && !body.isWhole) || wall.monotonicNow() > until) break;
    await wall.sleep(lookMs);
  }
  refuseNotLeading(request, response, name);
}

/** A body whose start is kept, so that it can be sent again; the rest is read once, as it comes. */
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
  { told, departures }: Options,
): Promise<Outcome> {
  const { hostname, port } = new URL(url);
  const isHarmless = from.method === "GET" || from.method === "HEAD" || from.method === "OPTIONS";
  const framing = (["transfer-encoding", "content-length"] as const).find((name) => from.headers[name] !== undefined);
  const forwarded = forwardedValue({ key, told, remoteAddress: from.socket.remoteAddress ?? "" });
  return new Promise((resolve) => {
    const sent = requestTo({
      agent,
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      port,
      method: from.method,
      path: from.url,
      headers: [
        ...endToEnd(from.rawHeaders, isNotForwarded),
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
      if (departures.isLast) to.shouldKeepAlive = false;
      response.once("error", () => {});
      response.once("close", () => {
        if (!response.complete) broken(false);
      });
      if (Number(response.headers["content-length"]) <= replayBytes) passWhole(response, to, departures);
      else pass(response, to);
      response.once("end", () => end("done"));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (!hasResponse) broken(error.code === "ECONNREFUSED");
    });
    body.sendTo(sent).catch(gone);
  });
}

/** As it comes: what ends in the middle ends so for the caller, too. */
function pass(response: IncomingMessage, to: ServerResponse): void {
  writeHead(response, to);
  to.flushHeaders();
  response.pipe(to);
}

/** Once all of it is there: until then it may be asked for again. */
function passWhole(response: IncomingMessage, to: ServerResponse, departures: Departures): void {
  const pieces: Buffer[] = [];
  response.on("data", (piece: Buffer) => pieces.push(piece));
  response.once("end", () => {
    if (to.destroyed) return;
    writeHead(response, to);
    departures.end(to, Buffer.concat(pieces));
  });
}

function writeHead(response: IncomingMessage, to: ServerResponse): void {
  const length = response.headers["content-length"];
  const headers = endToEnd(response.rawHeaders, isNotForwarded);
  if (length !== undefined) headers.push("content-length", length);
  to.writeHead(response.statusCode ?? 502, response.statusMessage, headers);
}

/** `expect` is answered by this process; a length is counted again, or said once more. */
const notForwarded = new Set(["expect", "content-length", forwardedHeader, notLeadingHeader]);
const isNotForwarded = (name: string): boolean => notForwarded.has(name);
