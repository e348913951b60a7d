import type { IncomingMessage, ServerResponse } from "node:http";
import type { EmulatorBug } from "../../src/base/bug.ts";
import { type Clock, isoMillis, type Wall } from "../../src/base/clock.ts";
import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import { type Answer, jsonAnswer, type ObserveAnswer } from "./answer.ts";
import type { Arrivals } from "./arrival.ts";
import type { Bound } from "./bind.ts";
import { dialects } from "./dialects/index.ts";
import { Exchange, type Running } from "./exchange.ts";
import { forbiddenHost, hostGuard, isCrossSite, useAuthority } from "./guard.ts";
import type { RequestLinks } from "./outgoing/links.ts";
import type { Fault, FaultFor } from "./parts.ts";
import type { Told, TrustedProxies } from "./proxies.ts";
import { Received } from "./received.ts";
import { ambiguousTarget, forbidden, notReady } from "./reply.ts";
import type { RequestLog } from "./request-log/request-log.ts";
import { isProbe, OperationTable } from "./routing/operation-table.ts";
import { hasDotSegments, isControlPath, type Target, targetOf, withoutDotSegments } from "./routing/path.ts";
import { type AllowsOrigin, isPreflight, preflightAnswer } from "./sending/cors.ts";
import type { Departures } from "./sending/departure.ts";
import { sandboxed } from "./sending/send.ts";
import { serve } from "./serve.ts";
import type { Forwarded } from "./standby/not-leading.ts";
import { answerUnmatched, type Fallback } from "./unmatched.ts";

interface Setup {
  readonly name: string;
  readonly bounds: readonly Bound[];
  readonly clock: Clock;
  readonly wall: Wall;
  readonly log: RequestLog;
  readonly settings: { readonly lenientSlashes: boolean };
  readonly allowedHosts?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
  readonly proxies: TrustedProxies;
  readonly faultFor?: FaultFor | undefined;
  readonly beforeAnswer?: ((cause: Cause) => Promise<void> | undefined) | undefined;
  readonly allowsOrigin?: AllowsOrigin | undefined;
  readonly fallback?: Fallback | undefined;
  /** Everything but what is declared answers 503. */
  readonly starting: boolean;
  /** Answers everything but what is declared, once the host guard has let it in. */
  readonly forward?: Forward | undefined;
  readonly report?: ((bug: EmulatorBug) => void) | undefined;
  readonly observe?: ObserveAnswer | undefined;
  readonly maxBodyBytes: number;
  readonly arrivals: Arrivals;
  readonly departures: Departures;
  readonly causeRow: MakeCauseRow;
  readonly links?: RequestLinks | undefined;
  /** Who is told when a caller goes away: streams and long polls of the control plane, and whatever else is served. */
  readonly waiting: { readonly followers: Set<() => void>; readonly served: Set<() => void> };
}

/** `told`: what a trusted proxy says of the request. */
export type Forward = (request: IncomingMessage, response: ServerResponse, told: Told | undefined) => Promise<void>;

/** Decides what becomes of each request of one listener: whom it is given to, or why to nobody. */
export class Dispatch {
  readonly #setup: Setup;
  readonly #running: Running;
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

  /** How many requests have no answer yet, or not all of it. */
  get underWay(): number {
    return this.#underWay;
  }

  /**
   * Serves one request, from the decision whom it belongs to, to its line in the log. `forwarded`: what a standby knows of
   * it, which has let it in.
   */
  async take(raw: IncomingMessage, response: ServerResponse, forwarded?: Forwarded): Promise<void> {
    raw.url = withoutDotSegments(raw.url!);
    const target = targetOf(raw.url);
    // Such a request may bear a token of the control plane: no cluster is asked, and none answers it.
    const isControlled = isControlPath(target.path);
    const operations = (isControlled && this.#control) || this.#services;
    const match = isControlled && !this.#control ? undefined : operations.match(raw, target);
    const atPath = match ? [match.bound] : operations.at(target.path);
    const service = atPath[0]?.operation.service ?? operations.service;
    const dialect = dialects[service?.dialect ?? "control"];
    const fallback = isControlled ? undefined : this.#setup.fallback;
    const id = match?.bound.operation.id;
    // Nobody waits for the answer, and what it would change is of another state.
    if (this.#setup.links?.isLeft(raw)) return void raw.destroy();
    const link = this.#setup.links?.take(raw);
    useAuthority(raw);
    // What another listener sent on, it has looked at.
    const told = forwarded ? forwarded.told : link === undefined ? this.#setup.proxies.heed(raw) : undefined;
    const { publicUrl } = this.#setup;
    const from = (told || forwarded) && { told, publicUrl, remoteAddress: forwarded?.remoteAddress };
    const { followers, served } = this.#setup.waiting;
    const open = match && isControl(match.bound) ? followers : served;
    const received = new Received(raw, response, raw.url, open, from);
    const exchange = new Exchange(this.#running, received, response, service?.name ?? "none", id, link);
    if (match?.documented) exchange.finding("other-slash", `the service redirects to ${match.documented}`);
    this.#underWay += 1;
    try {
      const refused =
        this.#refuse(raw, match?.bound, told, forwarded !== undefined) ??
        (isControlled ? undefined : refuseAmbiguous(match?.bound, target));
      if (refused) return await exchange.finish(refused);
      if (this.#setup.forward && !match) return await this.#setup.forward(raw, response, told);
      const { origin } = raw.headers;
      const asked = origin === undefined ? undefined : this.#setup.allowsOrigin?.(target.path, origin);
      if (origin !== undefined && asked) {
        const isAllowed = await asked;
        if (isAllowed && isPreflight(raw)) return await exchange.finish(preflightAnswer(origin));
        exchange.showTo(isAllowed ? origin : undefined);
      }
      const fault = this.#setup.faultFor?.(received, match?.bound.operation);
      if (fault) {
        exchange.meets(fault);
        if (await isEndedBy(fault, exchange)) return;
      }
      const made = match
        ? await serve(match, raw, target.search, exchange)
        : await answerUnmatched({ raw, target, operations, atPath, dialect, fallback }, exchange);
      const observed = match && !isControlled ? this.#setup.observe?.(match.bound.operation, made) : undefined;
      if (observed) exchange.finding("observed", observed.told);
      const answer = observed?.answer ?? made;
      const waiting = this.#setup.beforeAnswer?.(exchange);
      if (waiting) await waiting;
      const streaming = exchange.finish(match?.bound.steps.isCatchAll ? markCatchAll(answer) : answer, fault);
      if (streaming) await streaming;
    } catch (error) {
      await exchange.rescue(error, dialect, id ?? "an undeclared path");
    } finally {
      this.#underWay -= 1;
      this.#setup.arrivals.discard(raw);
    }
  }

  /** What comes before an operation is looked at. */
  #refuse(
    raw: IncomingMessage,
    bound: Bound | undefined,
    told: Told | undefined,
    isLetIn: boolean,
  ): Answer | undefined {
    const control = bound !== undefined && isControl(bound);
    if (!isLetIn && !this.#isHostAllowed(raw, told?.host) && !(bound && isProbe(bound) && namesNoHost(raw)))
      return forbidden(control, forbiddenHost(told?.host ?? raw.headers.host));
    if (control && isCrossSite(raw, bound.operation.auth === "none", this.#originsOf(told))) {
      return forbidden(true, "Pages of other sites may not use the control plane.");
    }
    if (this.#setup.starting && !bound) return notReady;
    return undefined;
  }

  /** Beside what the Host header says. */
  #originsOf(told: Told | undefined): readonly (string | undefined)[] {
    return [this.#publicOrigin, told?.host && `${told.protocol ?? "http"}://${told.host}`];
  }
}

/** What is forwarded, or might be, must mean the same to whoever gets it. */
const refuseAmbiguous = (bound: Bound | undefined, { path }: Target): Answer | undefined =>
  (bound === undefined || bound.steps.isCatchAll) && hasDotSegments(path) ? ambiguousTarget : undefined;

const isControl = ({ operation }: Bound): boolean => operation.service.name === "emulator";

/** Balancers probe so, and browsers, which the Host header is looked at for, always send one (RFC 9112, 3.2). */
const namesNoHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.0" && headers.host === undefined;

/** Whether a fault took the place of the operation. */
async function isEndedBy(fault: Fault, exchange: Exchange): Promise<boolean> {
  if (fault.latencyMs) await exchange.delay(fault.latencyMs);
  if (fault.reset) {
    exchange.reset();
    return true;
  }
  if (fault.status === undefined) return false;
  const body = fault.body ?? { detail: "A fault that was scripted on the control plane." };
  const headers = Object.entries(fault.headers ?? {});
  const isJson = headers.every(([name]) => name.toLowerCase() !== "content-type");
  const answer = jsonAnswer(fault.status, body, headers.flat());
  // Policies add up: none of its own lets it out of the sandbox.
  const typed = { ...answer, headers: [...headers.flat(), ...sandboxed] };
  await exchange.finish(isJson ? answer : typed, fault);
  return true;
}

/** DECISIONS.md, R2: so that a caller learns that it missed the operation it meant. */
const markCatchAll = (answer: Answer): Answer => ({
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
      printed = isoMillis(second).slice(0, -"000Z".length);
    }
    whole = `${printed}${String(millis).padStart(3, "0")}Z`;
    return whole;
  };
}
