import { createHash } from "node:crypto";
import * as z from "zod";
import { addFault, type FaultRule, type OutgoingEffect } from "../../src/api/emulator/faults.ts";
import type { Operation } from "../../src/api/operation.ts";
import { Emitter } from "../../src/base/concurrency.ts";
import { parseDuration } from "../../src/base/quantities.ts";
import { matchesPathPattern } from "../../src/base/urls.ts";
import type { ReceivedRequest, RequestFault, RequestFaultFinder } from "../http/handler.ts";
import type { PostResult } from "../http/outgoing/webhook-sender.ts";
import { isControlPath } from "../http/routing/path.ts";
import type { Cause } from "../store/port.ts";

/** A fault with its rule and the numbers of its matches and applications. */
export interface ScriptedFault {
  readonly id: number;
  readonly rule: FaultRule;
  /** Origin of the fault, which snapshots omit. */
  readonly cause: Cause | undefined;
  matched: number;
  hit: number;
}

/** Faults for the next requests and attempts, as plain data. */
export const StoredFaults = z.strictObject({
  faults: z.array(z.strictObject({ id: z.int(), rule: addFault.request.body.schema, matched: z.int(), hit: z.int() })),
  last_id: z.int(),
  put_off: z.array(z.string()),
});
export type StoredFaults = z.infer<typeof StoredFaults>;

/** Faults of one emulator in memory, oldest first. `clear` restarts IDs from 1. */
export class Faults {
  #faults: ScriptedFault[] = [];
  #lastId = 0;
  /**
   * Scheduled attempts that a fault has postponed, as `<delivery>/<number>`. When they are due again, they are sent
   * regardless of faults.
   */
  readonly postponedAttempts = new Set<string>();
  readonly #changes = new Emitter();
  /** Calls the function when faults or their counts change. Returns a function that removes the listener. */
  readonly watch = this.#changes.watch;

  add(rule: FaultRule, cause?: Cause): ScriptedFault {
    this.#lastId += 1;
    const fault = { id: this.#lastId, rule, cause, matched: 0, hit: 0 };
    this.#faults.push(fault);
    this.#changes.emit();
    return fault;
  }

  /** True if no fault and no postponed attempt exists, which is the common case. */
  get isIdle(): boolean {
    return this.#faults.length === 0 && this.postponedAttempts.size === 0;
  }

  list(): readonly Readonly<ScriptedFault>[] {
    return this.#faults;
  }

  /** Returns false if no fault has that ID. */
  remove(id: number): boolean {
    const previousCount = this.#faults.length;
    this.#faults = this.#faults.filter((fault) => fault.id !== id);
    this.#changes.emit();
    return this.#faults.length < previousCount;
  }

  clear(): void {
    this.#faults = [];
    this.#lastId = 0;
    this.postponedAttempts.clear();
    this.#changes.emit();
  }

  /** Returns the current state, including counts, which `replaceState` restores. */
  toStored(): StoredFaults {
    const faults = this.#faults.map(({ id, rule, matched, hit }) => ({ id, rule, matched, hit }));
    return { faults, last_id: this.#lastId, put_off: [...this.postponedAttempts] };
  }

  replaceState({ faults, last_id, put_off }: StoredFaults): void {
    this.clear();
    this.#faults = faults.map((fault) => ({ ...fault, cause: undefined }));
    this.#lastId = last_id;
    for (const attempt of put_off) this.postponedAttempts.add(attempt);
  }

  /** Returns the oldest match that applies. Counts all matches, so it must be called once per request or attempt. */
  recordMatch(matches: (rule: FaultRule) => boolean): ScriptedFault | undefined {
    let hitFault: ScriptedFault | undefined;
    for (const fault of this.#faults) {
      if (!matches(fault.rule)) continue;
      fault.matched += 1;
      this.#changes.emit();
      if (hitFault || !isHit(fault)) continue;
      fault.hit += 1;
      hitFault = fault;
    }
    return hitFault;
  }
}

const isHit = ({ rule, matched, hit }: ScriptedFault): boolean =>
  matched >= rule.nth && (rule.count === undefined || hit < rule.count) && drawRandom(rule.seed, matched) < rule.chance;

/** Returns a number from 0 to below 1, which is the same for the same seed and match. */
const drawRandom = (seed: number, match: number): number =>
  createHash("sha256").update(`${seed}/${match}`).digest().readUInt32BE(0) / 2 ** 32;

export interface PendingAttempt {
  readonly delivery: { readonly id: number };
  /** Number among the scheduled attempts, from 1. Null for a resend. */
  readonly scheduledNumber: number | null;
  readonly event: { readonly activity: string; readonly contract_id?: number | null | undefined };
  readonly webhook: { readonly id: number; readonly url: string };
}

/** The bytes to be signed and sent. */
export interface OutgoingMessage {
  readonly body: Uint8Array;
  readonly hmacKey: string;
  /** Bytes that are sent instead of `body`. The signature is still that of `body`. */
  readonly sentBody?: Uint8Array;
}

/** Performs an attempt with a fault. It may call `send` twice or not at all. */
export type SendAttempt = (
  message: OutgoingMessage,
  send: (message: OutgoingMessage) => Promise<PostResult>,
) => Promise<PostResult>;

/** The postponement of an attempt by a virtual time, or until after the webhook's next attempt. */
export interface AttemptPostponement {
  readonly byMs: number;
  readonly isAfterNext: boolean;
}

/** The effect on an attempt, in one word, and the fault. */
export interface AppliedFault {
  readonly effect: string;
  readonly cause: Cause | undefined;
}

/** Counts matches, so it must be called exactly once, at the start of an attempt. */
export type FaultInterceptor = (
  attempt: PendingAttempt,
) => (AppliedFault & ({ readonly postponement: AttemptPostponement } | { readonly send: SendAttempt })) | undefined;

type MatchedRequest = Pick<ReceivedRequest, "method" | "target" | "parsedTarget" | "headers">;

/** `isForwarded` reports whether the router of this emulator sent the request. */
export function createIncomingFaultFinder(
  faults: Faults,
  isForwarded: (request: MatchedRequest) => boolean,
): RequestFaultFinder {
  return (request, operation) => {
    if (faults.list().length === 0 || isFaultControl(request, operation)) return undefined;
    const isForwardedRequest = isForwarded(request);
    const fault = faults.recordMatch(
      (rule) => rule.direction === "incoming" && matchesRequest(rule, request, operation, isForwardedRequest),
    );
    return fault && toRequestFault(fault);
  };
}

/** Faults must not affect the operations that remove faults. */
const isFaultControl = ({ parsedTarget }: MatchedRequest, operation: Operation | undefined): boolean =>
  operation ? operation.service.name === "emulator" : isControlPath(parsedTarget.path);

function matchesRequest(
  rule: FaultRule,
  request: MatchedRequest,
  operation: Operation | undefined,
  isForwarded: boolean,
) {
  // A client's request counts once, although the router forwards the request to a listener of the same emulator.
  if (isForwarded && rule.service === undefined && rule.operation === undefined) return false;
  return (
    (rule.service === undefined || rule.service === operation?.service.name) &&
    (rule.operation === undefined || rule.operation === operation?.id) &&
    (rule.method === undefined || rule.method === request.method) &&
    (rule.path === undefined || matchesPathPattern(request.target, rule.path)) &&
    (rule.header === undefined || hasHeader(request, rule.header))
  );
}

/** Returns whether a request has a header. `name` matches any value, and `name: value` matches only that value. */
function hasHeader({ headers }: MatchedRequest, pattern: string): boolean {
  const colon = pattern.indexOf(":");
  const name = (colon < 0 ? pattern : pattern.slice(0, colon)).trim().toLowerCase();
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return colon < 0 ? value !== undefined : value === pattern.slice(colon + 1).trim();
}

function toRequestFault({ rule, cause }: ScriptedFault): RequestFault {
  const { latency_ms, reset, status, response_headers, response_body, truncated } = rule;
  const effect = describeEffect(rule);
  return {
    effect: cause ? `${effect} (${cause.id})` : effect,
    latencyMs: latency_ms,
    reset,
    status,
    headers: response_headers,
    body: response_body,
    truncated,
  };
}

/** Describes the effects in the order in which they are applied: `wait 50 ms, status 503`. */
const describeEffect = ({ latency_ms, reset, status, truncated }: FaultRule): string =>
  [
    latency_ms !== undefined && `wait ${latency_ms} ms`,
    reset && "reset",
    status !== undefined && `status ${status}`,
    truncated && "truncated",
  ]
    .filter((word) => word)
    .join(", ");

export function createOutgoingFaultInterceptor(faults: Faults): FaultInterceptor {
  return (pendingAttempt) => {
    if (faults.isIdle) return undefined;
    const attemptKey = `${pendingAttempt.delivery.id}/${pendingAttempt.scheduledNumber}`;
    if (faults.postponedAttempts.delete(attemptKey)) return undefined;
    const fault = faults.recordMatch((rule) => rule.direction === "outgoing" && matchesAttempt(rule, pendingAttempt));
    if (!fault?.rule.effect) return undefined;
    const { effect, delay = "PT1M" } = fault.rule;
    const { cause } = fault;
    if (effect !== "delay" && effect !== "reorder") return { effect, cause, send: attemptSenders[effect](fault.id) };
    faults.postponedAttempts.add(attemptKey);
    return { effect, cause, postponement: { byMs: parseDuration(delay)!, isAfterNext: effect === "reorder" } };
  };
}

function matchesAttempt(rule: FaultRule, { webhook, event, scheduledNumber }: PendingAttempt): boolean {
  // A request for a resend waits for the response, so these effects would block it.
  if (scheduledNumber === null && (rule.effect === "delay" || rule.effect === "reorder")) return false;
  return (
    (rule.webhook === undefined || rule.webhook === webhook.id) &&
    (rule.activity === undefined || rule.activity === event.activity) &&
    (rule.contract === undefined || rule.contract === event.contract_id) &&
    (rule.attempt === undefined || rule.attempt === scheduledNumber) &&
    (rule.path === undefined || matchesPathPattern(new URL(webhook.url).pathname, rule.path))
  );
}

const attemptSenders: Readonly<Record<Exclude<OutgoingEffect, "delay" | "reorder">, (faultId: number) => SendAttempt>> =
  {
    duplicate: () => async (message, send) => {
      await send(message);
      return send(message);
    },
    drop: () => async () => ({ error: { code: "dropped", message: "A scripted fault prevented this attempt." } }),
    tamper: () => (message, send) => send({ ...message, sentBody: tamperWithBody(message.body) }),
    wrong_key: (id) => (message, send) => send({ ...message, hmacKey: deriveWrongKey(id) }),
  };

/** Changes the body so that it stays valid JSON. Only the signature reveals the change. */
const tamperWithBody = (body: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(body).toString("utf8").replace("{", '{"tampered":true,'));

const deriveWrongKey = (faultId: number): string =>
  createHash("sha512").update(`wrong key ${faultId}`).digest("base64");
