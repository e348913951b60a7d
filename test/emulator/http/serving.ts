import net from "node:net";
import type { TestContext } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import type { ListenerPart } from "../../../emulator/http/handler.ts";
import {
  createListener,
  type Listener,
  type ListenerOptions,
  type ServedParts,
} from "../../../emulator/http/listener.ts";
import { RequestLog } from "../../../emulator/http/request-log/request-log.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import type { EmulatorBugError } from "../../../src/base/errors.ts";
import { createRandomIds } from "../../../src/base/ids.ts";

/** Virtual time of all these tests: 2031-01-02T03:04:05.678Z. */
export const now = Date.UTC(2031, 0, 2, 3, 4, 5, 678);

/** A context for handlers without state. */
export const stateless = {
  store: {} as never,
  clock: { now: () => now },
  wall: systemWallClock,
  ids: createRandomIds(),
};

/** One complete response. `headers` lacks those that Node and the connection add. */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TestServer {
  readonly origin: string;
  readonly log: RequestLog;
  readonly bugs: readonly EmulatorBugError[];
  readonly listener: Listener;
  /** Sends raw bytes over a new socket and returns the response of the server. */
  send(method: string, target: string, sent?: Sent): Promise<ReceivedResponse>;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A listener on a free port, for one test. */
export async function startTestServer(
  t: Pick<TestContext, "after">,
  parts: readonly [ListenerPart, ...ListenerPart[]],
  options: Partial<Omit<ListenerOptions, "log"> & Omit<ServedParts, "parts">> = {},
): Promise<TestServer> {
  const log = new RequestLog(defaultSettings.requestLogBytes);
  const bugs: EmulatorBugError[] = [];
  const { faultFor, fallback, clock = stateless.clock, ...bound } = options;
  const listener = createListener({
    name: "router",
    wall: systemWallClock,
    settings: defaultSettings,
    log,
    report: (bug) => bugs.push(bug),
    ...bound,
  });
  listener.open({ parts, clock, faultFor, fallback });
  const origin = await listener.listen(0);
  t.after(() => listener.close());
  return { origin, log, bugs, listener, send: (method, target, sent) => send(origin, method, target, sent) };
}

async function send(origin: string, method: string, target: string, { headers = {}, body }: Sent = {}) {
  const { host } = new URL(origin);
  const bytes = Buffer.from(body ?? "");
  const all: Record<string, string> = { host, connection: "close", ...headers };
  if (body !== undefined) all["content-length"] ??= String(bytes.length);
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return parseResponse(await exchangeBytes(origin, [`${method} ${target} HTTP/1.1\r\n${head.join("")}\r\n`, bytes]));
}

/** Writes raw bytes to a new connection and collects the response until the other side closes it. */
export function exchangeBytes(origin: string, chunks: readonly (string | Buffer)[]): Promise<Buffer> {
  const { port, hostname } = new URL(origin);
  return new Promise((resolve, reject) => {
    const receivedChunks: Buffer[] = [];
    const socket = net.connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.on("data", (chunk) => receivedChunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(receivedChunks)));
  });
}

const added = new Set([
  ...["connection", "date", "content-length", "keep-alive", "transfer-encoding"],
  // On every response; answers.test.ts and nosniff.test.ts check them.
  ...["x-svc-time", "x-content-type-options"],
]);

/** Parses a raw HTTP/1.1 response. */
export function parseResponse(bytes: Buffer): ReceivedResponse {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.toString("utf8", 0, end).split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (!added.has(name)) headers[name] = line.slice(colon + 1).trim();
  }
  return { status: Number(first.split(" ")[1]), headers, body: bytes.toString("utf8", end + 4) };
}

/** A promise and its resolver, because Node 20 lacks Promise.withResolvers. */
export function createDeferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = () => {};
  const promise = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve: () => resolve() };
}
