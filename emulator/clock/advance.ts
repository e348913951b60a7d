import type { WallClock } from "../../src/base/clock.ts";
import { timedOut, withTimeout } from "../../src/base/timing.ts";
import type { AdvanceResult } from "../published.d.ts";
import {
  type Cause,
  lastTimestampMs,
  StateReplacedError,
  type Store,
  StoreFailedError,
  type View,
} from "../store/port.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { type ScheduledEntry, schedule } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The target of an advance, in virtual milliseconds. `untilIdle` advances until the queue is empty. */
export type AdvanceTargetMs =
  | { readonly by: number }
  | { readonly to: number }
  | { readonly next: true }
  | { readonly untilIdle: true };

export type FinishedEntry = AdvanceResult["ran"][number];

/** The target is not after the present virtual time, which never goes backwards. */
export class AdvanceTargetInPastError extends Error {
  override readonly name = "AdvanceTargetInPastError";

  constructor() {
    super("Time cannot go backwards: `by` must be a number of milliseconds above 0, `to` a time after the current one");
  }
}

/** The target is later than the year 9999, the last year that a timestamp can express. */
export class AdvanceTargetTooFarError extends Error {
  override readonly name = "AdvanceTargetTooFarError";

  constructor() {
    super("Virtual time ends with the year 9999");
  }
}

/** Thrown because the receiver of a delivery may be the caller that advances the clock: waiting could be a deadlock. */
export class DeliveryUnderWayError extends Error {
  override readonly name = "DeliveryUnderWayError";

  constructor() {
    super("A receiver has not responded to a webhook for 1 s. The clock was not advanced");
  }
}

/** Maximum wall-clock time without a finished entry while an advance waits for earlier entries. */
const progressTimeoutMs = 1_000;

/** The reason why an advance must stop before its target. */
export interface AdvanceLimits {
  readonly entries: number;
  readonly wallMs: number;
}

interface AdvanceContext {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly wall: WallClock;
  readonly dispatcher: Dispatcher;
  readonly limits: AdvanceLimits;
  readonly closing: AbortSignal;
}

/**
 * Advances to the target, entry by entry (DECISIONS.md, P23). Each step waits until nothing runs, sets the clock to the
 * next due time and runs the entries that are due. Entries that are added meanwhile and are due before the target run
 * too. The caller must hold the clock. `cause` is the cause of the advance, and of the entries that it makes due.
 */
export async function advance(
  context: AdvanceContext,
  from: number,
  target: AdvanceTargetMs,
  cause?: Cause,
): Promise<AdvanceResult> {
  const { store, clock, wall, dispatcher, limits, closing } = context;
  const deadline = wall.monotonicNow() + limits.wallMs;
  const ran: FinishedEntry[] = [];
  const stop = (reason: AdvanceResult["reason"]) => readPending(context, from, ran, reason);
  const { stopSignal } = dispatcher;

  let goal = resolveGoal(target, from);
  let finishedCount = 0;
  dispatcher.onFinished = () => {
    finishedCount += 1;
  };
  const isProgressing = () => {
    const count = finishedCount;
    finishedCount = 0;
    return count > 0;
  };
  try {
    // Entries that were already due are awaited but not reported, because their number depends on timing.
    let isIdle = await waitUntilIdle(context, deadline, isProgressing);
    dispatcher.onFinished = ({ id, kind, ref }, at, outcome) => ran.push({ id, at, kind, ref, outcome });
    for (;;) {
      if (!isIdle && !stopSignal.aborted) return stop(closing.aborted ? "closing" : "too_much_wall_time");
      const next = findFirstAfter(store, clock.now(), goal);
      // This changes no state.
      if (stopSignal.aborted) return stop(closing.aborted ? "closing" : "state_replaced");
      if (!next) break;
      if (ran.length >= limits.entries) return stop("too_many_entries");
      if ("next" in target) goal = next.due;
      // This is not awaited first: the journal has the new time before the outcomes of the entries that run at it.
      const jump = clock.jump(next.due, cause);
      dispatcher.wake();
      [isIdle] = await Promise.all([waitUntilIdle(context, deadline), jump]);
    }
    if (!("next" in target || "untilIdle" in target) && goal > clock.now()) await clock.jump(goal, cause);
    await dispatcher.waitUntilIdle();
    return stopSignal.aborted && !closing.aborted ? stop("state_replaced") : readPending(context, from, ran);
  } catch (error) {
    if (error instanceof StateReplacedError) return stop("state_replaced");
    // Steps before this one are durable, so a rejection would be wrong.
    if (error instanceof StoreFailedError && clock.now() > from) return stop("store_failed");
    throw error;
  } finally {
    dispatcher.onFinished = undefined;
  }
}

function resolveGoal(target: AdvanceTargetMs, from: number): number {
  if ("next" in target || "untilIdle" in target) return lastTimestampMs;
  const goal = Math.floor("by" in target ? from + target.by : target.to);
  if (!(goal > from)) throw new AdvanceTargetInPastError();
  if (goal > lastTimestampMs) throw new AdvanceTargetTooFarError();
  return goal;
}

export function findFirstAfter(store: Store, now: number, last = lastTimestampMs): ScheduledEntry | undefined {
  const [first] = store.list(schedule, { by: "due", from: now + 1, limit: 1 });
  return first && first.due <= last ? first : undefined;
}

/**
 * Resolves with true when nothing runs and nothing is due, and with false at the deadline or when the emulator closes.
 * Throws DeliveryUnderWayError when `isProgressing` returns false after a wait of `progressTimeoutMs`.
 */
async function waitUntilIdle(
  { dispatcher, wall, closing }: AdvanceContext,
  deadline: number,
  isProgressing?: () => boolean,
): Promise<boolean> {
  const idle = dispatcher.waitUntilIdle();
  for (;;) {
    const waitMs = isProgressing ? progressTimeoutMs : deadline - wall.monotonicNow();
    const isIdle = (await withTimeout(wall, waitMs, idle, closing)) !== timedOut;
    if (isIdle || closing.aborted || wall.monotonicNow() >= deadline) return isIdle && !closing.aborted;
    if (isProgressing?.() === false) throw new DeliveryUnderWayError();
  }
}

function readPending(
  { store, clock }: AdvanceContext,
  from: number,
  ran: FinishedEntry[],
  reason?: AdvanceResult["reason"],
): AdvanceResult {
  const { next_due, pending } = readQueueStatus(store);
  return {
    from,
    to: clock.now(),
    ran: ran.sort((a, b) => a.at - b.at || a.id - b.id),
    next_due,
    pending,
    status: reason ? "stopped" : "done",
    ...(reason && { reason }),
  };
}

/** Reads the whole queue, or the entries of one workspace. */
export function readQueueStatus(view: View, workspaceId?: number): { next_due: number | null; pending: number } {
  if (workspaceId !== undefined) {
    const entries = view.list(schedule, { by: "due" });
    const ownEntries = entries.filter(({ workspace_id }) => workspace_id === workspaceId);
    return { next_due: ownEntries[0]?.due ?? null, pending: ownEntries.length };
  }
  const [first] = view.list(schedule, { by: "due", limit: 1 });
  return { next_due: first?.due ?? null, pending: view.count(schedule) };
}
