import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { createContinueSkippingConnector } from "../../../src/base/response-quirks.ts";
import { timedOut, withTimeout } from "../../../src/base/timing.ts";
import { maxConcurrent } from "../../clock/runner.ts";
import { BodyTooLargeError, concatBody } from "../bodies/decode.ts";
import { DeadlineList } from "./deadlines.ts";
import type { ForwardableRequest, Forwarder } from "./forward.ts";
import {
  describeResponseFailure,
  maxHeadBytes,
  PostExchange,
  type PostOutcome,
  ResponseTimeoutError,
} from "./post-exchange.ts";
import {
  type ForbiddenReason,
  findForbiddenAddressReason,
  findForbiddenUrlReason,
  type ReceiverRules,
} from "./receiver-rules.ts";

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type PostResult =
  | { readonly status: number; readonly body: Buffer }
  | { readonly error: { readonly code: string; readonly message: string } };

export interface WebhookSender {
  /** Returns the reason why nothing may be sent to a URL, or undefined if the URL is allowed. */
  findForbiddenReason(url: string): ForbiddenReason | undefined;
  /** Sends a POST once and follows no redirect. Rejects only with DeliveryAbortedError. */
  post(request: PostRequest): Promise<PostResult>;
  abort(): void;
  close(): Promise<void>;
}

export interface WebhookSenderOptions extends ReceiverRules {
  readonly wall: WallClock;
  readonly connectTimeoutMs: number;
  /** Maximum time of the whole exchange, from requesting a connection to the end of the response. */
  readonly responseTimeoutMs: number;
  /** Resolver of host names (default: the resolver of the system). */
  readonly lookup?: typeof lookup;
}

/** Thrown if the emulator was closed during the POST. The result is unknown. */
export class DeliveryAbortedError extends Error {
  override readonly name = "DeliveryAbortedError";
}

const maxCachedTargets = 10_000;

/** Sends webhooks over connections that stay open between attempts. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const agent = new Agent({
    // With this number of connections, no attempt waits for a connection.
    connections: maxConcurrent,
    pipelining: 1,
    // The deadlines limit the whole response, so undici's own timeouts are disabled.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: maxHeadBytes,
    connect: createContinueSkippingConnector(
      buildConnector({
        timeout: options.connectTimeoutMs,
        lookup: createCheckedLookup(options, options.lookup ?? lookup),
      }),
    ),
  });
  const deadlines = new DeadlineList<PostExchange>(options.wall, options.responseTimeoutMs, (exchange) =>
    exchange.timeOut(new ResponseTimeoutError()),
  );
  const targets = new Map<string, ReceiverTarget>();

  // The rules never change, so each URL is checked once.
  function resolveTarget(url: string): ReceiverTarget {
    const cached = targets.get(url);
    if (cached) return cached;
    const forbiddenReason = findForbiddenUrlReason(url, options);
    const target = forbiddenReason ? { forbiddenReason } : toTarget(new URL(url));
    if (targets.size >= maxCachedTargets) targets.clear();
    targets.set(url, target);
    return target;
  }

  return {
    findForbiddenReason: (url) => resolveTarget(url).forbiddenReason,
    post({ url, headers, body }) {
      const { forbiddenReason, origin, path } = resolveTarget(url);
      if (forbiddenReason) return Promise.resolve({ error: forbiddenReason });
      return new Promise((resolve, reject) => {
        const exchange = new PostExchange((outcome) => {
          remove();
          if ("status" in outcome) resolve(outcome);
          else if (outcome.cause instanceof DeliveryAbortedError) reject(outcome.cause);
          else resolve({ error: describeResponseFailure(outcome.cause, origin, options) });
        });
        const remove = deadlines.add(exchange);
        agent.dispatch({ origin, path, method: "POST", headers, body }, exchange);
      });
    },
    abort() {
      for (const exchange of deadlines.clear()) exchange.abort(new DeliveryAbortedError());
    },
    async close() {
      deadlines.stop();
      await agent.destroy();
    },
  };
}

/** The parts of an allowed URL, or the reason why it is forbidden. */
type ReceiverTarget =
  | { readonly forbiddenReason: ForbiddenReason; readonly origin?: never; readonly path?: never }
  | { readonly forbiddenReason?: never; readonly origin: string; readonly path: string };

const toTarget = ({ origin, pathname, search }: URL): ReceiverTarget => ({ origin, path: `${pathname}${search}` });

/**
 * Creates a lookup that resolves a name, checks all its addresses, and returns only these. The connection therefore
 * cannot use an address that was not checked. `findForbiddenUrlReason` checks literal addresses.
 */
function createCheckedLookup(rules: ReceiverRules, resolve: typeof lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      // The ports were checked with the URL, so only the host is relevant here.
      const url = new URL(`${rules.strict ? "https" : "http"}://${hostname}`);
      const allow = rules.allow.map((host) => host.replace(/:\d+$/, ""));
      for (const { address } of addresses) {
        const reason = findForbiddenAddressReason(address, url, { ...rules, allow });
        if (reason) return callback(Object.assign(new Error(reason.message), { code: reason.code }), "", 0);
      }
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

/** Result of a request whose whole response is read. */
export type SendRequestResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly rawHeaders: readonly string[];
      readonly body: Buffer;
    }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "late" };

interface SendRequestOptions {
  readonly forwarder: Forwarder;
  /** Maximum time from sending the request to the last byte of the response. */
  readonly timeoutMs: number;
  /** Maximum size of the response. A longer response is a failure. */
  readonly maxBytes?: number;
  /** Adds a listener for the disconnect of the client. */
  readonly onDisconnect?: ((listener: () => void) => void) | undefined;
}

/** Sends a request to another server and reads the whole response within this wall-clock time. Never rejects. */
export async function sendRequest(
  { forwarder, timeoutMs, maxBytes, onDisconnect }: SendRequestOptions,
  url: string,
  request: ForwardableRequest,
): Promise<SendRequestResult> {
  const sending = forwarder.send(url, request);
  onDisconnect?.(() => sending.abort());
  const result = await forwarder.withTimeout(timeoutMs, exchange());
  if (result !== timedOut) return result;
  sending.abort();
  return { kind: "late" };

  async function exchange(): Promise<SendRequestResult> {
    const outcome = await sending.result;
    if (outcome.kind === "unreachable") return outcome;
    const { status, rawHeaders, body } = outcome.response;
    try {
      return { kind: "answered", status, rawHeaders, body: await concatBody(body, maxBytes) };
    } catch (error) {
      const reason = error instanceof BodyTooLargeError ? "the response is too long" : "the response was incomplete";
      return { kind: "unreachable", reason };
    }
  }
}

/** Result of an export: a response of any status, or the reason for a missing response in one word. */
export type ExportResult = { readonly status: number; readonly body: Buffer } | { readonly reason: string };

/** Client of the collector that receives the emulator's spans. */
export interface SpanCollector {
  readonly origin: string;
  /** Sends one JSON document. Never rejects. */
  post(body: string): Promise<ExportResult>;
  /** Closes the connection. Pending requests get no response. */
  close(): Promise<void>;
}

interface CollectorOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum wall-clock time for the whole response. */
  readonly timeoutMs: number;
  readonly wall: WallClock;
}

/** Creates a collector with one connection, which the first POST opens. */
export function createSpanCollector({ url, headers, timeoutMs, wall }: CollectorOptions): SpanCollector {
  const { origin, pathname, search } = new URL(url);
  const agent = new Agent({
    connections: 1,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createContinueSkippingConnector(buildConnector({ timeout: timeoutMs })),
  });
  return {
    origin,
    async post(body) {
      let exchange: PostExchange | undefined;
      const outcome = new Promise<PostOutcome>((resolve) => {
        exchange = new PostExchange(resolve);
        const allHeaders = { ...headers, "content-type": "application/json" };
        agent.dispatch({ origin, path: `${pathname}${search}`, method: "POST", headers: allHeaders, body }, exchange);
      });
      const result = await withTimeout(wall, timeoutMs, outcome);
      if (result === timedOut) {
        exchange?.abort(new Error("the caller has stopped waiting"));
        return { reason: "the response timed out" };
      }
      return "status" in result ? result : { reason: getReason(result.cause) };
    },
    close: () => agent.destroy(),
  };
}

const getReason = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "the connection ended";
