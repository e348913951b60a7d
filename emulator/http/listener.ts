import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withTimeout } from "../../src/base/timing.ts";
import { emulatorOptions } from "../../src/derive/emulator-options.ts";
import type { EmulatorOptions } from "../published.d.ts";
import { createCauseRowFactory } from "../store/causes.ts";
import { type AppOptions, createApp } from "./app.ts";
import { type BoundOperation, bindPart } from "./bind.ts";
import { type BodyReadTimeouts, defaultBodyReadTimeouts, RequestBodyReader } from "./bodies/request-body-reader.ts";
import type { ServedRoutes } from "./exchange.ts";
import type { ListenerPart } from "./handler.ts";
import {
  createNotLeadingResponse,
  extractForwarded,
  type ForwardedRequest,
  forwardToLeader,
  type LeaderListener,
} from "./outgoing/forward-to-leader.ts";
import { sendResponse } from "./respond.ts";
import { OperationTable } from "./routing/operation-table.ts";
import { createForwardedReader } from "./trusted-proxies.ts";

/** Default maximum time for pending requests when the listener closes. */
const defaultCloseGraceMs = 1_000;

/** Default time after which a request is rejected if this process is not confirmed as the leader. */
const defaultAssuranceMs = 5_000;
const localPaths = /^\/_emulator\/(?:ready|live|metrics|stop)$/;

/** Interval at which a handover checks for pending requests. */
const handoverCheckIntervalMs = 5;

interface HttpSettings extends Pick<EmulatorOptions, "unreadResponseTimeoutMs"> {
  /** Names of the relaxed checks that are turned off (`--strict`). */
  readonly strict: ReadonlySet<string>;
  /** True if both spellings of a path are served, instead of a redirect. */
  readonly lenientSlashes: boolean;
}

export interface ListenerOptions
  extends Pick<AppOptions, "name" | "wall" | "log" | "links" | "publicUrl" | "observe" | "allowedHosts">,
    Partial<Pick<AppOptions, "createCauseRow" | "report">> {
  /** Signal that ends the wait for pending requests on close. */
  readonly closeSignal?: AbortSignal | undefined;
  /** Maximum wall-clock time for pending requests on close. */
  readonly graceMs?: number | undefined;
  readonly settings: HttpSettings;
  readonly trustedProxies?: readonly string[] | undefined;
  readonly bodyTimeouts?: BodyReadTimeouts | undefined;
  /** True if several processes share the state. */
  readonly isShared?: boolean | undefined;
  /** Reports whether reads are current. Requests wait until they are. Only set for a shared state. */
  readonly isAssured?: (() => boolean) | undefined;
  /** Maximum wall-clock time of this wait. */
  readonly assuranceMs?: number;
  /** Parts that are served before the listener is opened. All other routes return 503 until then. */
  readonly whileStarting?: readonly ListenerPart[];
}

export interface ServedParts
  extends Pick<ServedRoutes, "clock" | "faultFor" | "beforeAnswer" | "allowsOrigin" | "fallback"> {
  /** The first part's service formats the responses to unmatched requests. */
  readonly parts: readonly [ListenerPart, ...ListenerPart[]];
}

/** Behavior of a listener while another process leads. */
interface StandbyBehavior {
  readonly parts: readonly ListenerPart[];
  /** Handles a request about this process itself. Returns whether a response was sent. */
  readonly handleLocally?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Returns the leader's listener of the same name, or undefined if there is no leader. */
  readonly findLeader: () => LeaderListener | undefined;
}

export type Listener = ReturnType<typeof createListener>;

/** Creates an unbound server, which responds 503 until it is opened with routes, because they contain its URL. */
export function createListener({ whileStarting = [], ...options }: ListenerOptions) {
  const { wall, name, settings, isShared } = options;
  const limits = options.bodyTimeouts ?? defaultBodyReadTimeouts;
  const bodies = new RequestBodyReader(wall, limits);
  const disconnectListeners = { followers: new Set<() => void>(), served: new Set<() => void>() };
  const graceMs = options.graceMs ?? defaultCloseGraceMs;
  const serveParts = (
    parts: readonly ListenerPart[],
    routes: Omit<ServedRoutes, "control" | "services" | "pending">,
  ): ServedRoutes => {
    const boundOperations = parts.flatMap((part) => bindPart(part, settings.strict.has("bodies")));
    const control = boundOperations.filter(isControlOperation);
    return {
      ...routes,
      control: control.length > 0 ? new OperationTable(control, { ...settings, isControl: true }) : undefined,
      services: new OperationTable(
        boundOperations.filter((bound) => !isControlOperation(bound)),
        settings,
      ),
      pending: 0,
    };
  };

  let served = serveParts(whileStarting, { clock: wall, isStarting: true });
  let standby: ServedRoutes | undefined;
  let state: "serves" | "hands over" | "closes" = "serves";
  let key: string | undefined;

  const reject = (reply: FastifyReply, forwarded?: ForwardedRequest): undefined => {
    sendResponse(reply, createNotLeadingResponse(name, reply.request.originalUrl, forwarded));
  };
  function admitShared(request: FastifyRequest, reply: FastifyReply) {
    const forwarded = extractForwarded(request.raw);
    // The request is not forwarded again, because its sender finds the leader.
    if (forwarded && forwarded.key !== key) return reject(reply, forwarded);
    const isCertain = options.isAssured?.() !== false || localPaths.test(request.originalUrl);
    return standby || isCertain ? admitNow(reply, forwarded) : waitUntilAssured(reply, forwarded);
  }
  function admitNow(reply: FastifyReply, forwarded: ForwardedRequest | undefined) {
    if (standby) return { served: standby };
    if (state === "serves") return { served, forwarded };
    // A request on a connection that is open when this process ends would get no response.
    reply.header("connection", "close");
    return reject(reply, forwarded);
  }
  /** Another process may have become the leader, so no request gets a response until the leader is confirmed. */
  async function waitUntilAssured(reply: FastifyReply, forwarded: ForwardedRequest | undefined) {
    const deadline = wall.monotonicNow() + (options.assuranceMs ?? defaultAssuranceMs);
    const isUnassured = () => !standby && options.isAssured?.() === false;
    while (isUnassured() && wall.monotonicNow() < deadline) await wall.sleep(handoverCheckIntervalMs);
    return isUnassured() || (standby && forwarded) ? reject(reply, forwarded) : admitNow(reply, forwarded);
  }
  async function waitForPending(routes: ServedRoutes, ms: number, signal: AbortSignal | undefined) {
    const deadline = wall.monotonicNow() + ms;
    while (routes.pending > 0 && wall.monotonicNow() < deadline && !signal?.aborted)
      await wall.sleep(handoverCheckIntervalMs);
  }
  const isClosing = () => state === "closes";
  const context: AppOptions = {
    ...options,
    bodies,
    disconnectListeners,
    headTimeoutMs: limits.headTimeoutMs,
    unreadTimeoutMs: settings.unreadResponseTimeoutMs ?? emulatorOptions.unreadResponseTimeoutMs.default,
    createCauseRow: options.createCauseRow ?? createCauseRowFactory(options),
    readForwarded: createForwardedReader(options.trustedProxies ?? []),
    report: options.report ?? (() => {}),
    isClosing,
    admit(request, reply) {
      if (isShared) return admitShared(request, reply);
      if (!isClosing()) return { served };
      // The request arrived on an open connection.
      sendResponse(reply, { status: 503, headers: [], body: undefined });
      return undefined;
    },
  };
  const app = createApp(context);

  return {
    /** Binds a port, or any free port if it is 0. Resolves with the origin: `http://127.0.0.1:4010`. */
    async listen(port: number, host = "127.0.0.1"): Promise<string> {
      await app.listen({ port, host });
      const { port: boundPort } = app.server.address() as AddressInfo;
      const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
      return `http://${name}:${boundPort}`;
    },
    /** Starts serving operations, also after a handover. Throws EmulatorBugError if an operation cannot be served. */
    open({ parts, ...rest }: ServedParts): void {
      state = "serves";
      served = serveParts(parts, rest);
    },
    /** Starts forwarding all requests to the leader. */
    startStandby({ parts, handleLocally, findLeader }: StandbyBehavior): void {
      key = undefined;
      standby = serveParts(parts, {
        clock: wall,
        async forward({ raw, requestOrigin }, response) {
          if (handleLocally?.(raw, response)) return;
          await forwardToLeader(raw, response, {
            name,
            wall,
            bodies,
            isClosing,
            findLeader,
            proxyInfo: requestOrigin.proxyInfo,
          });
        },
      });
    },
    /** Resumes serving operations, including requests that standbys forward with this key. */
    startLeading(leaderKey: string): void {
      key = leaderKey;
      standby = undefined;
    },
    /** Ends streams, and resolves when earlier requests have a response. Later requests are still served. */
    async drain(signal: AbortSignal): Promise<void> {
      const earlier = served;
      served = { ...served, pending: 0 };
      notifyAll(disconnectListeners.followers);
      await waitForPending(earlier, graceMs, signal);
    },
    /** Rejects new requests, which another process will serve. Resolves when earlier ones have a response. */
    async handOver(): Promise<void> {
      state = "hands over";
      notifyAll(disconnectListeners.followers);
      // No process serves requests meanwhile.
      await waitForPending(served, Math.min(graceMs, defaultCloseGraceMs), options.closeSignal);
    },
    /** Stops accepting requests, notifies waiting clients, and closes open connections after the grace period. */
    async close(): Promise<void> {
      standby = undefined;
      state = "closes";
      const closePromise = app.close();
      notifyAll(disconnectListeners.followers);
      // Pending requests continue until the grace period ends.
      if (options.graceMs === undefined) notifyAll(disconnectListeners.served);
      bodies.stop();
      const endConnections = () => {
        notifyAll(disconnectListeners.served);
        app.server.closeAllConnections();
      };
      void withTimeout(wall, graceMs, closePromise, options.closeSignal).then(endConnections, endConnections);
      await closePromise;
    },
  };
}

function notifyAll(listeners: ReadonlySet<() => void>): void {
  for (const listener of listeners) listener();
}

const isControlOperation = ({ operation }: BoundOperation): boolean => operation.service.name === "emulator";
