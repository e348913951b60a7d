import type { IncomingMessage, ServerResponse } from "node:http";
import type { EmulatorBug } from "../../src/base/bug.ts";
import type { Clock, Wall } from "../../src/base/clock.ts";
import { type Answer, jsonAnswer } from "./answer.ts";
import type { Arrivals } from "./arrival.ts";
import type { Bound } from "./bind.ts";
import { BodyLate, BodyTooLarge, hasBody } from "./collect.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialects } from "./dialects/index.ts";
import { Exchange, type Running } from "./exchange.ts";
import type { Fault, FaultFor } from "./faults.ts";
import { forbiddenHost, hostGuard, isCrossSite } from "./guard.ts";
import type { Finding, ReceivedRequest } from "./handler.ts";
import { type Target, targetOf } from "./path.ts";
import { passOn } from "./produce.ts";
import { Received } from "./received.ts";
import type { Passthrough } from "./reply.ts";
import type { RequestLog } from "./request-log/request-log.ts";
import { type RouteMatch, Routes } from "./routes.ts";
import { refusedAsStranger, serve } from "./serve.ts";
import {
  forbidden,
  methodsOf,
  noTarget,
  notFound,
  notReady,
  otherSlash,
  preflight,
  redirectTo,
  tooLate,
} from "./unmatched.ts";
import { virtualTime } from "./virtual-time.ts";

/** Answers a request for which nothing is declared; undefined: it knows no better than 404. */
export type Fallback = (
  request: ReceivedRequest,
  finding: Finding,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

interface Setup {
  readonly name: string;
  readonly bounds: readonly Bound[];
  readonly clock: Clock;
  readonly wall: Wall;
  readonly log: RequestLog;
  readonly settings: { readonly lenientSlashes: boolean };
  readonly allowedHosts?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
  readonly faultFor?: FaultFor | undefined;
  readonly fallback?: Fallback | undefined;
  /** Everything but what is declared answers 503. */
  readonly starting: boolean;
  readonly report?: ((bug: EmulatorBug) => void) | undefined;
  readonly maxBodyBytes: number;
  readonly arrivals: Arrivals;
  /** Who waits for a caller to go away. */
  readonly waiting: Set<AbortController>;
}

/** The target as sent, which Fastify never looks at. */
type Raw = IncomingMessage & { readonly originalUrl: string };

const controlPrefix = "/_emulator/";

/** Decides what becomes of each request of one listener: whom it is given to, or why to nobody. */
export class Dispatch {
  readonly #setup: Setup;
  readonly #running: Running;
  readonly #hostAllowed: (request: IncomingMessage) => boolean;
  readonly #publicOrigin: string | undefined;
  readonly #control: readonly Bound[];
  readonly #services: readonly Bound[];
  readonly #catchAll: Bound | undefined;
  readonly #controlRoutes: Routes;
  readonly #routes: Routes;
  /** For a GET that asks for events: the operation at `<path>/events`. */
  readonly #streams: ReadonlyMap<Bound, Bound>;

  constructor(setup: Setup) {
    const { bounds, clock } = setup;
    this.#setup = setup;
    this.#running = {
      name: setup.name,
      log: setup.log,
      wall: setup.wall,
      now: () => clock.now(),
      time: virtualTime(clock),
      maxBodyBytes: setup.maxBodyBytes,
      arrivals: setup.arrivals,
      report: setup.report ?? (() => {}),
    };
    this.#hostAllowed = hostGuard(setup.allowedHosts ?? []);
    this.#publicOrigin = setup.publicUrl && new URL(setup.publicUrl).origin;
    this.#control = bounds.filter(isControl);
    this.#services = bounds.filter((bound) => !isControl(bound));
    this.#catchAll = bounds.find(({ isCatchAll }) => isCatchAll);
    this.#controlRoutes = new Routes(this.#control);
    this.#routes = new Routes(this.#services);
    this.#streams = streamsOf(bounds);
  }

  /** Serves one request. */
  take(raw: Raw, response: ServerResponse): Promise<void> {
    const answered = this.#answer(raw, response);
    return hasBody(raw) ? answered.then(() => this.#setup.arrivals.discard(raw)) : answered;
  }

  #answer(raw: Raw, response: ServerResponse): Promise<void> {
    const target = targetOf(raw.originalUrl);
    const { path } = target;
    const isControl = this.#control.length > 0 && path.startsWith(controlPrefix);
    const found = (isControl ? this.#controlRoutes : this.#routes).find(raw.method!, path);
    if (!found) return this.#unmatched(raw, response, target, isControl);
    const stream = this.#streams.get(found.bound);
    const wantsStream = stream && raw.headers.accept?.includes("text/event-stream");
    return this.#serve(wantsStream ? { ...found, bound: stream } : found, raw, response, target);
  }

  /** Wrong path, wrong method, or a parameter that is empty. */
  #unmatched(raw: Raw, response: ServerResponse, target: Target, isControl: boolean): Promise<void> {
    if (isControl) return this.#answerUnknown(raw, response, this.#control, this.#controlRoutes, target);
    const method = raw.method!;
    const { isPath, path } = target;
    if (isPath && this.#catchAll && [this.#catchAll.operation.method].flat().includes(method as never)) {
      return this.#serve({ bound: this.#catchAll, params: { full_path: path.slice(1) } }, raw, response, target);
    }
    const spelled = otherSlash(this.#routes, method, path);
    if (spelled && this.#setup.settings.lenientSlashes)
      return this.#serve(spelled, raw, response, target, spelled.path);
    return this.#answerUnknown(raw, response, this.#services, this.#routes, target);
  }

  /** `documented`: the path as the service spells it, where another was asked for (DECISIONS.md, C3). */
  async #serve(
    { bound, params }: RouteMatch,
    raw: Raw,
    response: ServerResponse,
    target: Target,
    documented?: string,
  ): Promise<void> {
    const { operation } = bound;
    const exchange = this.#begin(raw, response, operation.service.name, operation.id);
    if (documented !== undefined) exchange.find("other-slash", `the service redirects to ${documented}`);
    try {
      const refused = this.#refuse(raw, bound);
      if (refused) return await exchange.finish(refused);
      const fault = this.#setup.faultFor?.(exchange.received, operation);
      if (fault && (await this.#endedBy(fault, exchange))) return;
      const answer = await serve({ bound, raw, response, params, search: target.search }, exchange);
      await exchange.finish(bound.isCatchAll ? markCatchAll(answer) : answer, fault);
    } catch (error) {
      await exchange.rescue(error, bound.dialect, operation.id);
    }
  }

  /** What comes before an operation is looked at. */
  #refuse(raw: Raw, bound: Bound | undefined): Answer | undefined {
    const control = bound !== undefined && isControl(bound);
    if (!this.#hostAllowed(raw)) return forbidden(control, forbiddenHost(raw.headers.host));
    if (control && isCrossSite(raw, bound.operation.auth === "none", this.#publicOrigin)) {
      return forbidden(true, "Pages of other sites may not use the control plane.");
    }
    if (this.#setup.starting && !bound) return notReady;
    return undefined;
  }

  /** Whether a fault took the place of the operation. */
  async #endedBy(fault: Fault, exchange: Exchange): Promise<boolean> {
    if (fault.latencyMs) await exchange.delay(fault.latencyMs);
    if (fault.reset) {
      exchange.reset();
      return true;
    }
    if (fault.status === undefined) return false;
    const body = fault.body ?? { detail: "A fault that was scripted on the control plane." };
    await exchange.finish(jsonAnswer(fault.status, body, Object.entries(fault.headers ?? {}).flat()), fault);
    return true;
  }

  async #answerUnknown(
    raw: Raw,
    response: ServerResponse,
    bounds: readonly Bound[],
    routes: Routes,
    target: Target,
  ): Promise<void> {
    const { path } = target;
    const known = routes.at(path);
    const service = (known[0] ?? bounds[0])?.operation.service;
    const exchange = this.#begin(raw, response, service?.name ?? "none", undefined);
    try {
      const refused = this.#refuse(raw, undefined);
      if (refused) return await exchange.finish(refused);
      const fault = this.#setup.faultFor?.(exchange.received, undefined);
      if (fault && (await this.#endedBy(fault, exchange))) return;
      const dialect = dialects[service?.dialect ?? "control"];
      const answer =
        this.#spelledOtherwise(raw, bounds, known, target) ??
        this.#elsewhere(raw, target, dialect) ??
        (bounds === this.#services && known.length === 0 ? await this.#fallBack(raw, exchange) : undefined) ??
        (known[0] && (await refusedAsStranger(known[0], exchange))) ??
        (known.length > 0
          ? dialect.methodNotAllowed(raw.method!, methodsAt(known))
          : this.#catchAll && bounds === this.#services
            ? dialect.methodNotAllowed(raw.method!, methodsOf([this.#catchAll]))
            : notFound(dialect, raw.method!, path, bounds));
      await exchange.finish(answer, fault);
    } catch (error) {
      await exchange.rescue(error, dialects[service?.dialect ?? "control"], "an undeclared path");
    }
  }

  /** A redirect to the documented slash, or the permission that a browser asks for before it uploads. */
  #spelledOtherwise(
    raw: Raw,
    bounds: readonly Bound[],
    known: readonly Bound[],
    { path, search }: Target,
  ): Answer | undefined {
    if (raw.method === "OPTIONS" && known[0]?.operation.service.name === "storage") return preflight(methodsOf(known));
    const other = bounds === this.#services ? otherSlash(this.#routes, raw.method!, path) : undefined;
    return other && redirectTo(other.path, search);
  }

  /** What to say to a target that is no path of anybody's (RFC 9112, 3.2). */
  #elsewhere({ method, originalUrl }: Raw, { isPath }: Target, dialect: Dialect): Answer | undefined {
    if (isPath) return undefined;
    if (method !== "OPTIONS" || originalUrl !== "*") return noTarget;
    // It asks about the server as a whole, of which nothing is declared.
    return dialect.methodNotAllowed(method, methodsOf(this.#catchAll ? [this.#catchAll] : this.#services));
  }

  async #fallBack(raw: Raw, exchange: Exchange): Promise<Answer | undefined> {
    const { fallback } = this.#setup;
    if (!fallback) return undefined;
    const { received } = exchange;
    try {
      const reads = raw.method !== "GET" && raw.method !== "HEAD" && hasBody(raw);
      if (reads) received.body = await exchange.arrivals.collect(raw, this.#setup.maxBodyBytes);
    } catch (error) {
      if (error instanceof BodyTooLarge) return dialects.platform.tooLarge();
      if (error instanceof BodyLate) return tooLate(false);
      throw error;
    }
    const answer = await fallback(received, (code, detail) => exchange.find(code, detail));
    // What stands in for the cluster is the emulator itself.
    return answer && { ...passOn(answer), isForeign: false };
  }

  #begin(raw: Raw, response: ServerResponse, service: string, operation: string | undefined): Exchange {
    const received = new Received(raw, response, raw.originalUrl, this.#setup.waiting);
    return new Exchange(this.#running, received, response, service, operation);
  }
}

const isControl = ({ operation }: Bound): boolean => operation.service.name === "emulator";

/** DECISIONS.md, R2: so that a caller learns that it missed the operation it meant. */
const markCatchAll = (answer: Answer): Answer => ({
  ...answer,
  headers: [...answer.headers, "x-svc-matched", "catch-all"],
});

/** Starlette names the methods of the first route that has the path; the others name all. */
const methodsAt = (known: readonly Bound[]): string[] =>
  known[0]?.operation.service.dialect === "fastapi" ? methodsOf(known.slice(0, 1)) : methodsOf(known);

function streamsOf(bounds: readonly Bound[]): ReadonlyMap<Bound, Bound> {
  const gets = new Map(
    bounds.filter(({ operation }) => operation.method === "GET").map((bound) => [bound.operation.path, bound]),
  );
  const pairs: [Bound, Bound][] = [];
  for (const [path, bound] of gets) {
    const stream = gets.get(`${path}/events`);
    if (stream && stream.operation.responses[200]?.kind === "events") pairs.push([bound, stream]);
  }
  return new Map(pairs);
}
