import { runAfterDelay, type WallClock } from "../../src/base/clock.ts";
import { parseDuration } from "../../src/base/duration.ts";
import { formatPostgresUrl, parsePostgresUrl } from "../../src/base/postgres-url.ts";
import type { AdvanceTargetMs } from "../clock/advance.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import type { AdvanceTarget, Emulator, EmulatorOptions } from "../published.d.ts";
import type { Cause } from "../store/cause.ts";
import type { CauseRowFactory } from "../store/causes.ts";
import type { DeliveryNotifier } from "../webhooks/record.ts";
import { watchActivity } from "./activity.ts";
import { type CleanupStack, EmulatorClosedError } from "./cleanup-stack.ts";
import type { LeadershipLifecycle } from "./leadership-lifecycle.ts";
import { InvalidOptionsError } from "./options.ts";
import { createSnapshotApi } from "./snapshot-api.ts";

interface EmulatorApiContext {
  readonly terms: LeadershipLifecycle;
  readonly options: EmulatorOptions;
  readonly instanceId: string;
  readonly routerUrl: string;
  readonly file: string | undefined;
  readonly requestLog: RequestLog;
  readonly deliveries: DeliveryNotifier;
  readonly createCauseRow: CauseRowFactory;
  readonly wall: WallClock;
  readonly closing: CleanupStack;
  readonly closeSignal: AbortController;
  readonly startCopy: (document: AsyncIterable<Uint8Array>) => Promise<Emulator>;
}

/** Test runners and supervisors wait longer than a second, so requests and deliveries get this much of it to end. */
const closeMs = 900;

/** The emulator as a program uses it. */
export function createEmulatorApi(parts: EmulatorApiContext): Emulator {
  const { terms, options, instanceId, routerUrl, file, closing, closeSignal } = parts;
  const requireOpen = () => {
    if (closing.begun) throw new EmulatorClosedError();
    return terms.now;
  };
  const { clusters, token } = terms.now;
  return {
    instanceId,
    routerUrl,
    controlUrl: `${routerUrl}/_emulator`,
    clusters,
    token,
    file,
    store: options.store === undefined ? undefined : formatPostgresUrl(parsePostgresUrl(options.store)),
    clock: {
      now: () => terms.latest.clock.now(),
      get mode() {
        return terms.latest.clock.mode;
      },
      get speed() {
        return terms.latest.clock.speed;
      },
      advance: async (move) => requireOpen().runner.advance(parseAdvanceTarget(move), moveCause(parts)),
    },
    ...createSnapshotApi(() => requireOpen().snapshots, parts.startCopy),
    watch: (listener) => watchTerms(parts, listener),
    closed: closing.done,
    close: end,
    [Symbol.asyncDispose]: () => end(),
  };

  function end({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const abort = () => closeSignal.abort();
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    if (options.graceMs === undefined) runAfterDelay(closeMs, abort);
    return closing.run();
  }
}

/** A program advances the clock. */
function moveCause({ terms, requestLog, createCauseRow }: EmulatorApiContext): Cause {
  const { clock } = terms.now;
  const id = `advance:${requestLog.nextNumber()}`;
  return { id, createRow: () => createCauseRow({ id, what: "a program advances the clock", at: clock.now() }) };
}

/** Publishes events whenever this process leads. */
function watchTerms(
  { terms, requestLog, deliveries, wall }: EmulatorApiContext,
  listener: Parameters<Emulator["watch"]>[0],
) {
  let ended: Promise<void> = Promise.resolve();
  let end: () => Promise<void> = async () => {};
  const unwatch = terms.watch((term) => {
    const before = end;
    ended = ended.then(before);
    end = async () => {};
    if (term) end = watchActivity({ store: term.store, clock: term.clock, requestLog, deliveries, wall }, listener);
  });
  return async () => {
    unwatch();
    await ended;
    await end();
  };
}

const shape = "exactly one of by, to, next: true and untilIdle: true is required";

/** Converts a duration to milliseconds. Throws InvalidOptionsError if it is invalid. */
function parseAdvanceTarget(move: AdvanceTarget): AdvanceTargetMs {
  const [name, ...rest] = Object.keys(move ?? {}).filter((key) => move[key as keyof AdvanceTarget] !== undefined);
  if (name === undefined || rest.length > 0) throw new InvalidOptionsError(`clock.advance: ${shape}`);
  if ("by" in move) {
    const by = typeof move.by === "string" ? parseDuration(move.by) : move.by;
    return { by: requireNumber(by, "by", move.by, "milliseconds or a duration (PT2H35M, 2h35m)") };
  }
  if ("to" in move) {
    const to = typeof move.to === "string" ? Date.parse(move.to) : move.to;
    return { to: requireNumber(to, "to", move.to, "milliseconds since the epoch or an ISO time") };
  }
  if ("next" in move && move.next === true) return { next: true };
  if ("untilIdle" in move && move.untilIdle === true) return { untilIdle: true };
  throw new InvalidOptionsError(`clock.advance: ${shape}, got ${name}: ${JSON.stringify(Object.values(move)[0])}`);
}

function requireNumber(value: unknown, name: string, input: unknown, what: string): number {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  throw new InvalidOptionsError(`clock.advance: ${name} must be ${what}, got ${JSON.stringify(input)}`);
}
