import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, toIsoMillis, type WallClock } from "../../src/base/clock.ts";
import type { EmulatorBugError } from "../../src/base/errors.ts";
import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import type { BoundOperation } from "./bind.ts";
import { dialects } from "./dialects/index.ts";
import { Exchange, type ListenerContext } from "./exchange.ts";
import { forbiddenHostMessage, hostGuard, isCrossSite, useAuthority } from "./guard.ts";
import type { CausePropagator } from "./outgoing/cause-propagator.ts";
import type { FindRequestFault, RequestFault } from "./parts.ts";
import {
  ambiguousTargetResponse,
  forbiddenResponse,
  type HttpResponse,
  jsonResponse,
  notReadyResponse,
  type ObserveAnswer,
} from "./reply.ts";
import { IncomingRequest, type RequestBodyReader } from "./request-body-reader.ts";
import type { RequestLog } from "./request-log/request-log.ts";
import { isProbe, OperationTable } from "./routing/operation-table.ts";
import {
  hasDotSegments,
  isControlPath,
  parseRequestTarget,
  type RequestTarget,
  removeDotSegments,
} from "./routing/path.ts";
import type { ResponseWriter } from "./sending/response-writer.ts";
import { createPreflightResponse, type IsOriginAllowed, isPreflight, sandboxHeader } from "./sending/send.ts";
import { serve } from "./serve.ts";
import type { ForwardedRequest } from "./standby/forward.ts";
import type { ForwardedInfo, TrustedProxies } from "./trusted-proxies.ts";
import { type Fallback, respondUnmatched } from "./unmatched-request.ts";

interface Setup {
  readonly name: string;
  readonly bounds: readonly BoundOperation[];
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly log: RequestLog;
  readonly settings: { readonly lenientSlashes: boolean };
  readonly allowedHosts?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
  readonly proxies: TrustedProxies;
  readonly faultFor?: FindRequestFault | undefined;
  readonly beforeAnswer?: ((cause: Cause) => Promise<void> | undefined) | undefined;
  readonly allowsOrigin?: IsOriginAllowed | undefined;
  readonly fallback?: Fallback | undefined;
  /** Every undeclared path answers 503. */
  readonly starting: boolean;
  /** Answers requests to undeclared paths, after the host guard. */
  readonly forward?: ForwardRequest | undefined;
  readonly report?: ((bug: EmulatorBugError) => void) | undefined;
  readonly observe?: ObserveAnswer | undefined;
  readonly maxBodyBytes: number;
  readonly arrivals: RequestBodyReader;
  readonly departures: ResponseWriter;
  readonly causeRow: MakeCauseRow;
  readonly links?: CausePropagator | undefined;
  /** Signals that a caller went away: for streams and long polls of the control plane, and other handlers. */
  readonly waiting: { readonly followers: Set<() => void>; readonly served: Set<() => void> };
}

/** `proxyInfo`: a trusted proxy's description of the request. */
export type ForwardRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  proxyInfo: ForwardedInfo | undefined,
) => Promise<void>;

/** Dispatches each request of one listener: to a handler, or to an error. */
export class RequestDispatcher {
  readonly #setup: Setup;
  readonly #running: ListenerContext;
  readonly #isHostAllowed: ReturnType<typeof hostGuard>;
  readonly #publicOrigin: string | undefined;
  /** Undefined: this listener has no control plane. */
  readonly #control: OperationTable | undefined;
  readonly #services: OperationTable;
  #underWay = 0;

  constructor(setup: Setup) {
    const { bounds, clock, settings } = setup;
    const control = bounds.filter(isControl);
    this.#setup = setup;
    this.#running = {
      name: setup.name,
      log: setup.log,
      wall: setup.wall,
      now: () => clock.now(),
      time: virtualTime(clock),
      maxBodyBytes: setup.maxBodyBytes,
      arrivals: setup.arrivals,
      departures: setup.departures,
      causeRow: setup.causeRow,
      report: setup.report ?? (() => {}),
    };
    this.#isHostAllowed = hostGuard(setup.allowedHosts ?? []);
    this.#publicOrigin = setup.publicUrl && new URL(setup.publicUrl).origin;
    this.#control = control.length > 0 ? new OperationTable(control, { ...settings, isControl: true }) : undefined;
    this.#services = new OperationTable(
      bounds.filter((bound) => !isControl(bound)),
      settings,
    );
  }

  /** How many requests have no response yet, or not all of it. */
  get underWay(): number {
    return this.#underWay;
  }

  /**
   * Serves one request, from the decision about its owner to its line in the log. `forwarded`: a standby's description
   * of the request, which the standby has let in.
   */
  async handle(raw: IncomingMessage, response: ServerResponse, forwarded?: ForwardedRequest): Promise<void> {
    raw.url = removeDotSegments(raw.url!);
    const target = parseRequestTarget(raw.url);
    // Such a request may bear a token of the control plane: no cluster is asked, and none answers it.
    const isControlled = isControlPath(target.path);
    const operations = (isControlled && this.#control) || this.#services;
    const match = isControlled && !this.#control ? undefined : operations.match(raw, target);
    const atPath = match ? [match.bound] : operations.at(target.path);
    const service = atPath[0]?.operation.service ?? operations.service;
    const dialect = dialects[service?.dialect ?? "control"];
    const fallback = isControlled ? undefined : this.#setup.fallback;
    const id = match?.bound.operation.id;
    // The caller no longer waits for the response, and its changes would be to another state.
    if (this.#setup.links?.isAbandoned(raw)) return void raw.destroy();
    const link = this.#setup.links?.extractLink(raw);
    useAuthority(raw);
    // The other listener has checked requests that it sent on.
    const proxyInfo = forwarded
      ? forwarded.proxyInfo
      : link === undefined
        ? this.#setup.proxies.applyForwardedHeaders(raw)
        : undefined;
    const { publicUrl } = this.#setup;
    const from = (proxyInfo || forwarded) && { proxyInfo, publicUrl, remoteAddress: forwarded?.remoteAddress };
    const { followers, served } = this.#setup.waiting;
    const open = match && isControl(match.bound) ? followers : served;
    const received = new IncomingRequest(raw, response, raw.url, open, from);
    const exchange = new Exchange(this.#running, received, response, service?.name ?? "none", id, link);
    if (match?.documented) exchange.finding("other-slash", `the service redirects to ${match.documented}`);
    this.#underWay += 1;
    try {
      const refused =
        this.#refuse(raw, match?.bound, proxyInfo, forwarded !== undefined) ??
        (isControlled ? undefined : refuseAmbiguous(match?.bound, target));
      if (refused) return await exchange.finish(refused);
      if (this.#setup.forward && !match) return await this.#setup.forward(raw, response, proxyInfo);
      const { origin } = raw.headers;
      const asked = origin === undefined ? undefined : this.#setup.allowsOrigin?.(target.path, origin);
      if (origin !== undefined && asked) {
        const isAllowed = await asked;
        if (isAllowed && isPreflight(raw)) return await exchange.finish(createPreflightResponse(origin));
        exchange.allowOrigin(isAllowed ? origin : undefined);
      }
      const fault = this.#setup.faultFor?.(received, match?.bound.operation);
      if (fault) {
        exchange.setFault(fault);
        if (await isEndedBy(fault, exchange)) return;
      }
      const made = match
        ? await serve(match, raw, target.search, exchange)
        : await respondUnmatched({ raw, target, operations, atPath, dialect, fallback }, exchange);
      const { observe } = this.#setup;
      const observed = isControlled
        ? undefined
        : observe && atPath.map((at) => observe(at.operation, made)).find(Boolean);
      if (observed) exchange.finding("observed", observed.finding);
      const answer = observed?.answer ?? made;
      const waiting = this.#setup.beforeAnswer?.(exchange);
      if (waiting) await waiting;
      const streaming = exchange.finish(match?.bound.steps.isCatchAll ? markCatchAll(answer) : answer, fault);
      if (streaming) await streaming;
    } catch (error) {
      await exchange.finishWithError(error, dialect, id ?? "an undeclared path");
    } finally {
      this.#underWay -= 1;
      this.#setup.arrivals.discard(raw);
    }
  }

  /** Checks before an operation is searched. */
  #refuse(
    raw: IncomingMessage,
    bound: BoundOperation | undefined,
    proxyInfo: ForwardedInfo | undefined,
    isLetIn: boolean,
  ): HttpResponse | undefined {
    const control = bound !== undefined && isControl(bound);
    if (!isLetIn && !this.#isHostAllowed(raw, proxyInfo?.host) && !(bound && isProbe(bound) && namesNoHost(raw)))
      return forbiddenResponse(control, forbiddenHostMessage(proxyInfo?.host ?? raw.headers.host));
    if (control && isCrossSite(raw, bound.operation.auth === "none", this.#originsOf(proxyInfo))) {
      return forbiddenResponse(true, "Pages of other sites cannot use the control plane.");
    }
    if (this.#setup.starting && !bound) return notReadyResponse;
    return undefined;
  }

  /** Next to what the Host header says. */
  #originsOf(proxyInfo: ForwardedInfo | undefined): readonly (string | undefined)[] {
    return [this.#publicOrigin, proxyInfo?.host && `${proxyInfo.protocol ?? "http"}://${proxyInfo.host}`];
  }
}

/** A request that is forwarded, or might be, must mean the same to its receiver. */
const refuseAmbiguous = (bound: BoundOperation | undefined, { path }: RequestTarget): HttpResponse | undefined =>
  (bound === undefined || bound.steps.isCatchAll) && hasDotSegments(path) ? ambiguousTargetResponse : undefined;

const isControl = ({ operation }: BoundOperation): boolean => operation.service.name === "emulator";

/** Balancers probe so, and browsers, which the Host header is looked at for, always send one (RFC 9112, 3.2). */
const namesNoHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.0" && headers.host === undefined;

/** Whether a fault took the place of the operation. */
async function isEndedBy(fault: RequestFault, exchange: Exchange): Promise<boolean> {
  if (fault.latencyMs) await exchange.delay(fault.latencyMs);
  if (fault.reset) {
    exchange.reset();
    return true;
  }
  if (fault.status === undefined) return false;
  const body = fault.body ?? { detail: "This is a scripted fault of the control plane." };
  const headers = Object.entries(fault.headers ?? {});
  const isJson = headers.every(([name]) => name.toLowerCase() !== "content-type");
  const answer = jsonResponse(fault.status, body, headers.flat());
  // Policies add up: none of its own lets it out of the sandbox.
  const typed = { ...answer, headers: [...headers.flat(), ...sandboxHeader] };
  await exchange.finish(isJson ? answer : typed, fault);
  return true;
}

/** DECISIONS.md, R2: so that a caller learns that it missed the operation it meant. */
const markCatchAll = (answer: HttpResponse): HttpResponse => ({
  ...answer,
  headers: [...answer.headers, "x-svc-matched", "catch-all"],
});

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
