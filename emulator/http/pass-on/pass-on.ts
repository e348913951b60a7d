import { Agent, type IncomingMessage, request as requestTo, type ServerResponse } from "node:http";
import type { Wall } from "../../../src/base/clock.ts";
import { notLeading, refuseMoved, refuseUncertain } from "./not-leading.ts";

/*
 * Of several processes that share a state one leads, and the others pass what comes to them on to it: whatever it is,
 * byte for byte, bodies and answers while they come. In a moment without a leader a request waits. It is sent again only
 * where it is certain that nothing was done: nothing listens there, or what does says that it does not lead.
 */

/** Says in a request that somebody has passed it on: it goes no further. */
const passed = "x-svc-passed";

/** How long a request waits for a leader, and how often it is looked. */
const patienceMs = 10_000;
const lookMs = 50;

/** So much of a body is kept, to be sent again; an answer that is not longer is handed on once all of it is there. */
const replayBytes = 1 << 20;

/** Shorter than a listener keeps idle connections open, so that none ends just when it is used. */
export const agent = new Agent({ keepAlive: true, timeout: 30_000 });

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
  /** `router`, or the id of the cluster whose listener it is. */
  readonly name: string;
  /** Where the same listener of the one that leads is; undefined: nobody leads now. */
  readonly leader: () => string | undefined;
}

/** Whether somebody has passed the request on. */
export const wasPassed = (request: IncomingMessage): boolean => request.headers[passed] !== undefined;

/** Passes a request on to the one that leads, and its answer back. */
export async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { wall, name, leader }: Options,
): Promise<void> {
  if (wasPassed(request)) return refuseMoved(request, response, name);
  const body = await beginningOf(request).catch(() => undefined);
  if (!body) return void response.destroy();
  const until = wall.monotonicNow() + patienceMs;
  while (!response.destroyed) {
    const target = leader();
    const outcome = target === undefined ? "again" : await attempt(target, request, response, body);
    if (outcome === "done") return;
    if (outcome === "uncertain") return refuseUncertain(request, response, name);
    if (outcome === "moved" || wall.monotonicNow() > until) break;
    await wall.sleep(lookMs);
  }
  if (!response.destroyed) refuseMoved(request, response, name);
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
  if (request.readableEnded) return { bytes: Buffer.alloc(0), isWhole: true };
  if (request.destroyed) throw new Error("cut off");
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

/** `again`: nothing was done. `moved`: nor here, and all of the body is gone. `uncertain`: something may have been done. */
type Outcome = "done" | "again" | "moved" | "uncertain";

/** Sends it once. */
function attempt(
  target: string,
  from: IncomingMessage,
  to: ServerResponse,
  { bytes, isWhole }: Body,
): Promise<Outcome> {
  const { hostname, port } = new URL(target);
  const isHarmless = from.method === "GET" || from.method === "HEAD" || from.method === "OPTIONS";
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
    const gone = () => sent.destroy();
    to.once("close", gone);
    const end = (outcome: Outcome) => {
      to.off("close", gone);
      resolve(outcome);
    };
    /** The connection ended before there was an answer, or all of it. */
    const broken = (isRefused: boolean) => {
      if (to.headersSent) to.destroy();
      if (to.headersSent) end("done");
      else if (!isRefused && !isHarmless) end("uncertain");
      else end(isWhole ? "again" : "moved");
    };
    sent.once("response", (answer) => {
      if (answer.headers[notLeading] !== undefined) {
        answer.resume();
        return end(isWhole ? "again" : "moved");
      }
      answer.once("error", () => broken(false));
      if (Number(answer.headers["content-length"]) <= replayBytes) handOnWhole(answer, to, () => end("done"));
      else handOn(answer, to, () => end("done"));
    });
    sent.once("error", (error: NodeJS.ErrnoException) => broken(error.code === "ECONNREFUSED"));
    if (bytes.length > 0) sent.write(bytes);
    if (isWhole) {
      sent.end();
      return;
    }
    from.removeAllListeners("close");
    from.once("close", () => {
      if (!from.complete) sent.destroy();
    });
    from.pipe(sent);
  });
}

/** As it comes: what ends in the middle ends so for the caller, too. */
function handOn(answer: IncomingMessage, to: ServerResponse, done: () => void): void {
  to.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
  to.flushHeaders();
  answer.once("close", () => {
    if (!answer.complete) to.destroy();
    done();
  });
  answer.pipe(to);
}

/** Once all of it is there: until then it may be asked for again. */
function handOnWhole(answer: IncomingMessage, to: ServerResponse, done: () => void): void {
  const pieces: Buffer[] = [];
  answer.on("data", (piece: Buffer) => pieces.push(piece));
  answer.once("end", () => {
    to.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    to.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    done();
  });
}

/** Names and values of headers, without those that concern one connection. */
function endToEnd(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (!hopByHop.has(raw[i]!.toLowerCase())) kept.push(raw[i]!, raw[i + 1]!);
  return kept;
}
