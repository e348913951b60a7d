import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Clock, toIsoMillis } from "../../src/base/clock.ts";
import { createCauseRowFactory } from "../store/causes.ts";
import { type AppOptions, createApp } from "./app.ts";
import { type BoundOperation, bindPart } from "./bind.ts";
import { type BodyReadTimeouts, defaultBodyReadTimeouts, RequestBodyReader } from "./bodies/request-body-reader.ts";
import type { Served } from "./exchange.ts";
import {
  extractForwarded,
  type ForwardedRequest,
  forwardToLeader,
  type LeaderListener,
  notLeadingResponse,
} from "./forward-to-leader.ts";
import type { Part } from "./parts.ts";
import { respond, unreadResponseTimeoutMs } from "./respond.ts";
import { OperationTable } from "./routing/operation-table.ts";
import { TrustedProxies } from "./trusted-proxies.ts";

/** Default grace for pending requests when the listener closes. */
const closeGraceMs = 1_000;

/** How long a request waits until it is certain that this process leads, and the response in either case. */
const defaultAssuranceMs = 5_000;
const tellsOfItself = /^\/_emulator\/(?:ready|live|metrics|stop)$/;

/** Interval of checks whether requests have ended when another process takes over. */
const handOverLookMs = 5;

/** The settings of an emulator that requests are checked by. */
export interface HttpSettings {
  /** The leniencies that are turned off, by name (`--strict`). */
  readonly strict: ReadonlySet<string>;
  /** Serve both spellings of a path instead of redirecting. */
  readonly lenientSlashes: boolean;
  /** How long a caller may take nothing of its response, wall-clock time; default: `unreadAnswerMs`. */
  readonly unreadAnswerTimeoutMs?: number;
}

/** Options for binding a listener. */
export interface ListenerOptions
  extends Pick<AppOptions, "name" | "wall" | "log" | "links" | "publicUrl" | "observe" | "allowedHosts">,
    Partial<Pick<AppOptions, "causeRow" | "report">> {
  /** When it closes: once this is aborted, requests that are being served are not waited for. */
  readonly closeSignal?: AbortSignal | undefined;
  /** How long these may take then, wall-clock time. */
  readonly graceMs?: number | undefined;
  readonly settings: HttpSettings;
  /** Addresses and ranges of proxies that are believed whom they ask for. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** How long requests may take to come. */
  readonly arrival?: BodyReadTimeouts | undefined;
  /** Whether other processes share the state, of which one leads. */
  readonly isShared?: boolean | undefined;
  /** Whether what would be answered is what there is; requests wait until it is so. Of a state that is shared. */
  readonly isAssured?: (() => boolean) | undefined;
  /** How long they wait, wall-clock time. */
  readonly assuranceMs?: number;
  /** Routes that are served before it is opened; everything else is 503 until then. */
  readonly whileStarting?: readonly Part[];
}

/** Routes of a listener, once they are known. */
export interface ServedParts extends Pick<Served, "clock" | "faultFor" | "beforeAnswer" | "allowsOrigin" | "fallback"> {
  /** The first one's service words what belongs to none. */
  readonly parts: readonly [Part, ...Part[]];
}

/** A server that is bound before it has routes: they name its URL. Until it is opened it answers 503. */
export interface Listener {
  /** Port 0: any free one. Resolves with the origin to speak to: `http://127.0.0.1:4010`. */
  listen(port: number, host?: string): Promise<string>;
  /** Serves operations from now on, also after it was handed over. Fails with EmulatorBugError when one cannot be served. */
  open(served: ServedParts): void;
  /** Forwards to the leader from now on, instead of all that it serves. */
  standBy(standby: Standby): void;
  /** Serves what it was opened with again, and what standbys forward with this key. */
  lead(key: string): void;
  /**
   * Rejects what comes from now on, as another process will answer it, and resolves once what came before is answered.
   */
  handOver(): Promise<void>;
  /** Stops accepting, notifies waiting callers, and ends open connections after its grace. */
  close(): Promise<void>;
}

/** Behavior of a listener while another process leads. */
export interface Standby {
  /** Routes that it serves itself. */
  readonly parts: readonly Part[];
  /** Whether it has answered a request that is meant for this very process. */
  readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The leader's listener of the same name; undefined: there is no leader. */
  readonly leader: () => LeaderListener | undefined;
}

/** A listener that is neither bound nor opened yet. */
export function createListener({ whileStarting = [], ...options }: ListenerOptions): Listener {
  const { wall, name, settings, isShared } = options;
  const limits = options.arrival ?? defaultBodyReadTimeouts;
  const bodies = new RequestBodyReader(wall, limits);
  const waiting = { followers: new Set<() => void>(), served: new Set<() => void>() };
  const graceMs = options.graceMs ?? closeGraceMs;
  const serveParts = (
    parts: readonly Part[],
    rest: Omit<Served, "control" | "services" | "time" | "pending">,
  ): Served => {
    const bounds = parts.flatMap((part) => bindPart(part, settings.strict.has("bodies")));
    const control = bounds.filter(isControl);
    return {
      ...rest,
      control: control.length > 0 ? new OperationTable(control, { ...settings, isControl: true }) : undefined,
      services: new OperationTable(
        bounds.filter((bound) => !isControl(bound)),
        settings,
      ),
      time: virtualTime(rest.clock),
      pending: 0,
    };
  };

  let served = serveParts(whileStarting, { clock: wall, isStarting: true });
  let standby: Served | undefined;
  let state: "serves" | "hands over" | "closes" = "serves";
  let key: string | undefined;

  const reject = (reply: FastifyReply, forwarded?: ForwardedRequest): undefined => {
    respond(reply, notLeadingResponse(name, reply.request.originalUrl, forwarded));
  };
  /** Of a state that several processes share. */
  function admitShared(request: FastifyRequest, reply: FastifyReply) {
    const forwarded = extractForwarded(request.raw);
    // It goes no further: who sent it looks again who leads.
    if (forwarded && forwarded.key !== key) return reject(reply, forwarded);
    const isCertain = options.isAssured?.() !== false || tellsOfItself.test(request.originalUrl);
    return standby || isCertain ? admitNow(reply, forwarded) : wait(reply, forwarded);
  }
  function admitNow(reply: FastifyReply, forwarded: ForwardedRequest | undefined) {
    if (standby) return { served: standby };
    return state === "serves" ? { served, forwarded } : reject(reply, forwarded);
  }
  /** Another process may lead by now: until that is known, no request is answered. */
  async function wait(reply: FastifyReply, forwarded: ForwardedRequest | undefined) {
    const until = wall.monotonicNow() + (options.assuranceMs ?? defaultAssuranceMs);
    const isOpen = () => !standby && options.isAssured?.() === false;
    while (isOpen() && wall.monotonicNow() < until) await wall.sleep(handOverLookMs);
    return isOpen() || (standby && forwarded) ? reject(reply, forwarded) : admitNow(reply, forwarded);
  }
  const isClosing = () => state === "closes";
  const context: AppOptions = {
    ...options,
    bodies,
    waiting,
    headMs: limits.headMs,
    unreadMs: settings.unreadAnswerTimeoutMs ?? unreadResponseTimeoutMs,
    causeRow: options.causeRow ?? createCauseRowFactory(options),
    proxies: new TrustedProxies(options.trustedProxies ?? []),
    report: options.report ?? (() => {}),
    isClosing,
    admit(request, reply) {
      if (isShared) return admitShared(request, reply);
      if (!isClosing()) return { served };
      // It came on an open connection.
      respond(reply, { status: 503, headers: [], body: undefined });
      return undefined;
    },
  };
  const app = createApp(context);

  return {
    async listen(port, host = "127.0.0.1") {
      await app.listen({ port, host });
      const address = app.server.address();
      const bound = typeof address === "object" ? address?.port : port;
      const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
      return `http://${name}:${bound}`;
    },
    open({ parts, ...rest }) {
      state = "serves";
      served = serveParts(parts, rest);
    },
    standBy({ parts, answers, leader }) {
      key = undefined;
      standby = serveParts(parts, {
        clock: wall,
        async forward({ raw, from }, response) {
          if (answers?.(raw, response)) return;
          await forwardToLeader(raw, response, { name, wall, bodies, isClosing, leader, proxyInfo: from.proxyInfo });
        },
      });
    },
    lead(current) {
      key = current;
      standby = undefined;
    },
    async handOver() {
      state = "hands over";
      endAll(waiting.followers);
      const until = wall.monotonicNow() + graceMs;
      while (served.pending > 0 && wall.monotonicNow() < until && !options.closeSignal?.aborted)
        await wall.sleep(handOverLookMs);
    },
    async close() {
      standby = undefined;
      state = "closes";
      const ended = new AbortController();
      const closed = app.close().finally(() => ended.abort());
      endAll(waiting.followers);
      // Pending requests continue as long as their grace.
      if (options.graceMs === undefined) endAll(waiting.served);
      bodies.stop();
      const enough = AbortSignal.any([ended.signal, ...(options.closeSignal ? [options.closeSignal] : [])]);
      void wall.sleep(graceMs, enough).then(() => {
        endAll(waiting.served);
        app.server.closeAllConnections();
      });
      await closed;
    },
  };
}

function endAll(all: ReadonlySet<() => void>): void {
  for (const end of all) end();
}

const isControl = ({ operation }: BoundOperation): boolean => operation.service.name === "emulator";

/**
 * The value of `x-svc-time`. Printing a time costs more than all other headers, so it is done once a second; of the
 * instants within, only the milliseconds are put in, once for all requests of one.
 */
function virtualTime(clock: Clock): () => string {
  let instant = Number.NaN;
  let second = Number.NaN;
  let printed = "";
  let whole = "";
  return () => {
    const now = clock.now();
    if (now === instant) return whole;
    instant = now;
    const millis = now % 1_000;
    if (now - millis !== second) {
      second = now - millis;
      printed = toIsoMillis(second).slice(0, -"000Z".length);
    }
    whole = `${printed}${String(millis).padStart(3, "0")}Z`;
    return whole;
  };
}
