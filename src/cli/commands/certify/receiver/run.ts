import type { WallClock } from "../../../../base/clock.ts";
import { behaviorChecks, responseTimeCheck } from "./behavior-checks.ts";
import { type Check, type CheckFinding, type CheckRun, describeReply, type Exchange } from "./check.ts";
import type { Emulation } from "./emulation.ts";
import { genuineCheck, genuineChecks } from "./genuine-checks.ts";
import type { Probe } from "./probe.ts";
import { probeCheck, probeChecks } from "./probe-checks.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import {
  createSender,
  type Delivery,
  hasSucceeded,
  hasTimedOut,
  isAccepted,
  type Reply,
  responseTimeoutMs,
} from "./sender.ts";
import { signatureChecks } from "./signature-checks.ts";

/** All checks in execution order. The position of a check determines its event numbers. */
export const allChecks: readonly Check[] = [
  genuineCheck,
  responseTimeCheck,
  probeCheck,
  ...genuineChecks,
  ...signatureChecks,
  ...behaviorChecks,
  ...probeChecks,
];

export interface CheckedItem extends CheckFinding {
  readonly check: Check;
  readonly exchanges: readonly Exchange[];
  readonly durationMs: number;
  /** Exit of the receiver during the check, such as `exit code 3`. */
  readonly receiverEnd?: string;
  /** Whether the receiver also ended when the check ran alone. */
  readonly endsReceiver?: boolean;
  /** Whether the time limit is the only reason for `not_checked`. */
  readonly isCutOff?: boolean;
}

export interface RunOptions extends Pick<Emulation, "deliveries" | "retryLate"> {
  readonly url: string;
  readonly checks: readonly Check[];
  readonly probe: Probe | undefined;
  readonly receiver: ReceiverProcess | undefined;
  readonly wall: WallClock;
  readonly signal: AbortSignal;
  /** Time limit of all checks together. Checks after the limit are skipped. */
  readonly maxMs: number;
  /** Called after each delivery, including repeated deliveries. */
  readonly onExchange: ((check: Check, exchange: Exchange) => void) | undefined;
  readonly onChecked: (item: CheckedItem) => Promise<void>;
}

/** Response time from which a receiver gets concurrent deliveries. */
const minSlowMs = 150;
const slowConcurrency = 16;
/** Duration of a check with a probe. */
const probeMs = 2_000;
const maxRestarts = 10;
/** Events of one check have consecutive numbers. A repeated check uses other numbers, so that its events are new. */
const numbersPerCheck = 200;
const repeatedNumberOffset = 100;

/** Runs the checks and returns their results in order. Checks that depend on a genuine delivery run after it. */
export async function runChecks(options: RunOptions): Promise<readonly CheckedItem[]> {
  const { checks, wall, signal, receiver, onChecked, maxMs } = options;
  const startedAt = wall.monotonicNow();
  const pace = { bestMs: 0, isSlow: false };
  const items = new Map<string, CheckedItem>();
  let restarts = 0;
  let isRefusing = false;
  let last: Check | undefined;

  const record = async (item: CheckedItem) => {
    if (item.exchanges.length > 0) last = item.check;
    items.set(item.check.id, item);
    if (checks.includes(item.check)) await onChecked(item);
  };
  const skip = (check: Check, detail: string) => record({ ...toUnmadeItem(check), detail });

  const mustRestart = () => receiver !== undefined && (receiver.end !== undefined || isRefusing);

  /** Records that a receiver responded to the last check and ended afterwards. */
  function noteLateEnd(): void {
    const ended = last && items.get(last.id);
    if (ended && !ended.receiverEnd && receiver?.end) items.set(ended.check.id, addReceiverEnd(ended, receiver.end));
  }

  /** Restarts a receiver that has ended. Returns false after too many restarts. */
  async function restart(): Promise<boolean> {
    if (restarts === maxRestarts) return false;
    restarts += 1;
    isRefusing = false;
    await receiver!.stop();
    await receiver!.start();
    return true;
  }

  /** Runs one check. Returns undefined if the receiver refused the connection. */
  async function attemptCheck(check: Check, further = 0): Promise<CheckedItem | undefined> {
    const leftMs = maxMs - (wall.monotonicNow() - startedAt);
    const cutOff = `the time limit of ${maxMs / 1_000} s was reached (--time-limit)`;
    if (leftMs <= (check.requires === "probe" ? probeMs : 0)) {
      return { ...toUnmadeItem(check), detail: cutOff, isCutOff: true };
    }
    const item = await runCheck(check, options, pace, Math.min(responseTimeoutMs, leftMs), further);
    if (isRefused(item)) return undefined;
    const receiverEnd = isBroken(item) ? await receiver?.getEndAfterBreak() : receiver?.end;
    if (receiverEnd !== undefined) return addReceiverEnd(item, receiverEnd);
    if (item.result === "passed" || leftMs >= responseTimeoutMs || !isTooLate(item)) return item;
    return { ...item, result: "not_checked", detail: cutOff, isCutOff: true };
  }

  /**
   * Runs these checks with limited concurrency. If the receiver ends, the checks with broken connections are repeated
   * sequentially to find the cause.
   */
  async function make(list: readonly Check[], concurrency = 1): Promise<void> {
    for (let waiting = list; waiting.length > 0; ) {
      const left: Check[] = [];
      const ended: CheckedItem[] = [];
      noteLateEnd();
      const hasGivenUp = mustRestart() && !(await restart());
      await runInTurn(waiting, concurrency, signal, async (check) => {
        const reason = findReasonToSkip(check, items, options);
        if (reason !== undefined) return skip(check, reason);
        if (hasGivenUp) return skip(check, "the receiver ended again and again");
        if (mustRestart()) return void left.push(check);
        const item = await attemptCheck(check);
        if (item?.receiverEnd) ended.push(item);
        else if (item) await record(item);
        else if (!receiver) await skip(check, "the receiver no longer accepts connections");
        else {
          isRefusing = true;
          left.push(check);
        }
      });
      await repeatChecks(ended);
      signal.throwIfAborted();
      waiting = left;
    }
  }

  /** Repeats checks sequentially. If no check ends the receiver alone, all of them count as failed. */
  async function repeatChecks(ended: readonly CheckedItem[]): Promise<void> {
    const again: CheckedItem[] = [];
    for (const item of ended) {
      const isRunning = !mustRestart() || (await restart());
      const repeated = isRunning ? await attemptCheck(item.check, repeatedNumberOffset) : undefined;
      again.push(repeated?.receiverEnd ? toEndedAgain(repeated) : (repeated ?? item));
    }
    const isExplained = again.some(({ endsReceiver }) => endsReceiver);
    for (const item of isExplained ? again : ended) await record(item);
  }

  const first = await makeGenuine(options, pace);
  const firstExit = isBroken(first) ? await receiver?.getEndAfterBreak() : receiver?.end;
  await record(firstExit === undefined ? first : addReceiverEnd(first, firstExit));
  if (checks.includes(responseTimeCheck)) await make([responseTimeCheck]);
  if (checks.includes(probeCheck) || checks.some(({ requires }) => requires === "probe")) await make([probeCheck]);
  const others = checks.filter((check) => !items.has(check.id));
  // Sequential checks need the results of earlier ones.
  const single = others.filter(({ expects, requires }) => expects !== "other" && requires === undefined);
  await make(single, pace.bestMs >= minSlowMs ? slowConcurrency : 1);
  await make(others.filter((check) => !single.includes(check)));
  noteLateEnd();
  signal.throwIfAborted();
  return allChecks.flatMap((check) => items.get(check.id) ?? []);
}

const toUnmadeItem = (check: Check) => ({ check, result: "not_checked" as const, exchanges: [], durationMs: 0 });

/** Marks a check as failed, because a receiver that ends has not handled the delivery. */
const addReceiverEnd = (item: CheckedItem, receiverEnd: string): CheckedItem => ({
  ...item,
  result: "failed",
  detail: `the receiver ended with ${receiverEnd} during this check`,
  receiverEnd,
});

/** Marks a check that ends the receiver each time. A rejected delivery stays a warning. */
const toEndedAgain = (item: CheckedItem): CheckedItem => ({
  ...item,
  result:
    item.check.expects === "reject" && !item.exchanges.some(({ reply }) => hasSucceeded(reply)) ? "warning" : "failed",
  endsReceiver: true,
});

/** Sends the first deliveries. Their duration determines the concurrency of the other checks. */
async function makeGenuine(options: RunOptions, pace: { bestMs: number; isSlow: boolean }): Promise<CheckedItem> {
  const made = await runCheck(genuineCheck, options, pace, responseTimeoutMs);
  const [first] = made.exchanges;
  pace.bestMs = first?.reply.durationMs ?? 0;
  // The first request of a new process is not representative.
  if (pace.bestMs >= minSlowMs && first?.reply.error === undefined) {
    const again = await runCheck(genuineCheck, options, pace, responseTimeoutMs, 1);
    pace.bestMs = Math.min(pace.bestMs, again.exchanges[0]?.reply.durationMs ?? pace.bestMs);
  }
  pace.isSlow = pace.bestMs >= 2 * minSlowMs;
  return made;
}

async function runCheck(
  check: Check,
  options: RunOptions,
  pace: CheckRun["pace"],
  timeoutMs: number,
  skipped = 0,
): Promise<CheckedItem> {
  const { url, deliveries, retryLate, probe, wall, signal } = options;
  const onReply = (delivery: Delivery, reply: Reply) => options.onExchange?.(check, { delivery, reply });
  const sender = createSender({ url, wall, signal, timeoutMs, onReply });
  const exchanges: Exchange[] = [];
  const startedAt = wall.monotonicNow();
  const position = allChecks.indexOf(check) + 1;
  const finding = await check.run({
    deliveries,
    probe,
    pace,
    getEventNumber: (further = 0) => position * numbersPerCheck + further + skipped,
    async send(delivery) {
      const place = exchanges.push({ delivery, reply: missingReply }) - 1;
      const reply = await sender(delivery);
      exchanges[place] = { delivery, reply };
      return reply;
    },
    async retryLate(number) {
      const sent = await retryLate(number);
      exchanges.push(sent);
      return sent;
    },
  });
  signal.throwIfAborted();
  const isInconclusive = finding.result !== "passed" && isTooLate({ exchanges }) && pace.isSlow;
  return {
    check,
    ...(isInconclusive ? ({ result: "not_checked", detail: "the receiver is too slow for it" } as const) : finding),
    exchanges,
    durationMs: wall.monotonicNow() - startedAt,
  };
}

/**
 * Reports whether a delivery timed out without a status. A 2xx status for a forged delivery is conclusive despite a
 * timeout.
 */
const isTooLate = ({ exchanges }: Pick<CheckedItem, "exchanges">): boolean =>
  exchanges.some(({ reply }) => hasTimedOut(reply));

/** Reports whether a connection broke. Connections break when the receiver ends. */
const isBroken = ({ exchanges }: CheckedItem): boolean =>
  exchanges.some(({ reply }) => ["closed", "refused", "unreachable"].includes(reply.error?.code ?? ""));

/** Reports whether the receiver refused the first connection because it has ended. */
const isRefused = ({ exchanges }: CheckedItem): boolean => exchanges[0]?.reply.error?.code === "refused";

const missingReply = {
  status: undefined,
  error: { code: "unreachable", message: "nothing was received" },
  durationMs: 0,
  body: "",
} as const;

/** Finds the reason why a check would prove nothing. Returns undefined if the check can run. */
function findReasonToSkip(
  { requires }: Check,
  items: ReadonlyMap<string, CheckedItem>,
  options: Pick<RunOptions, "probe">,
): string | undefined {
  if (requires === "probe" && !options.probe) return "--probe is not given";
  const first = items.get(genuineCheck.id)?.exchanges[0]?.reply;
  if (first?.error && first.error.code !== "closed") return `the first delivery failed: ${describeReply(first)}`;
  const probe = items.get(probeCheck.id);
  if (requires !== "probe" || !probe || probe.result === "passed") return undefined;
  return probe.result === "not_checked" ? probe.detail : `the probe does not work: ${probe.detail}`;
}

async function runInTurn<T>(
  list: readonly T[],
  concurrency: number,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...list];
  const runWorker = async () => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: concurrency }, runWorker));
}

/** Reports whether the receiver accepted a genuine delivery. Otherwise, a rejection proves nothing. */
export const acceptsAny = (items: readonly CheckedItem[]): boolean =>
  items.some(({ check, exchanges }) => check.expects === "accept" && exchanges.some(({ reply }) => isAccepted(reply)));
