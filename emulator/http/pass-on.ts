import { Agent, type IncomingMessage, request as requestTo, type ServerResponse } from "node:http";
import type { Wall } from "../../src/base/clock.ts";
import { noSniffing } from "./sending/send.ts";

/*
 * Of several processes that share a state one leads, and the others pass what comes to them on to it: whatever it is,
 * byte for byte, bodies and answers while they come. In a moment without a leader a request waits. It is sent again only
 * where it is certain that nothing was done: nothing listens there, or what does says that it does not lead.
 */

/** Says in an answer that the one who gives it does not lead, and has done nothing. */
export const notLeading = "x-svc-not-leading";
/** Says in a request that somebody has passed it on: it goes no further. */
const passed = "x-svc-passed";

/** How long a request waits for a leader, and how often it is looked. */
const patienceMs = 10_000;
const lookMs = 50;

/** So much of a body is kept, to be sent again. */
const replayBytes = 1 << 20;

/** Shorter than a listener keeps idle connections open, so that none ends just when it is used. */
const agent = new Agent({ keepAlive: true, timeout: 30_000 });

const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "expect",
  passed,
  notLeading,
]);

interface Options {
  readonly wall: Wall;
  /** Where the same listener of the one that leads is; undefined: nobody leads now. */
  readonly leader: () => string | undefined;
}

/** Whether somebody has passed the request on. */
export const wasPassed = (request: IncomingMessage): boolean => request.headers[passed] !== undefined;

/** Answers that nothing was done, since another process leads, or will in a moment. */
export function refuseMoved(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(503, [...noSniffing, notLeading, "1", "retry-after", "1", "content-length", "0"]).end();
}

/** Passes a request on to the one that leads, and its answer back. */
export async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { wall, leader }: Options,
): Promise<void> {
  if (wasPassed(request)) return refuseMoved(request, response);
  const body = await beginningOf(request).catch(() => undefined);
  if (!body) return void response.destroy();
  const until = wall.now() + patienceMs;
  while (!response.destroyed) {
    const target = leader();
    const outcome = target === undefined ? "again" : await attempt(target, request, response, body);
    if (outcome === "done") return;
    if (outcome === "unknown" || wall.now() > until) break;
    await wall.sleep(lookMs);
  }
  if (!response.destroyed) refuseMoved(request, response);
}

interface Body {
  readonly bytes: Buffer;
  /** Whether that is all of it. */
  readonly isWhole: boolean;
}

/** Reads a body, or as much of it as is kept. */
async function beginningOf(request: IncomingMessage): Promise<Body> {
  const pieces: Buffer[] = [];
  let length = 0;
  const isWhole = await new Promise<boolean>((resolve, reject) => {
    request.on("data", (piece: Buffer) => {
      pieces.push(piece);
      length += piece.length;
      if (length < replayBytes) return;
      request.pause();
      request.removeAllListeners("data");
      resolve(false);
    });
    request.once("end", () => resolve(true));
    request.once("error", reject);
    request.once("close", () => reject(new Error("cut off")));
  });
  return { bytes: Buffer.concat(pieces), isWhole };
}

type Outcome = "done" | "again" | "unknown";

/** Sends it once. `again`: nothing was done. `unknown`: something may have been. */
function attempt(
  target: string,
  from: IncomingMessage,
  to: ServerResponse,
  { bytes, isWhole }: Body,
): Promise<Outcome> {
  const { hostname, port } = new URL(target);
  return new Promise((resolve) => {
    const sent = requestTo({
      agent,
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      port,
      method: from.method,
      path: from.url,
      headers: [...endToEnd(from.rawHeaders), passed, "1"],
      setHost: false,
    });
    let isRead = false;
    const gone = () => sent.destroy();
    to.once("close", gone);
    const end = (outcome: Outcome) => {
      to.off("close", gone);
      resolve(outcome);
    };
    sent.once("response", (answer) => {
      if (answer.headers[notLeading] !== undefined) {
        answer.resume();
        return end(isRead ? "unknown" : "again");
      }
      to.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
      to.flushHeaders();
      answer.once("error", () => to.destroy());
      answer.once("close", () => {
        if (!answer.complete) to.destroy();
        end("done");
      });
      answer.pipe(to);
    });
    sent.once("error", (error: NodeJS.ErrnoException) => {
      const isRefused = error.code === "ECONNREFUSED";
      const isHarmless = from.method === "GET" || from.method === "HEAD" || from.method === "OPTIONS";
      if (to.headersSent) to.destroy();
      end(to.headersSent ? "done" : (isRefused || isHarmless) && !isRead ? "again" : "unknown");
    });
    if (bytes.length > 0) sent.write(bytes);
    if (isWhole) {
      sent.end();
      return;
    }
    isRead = true;
    from.removeAllListeners("close");
    from.once("close", () => {
      if (!from.complete) sent.destroy();
    });
    from.pipe(sent);
  });
}

/** Names and values of headers, without those that concern one connection. */
function endToEnd(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (!hopByHop.has(raw[i]!.toLowerCase())) kept.push(raw[i]!, raw[i + 1]!);
  return kept;
}
