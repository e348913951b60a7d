import type { WallClock } from "../../src/base/clock.ts";
import type { AdvanceResult } from "../published.d.ts";
import type { Cause } from "../store/cause.ts";
import { StateReplacedError, type Store, StoreFailedError } from "../store/port.ts";
import { lastMoment } from "../store/stored-time.ts";
import type { Dispatcher, FinishedEntry } from "./dispatcher.ts";
import { dueSortKeyEnd, type ScheduledEntry, schedule } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** How far to go; times are virtual milliseconds. `untilIdle`: until nothing waits any more. */
export type AdvanceTargetMs =
  | { readonly by: number }
  | { readonly to: number }
  | { readonly next: true }
  | { readonly untilIdle: true };

/** The target is not ahead of the present virtual time: it never goes backwards. */
export class AdvanceTargetInPastError extends Error {
  override readonly name = "AdvanceTargetInPastError";

  constructor() {
    super("Time cannot go backwards: `by` must be a number of milliseconds above 0, `to` a time after the current one");
  }
}

/** The target lies after the last year that has four digits, behind which no timestamp can be written. */
export class AdvanceTargetTooFarError extends Error {
  override readonly name = "AdvanceTargetTooFarError";

  constructor() {
    super("Virtual time ends with the year 9999");
  }
}

/** A delivery waits for its receiver, which may be the one that wants to advance the clock: it would wait for itself. */
export class DeliveryUnderWayError extends Error {
  override readonly name = "DeliveryUnderWayError";
}

/** Limit of wall-clock time without a finished entry, while an advance waits for earlier ones. */
const patienceMs = 1_000;

/** A reason why one advance must stop before its target. */
export interface AdvanceLimits {
  readonly entries: number;
  readonly wallMs: number;
}

interface Parts {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly wall: WallClock;
  readonly dispatcher: Dispatcher;
  readonly caps: AdvanceLimits;
  readonly closing: AbortSignal;
}

/**
 * Advances to the target, entry by entry (DECISIONS.md, P23): wait until nothing runs; take the earliest time at which
 * an entry is due; make it the present; run due entries; repeat; then arrive. Entries that are added meanwhile and are
 * due before the target run too. The clock must be held. `cause`: of the advances, and of the entries that come due
 * earlier by them.
 */
export async function advance(
  parts: Parts,
  from: number,
  target: AdvanceTargetMs,
  cause?: Cause,
): Promise<AdvanceResult> {
  const { store, clock, wall, dispatcher, caps, closing } = parts;
  const deadline = wall.monotonicNow() + caps.wallMs;
  const ran: FinishedEntry[] = [];
  const stop = (reason: AdvanceResult["reason"]) => summary(parts, from, ran, reason);
  const { stopped } = dispatcher;

  let goal = goalOf(target, from);
  let ended = 0;
  dispatcher.onFinished = () => {
    ended += 1;
  };
  const isProgressing = () => {
    const endedBefore = ended;
    ended = 0;
    return endedBefore > 0;
  };
  try {
    // Entries that were due before are awaited but not reported: their number is a matter of chance.
    let arrived = await idleBefore(parts, deadline, isProgressing);
    dispatcher.onFinished = (entry) => ran.push(entry);
    for (;;) {
      if (!arrived && !stopped.aborted) return await stop(closing.aborted ? "closing" : "too_much_wall_time");
      const next = await findFirstAfter(store, clock.now(), goal);
      // No step from one state into another.
      if (stopped.aborted) return await stop(closing.aborted ? "closing" : "state_replaced");
      if (!next) break;
      if (ran.length >= caps.entries) return await stop("too_many_entries");
      if ("next" in target) goal = next.due;
      // Not awaited first: the new time is in the journal before the outcomes of entries that run at it.
      const written = clock.jump(next.due, cause);
      dispatcher.wake();
      [arrived] = await Promise.all([idleBefore(parts, deadline), written]);
    }
    if (!("next" in target || "untilIdle" in target) && goal > clock.now()) await clock.jump(goal, cause);
    await dispatcher.whenIdle();
    return await (stopped.aborted && !closing.aborted ? stop("state_replaced") : summary(parts, from, ran));
  } catch (error) {
    if (error instanceof StateReplacedError) return await stop("state_replaced");
    // Durable steps have happened: a rejection would deny that.
    if (error instanceof StoreFailedError && clock.now() > from) return await stop("store_failed");
    throw error;
  } finally {
    dispatcher.onFinished = undefined;
  }
}

function goalOf(target: AdvanceTargetMs, from: number): number {
  if ("next" in target || "untilIdle" in target) return lastMoment;
  const goal = Math.floor("by" in target ? from + target.by : target.to);
  if (!(goal > from)) throw new AdvanceTargetInPastError();
  if (goal > lastMoment) throw new AdvanceTargetTooFarError();
  return goal;
}

/** The first entry that is due after `now` and not after `last`. */
export async function findFirstAfter(
  store: Store,
  now: number,
  last = lastMoment,
): Promise<ScheduledEntry | undefined> {
  const [first] = await store.read((view) => view.list(schedule, { by: "turn", from: dueSortKeyEnd(now), limit: 1 }));
  return first && first.due <= last ? first : undefined;
}

/**
 * Resolves with true when nothing runs and nothing is due, with false at the deadline or when the emulator closes.
 * Throws DeliveryUnderWayError if `isProgressing`, asked each time that the patience ends, says no.
 */
async function idleBefore(
  { dispatcher, wall, closing }: Parts,
  deadline: number,
  isProgressing?: () => boolean,
): Promise<boolean> {
  const idle = new AbortController();
  const either = AbortSignal.any([idle.signal, closing]);
  void dispatcher.whenIdle().then(() => idle.abort());
  for (let left = deadline - wall.monotonicNow(); left > 0 && !either.aborted; left = deadline - wall.monotonicNow()) {
    await wall.sleep(isProgressing ? patienceMs : left, either);
    if (isProgressing && !either.aborted && !isProgressing()) throw new DeliveryUnderWayError();
  }
  return idle.signal.aborted && !closing.aborted;
}

async function summary(
  { store, clock }: Parts,
  from: number,
  ran: FinishedEntry[],
  reason?: AdvanceResult["reason"],
): Promise<AdvanceResult> {
  const { next_due, pending } = await readQueueStatus(store);
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

/** Waiting entries of the schedule: their number, and when the first is due. */
export const readQueueStatus = (store: Store): Promise<{ next_due: number | null; pending: number }> =>
  store.read(async (view) => {
    const [first] = await view.list(schedule, { by: "turn", limit: 1 });
    return { next_due: first?.due ?? null, pending: await view.count(schedule) };
  });
