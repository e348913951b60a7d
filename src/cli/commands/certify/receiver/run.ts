import type { WallClock } from "../../../../base/clock.ts";
import { runConcurrently } from "../../../../base/run-concurrently.ts";
import { behaviorChecks, responseTimeCheck } from "./behavior-checks.ts";
import { type CheckFinding, describeResponse, type ReceiverCheck, type ReceiverExchange } from "./check.ts";
import type { CertificationEmulator } from "./emulation.ts";
import { genuineCheck, genuineChecks } from "./genuine-checks.ts";
import type { ReceiverProbe } from "./probe.ts";
import { probeCheck, probeChecks } from "./probe-checks.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import { hasSucceeded, hasTimedOut, maxResponseMs, type ReceiverResponse, sendDelivery } from "./sender.ts";
import { signatureChecks } from "./signature-checks.ts";

/** All checks in execution order. The position of a check determines its event numbers. */
export const allReceiverChecks: readonly ReceiverCheck[] = [
  genuineCheck,
  responseTimeCheck,
  probeCheck,
  ...genuineChecks,
  ...signatureChecks,
  ...behaviorChecks,
  ...probeChecks,
];

export interface ReceiverCheckResult extends CheckFinding {
  readonly check: ReceiverCheck;
  readonly exchanges: readonly ReceiverExchange[];
  readonly durationMs: number;
  /** Exit of the receiver during the check, such as `exit code 3`. */
  readonly receiverEnd?: string;
  /** Whether the receiver also ended when the check ran alone. */
  readonly endsReceiver?: boolean;
  /** Whether the time limit is the only reason for `not_checked`. */
  readonly isCutOff?: boolean;
}

export interface CheckRunOptions extends Pick<CertificationEmulator, "deliveries" | "retryLate"> {
  readonly url: string;
  readonly checks: readonly ReceiverCheck[];
  readonly probe: ReceiverProbe | undefined;
  readonly receiver: ReceiverProcess | undefined;
  readonly wall: WallClock;
  readonly signal: AbortSignal;
  /** Time limit of all checks together. Checks after the limit are skipped. */
  readonly maxMs: number;
  /** Called after each delivery, including repeated deliveries. */
  readonly onExchange: (check: ReceiverCheck, exchange: ReceiverExchange) => void;
  readonly onChecked: (item: ReceiverCheckResult) => Promise<void>;
}

/** Response time from which a receiver gets concurrent deliveries. */
const minSlowMs = 150;
const maxConcurrency = 16;
/** Duration of a check with a probe. */
const defaultProbeCheckMs = 2_000;
/** Events of one check have consecutive numbers. A repeated check uses other numbers, so that its events are new. */
const maxEventNumbersPerCheck = 200;
const repeatedNumberOffset = 100;

/** Runs the checks and returns their results in order. Checks that depend on a genuine delivery run after it. */
export async function runChecks(options: CheckRunOptions): Promise<readonly ReceiverCheckResult[]> {
  const { url, deliveries, probe, checks, wall, signal, receiver, onExchange, onChecked, maxMs } = options;
  const startedAt = wall.monotonicNow();
  const pace = { bestMs: 0, isSlow: false };
  const items = new Map<string, ReceiverCheckResult>();
  let isRefusing = false;
  let last: ReceiverCheck | undefined;

  const record = async (item: ReceiverCheckResult) => {
    if (item.exchanges.length > 0) last = item.check;
    items.set(item.check.id, item);
    if (checks.includes(item.check)) await onChecked(item);
  };
  const skip = (check: ReceiverCheck, detail: string) => record(createUncheckedItem(check, detail));

  /** Marks a check as failed if the receiver ended during it. */
  async function addEnd(item: ReceiverCheckResult): Promise<ReceiverCheckResult> {
    const end = isBroken(item) ? await receiver?.getEndAfterBreak() : receiver?.exitDescription;
    return end === undefined ? item : markEnded(item, end);
  }

  const mustRestart = () => receiver !== undefined && (receiver.exitDescription !== undefined || isRefusing);

  /** Records that a receiver responded to the last check and ended afterwards. */
  function recordLateEnd(): void {
    const lastItem = last && items.get(last.id);
    if (lastItem && !lastItem.receiverEnd && receiver?.exitDescription)
      items.set(lastItem.check.id, markEnded(lastItem, receiver.exitDescription));
  }

  /** Restarts a receiver that has ended. The time limit also limits the restarts. */
  async function restartIfEnded(): Promise<void> {
    if (!mustRestart()) return;
    isRefusing = false;
    await receiver!.stop();
    await receiver!.start();
  }

  /** Runs one check. Returns undefined if the receiver refused the connection. */
  async function attemptCheck(check: ReceiverCheck, further = 0): Promise<ReceiverCheckResult | undefined> {
    const leftMs = maxMs - (wall.monotonicNow() - startedAt);
    const cutOff = `the time limit of ${maxMs / 1_000} s was reached (--time-limit)`;
    if (leftMs <= (check.requires === "probe" ? defaultProbeCheckMs : 0)) {
      return { ...createUncheckedItem(check, cutOff), isCutOff: true };
    }
    const result = await runCheck(check, Math.min(maxResponseMs, leftMs), further);
    if (result.exchanges[0]?.response.error?.code === "refused") return undefined;
    const item = await addEnd(result);
    if (item.receiverEnd || item.result === "passed" || leftMs >= maxResponseMs || !isTooLate(item)) return item;
    return { ...item, result: "not_checked", detail: cutOff, isCutOff: true };
  }

  /**
   * Runs these checks with limited concurrency. If the receiver ends, the checks with broken connections are repeated
   * sequentially to find the cause.
   */
  async function runAll(list: readonly ReceiverCheck[], concurrency = 1): Promise<void> {
    for (let waiting = list; waiting.length > 0; ) {
      const unfinished: ReceiverCheck[] = [];
      const lateEnds: ReceiverCheckResult[] = [];
      recordLateEnd();
      await restartIfEnded();
      const attempt = async (check: ReceiverCheck) => {
        const reason = findReasonToSkip(check);
        if (reason !== undefined) return skip(check, reason);
        if (mustRestart()) return void unfinished.push(check);
        const item = await attemptCheck(check);
        if (item?.receiverEnd) lateEnds.push(item);
        else if (item) await record(item);
        else if (!receiver) await skip(check, "the receiver no longer accepts connections");
        else {
          isRefusing = true;
          unfinished.push(check);
        }
      };
      await runConcurrently(waiting, concurrency, attempt, signal);
      await repeatChecks(lateEnds);
      signal.throwIfAborted();
      waiting = unfinished;
    }
  }

  /** Repeats checks sequentially. If no check ends the receiver alone, all of them count as failed. */
  async function repeatChecks(lateEnds: readonly ReceiverCheckResult[]): Promise<void> {
    const retries: ReceiverCheckResult[] = [];
    for (const item of lateEnds) {
      await restartIfEnded();
      const retryResult = await attemptCheck(item.check, repeatedNumberOffset);
      retries.push(retryResult?.receiverEnd ? markRepeatedEnd(retryResult) : (retryResult ?? item));
    }
    const isExplained = retries.some(({ endsReceiver }) => endsReceiver);
    for (const item of isExplained ? retries : lateEnds) await record(item);
  }

  /** Sends the first deliveries. Their duration determines the concurrency of the other checks. */
  async function runGenuineCheck(): Promise<ReceiverCheckResult> {
    const result = await runCheck(genuineCheck, maxResponseMs);
    const response = result.exchanges[0]?.response;
    pace.bestMs = response?.durationMs ?? 0;
    // The first request of a new process is not representative.
    if (pace.bestMs >= minSlowMs && response?.error === undefined) {
      const secondResponse = (await runCheck(genuineCheck, maxResponseMs, 1)).exchanges[0]?.response;
      pace.bestMs = Math.min(pace.bestMs, secondResponse?.durationMs ?? pace.bestMs);
    }
    pace.isSlow = pace.bestMs >= 2 * minSlowMs;
    return result;
  }

  async function runCheck(check: ReceiverCheck, timeoutMs: number, skippedCount = 0): Promise<ReceiverCheckResult> {
    const exchanges: ReceiverExchange[] = [];
    const startedAt = wall.monotonicNow();
    const position = allReceiverChecks.indexOf(check) + 1;
    const finding = await check.run({
      deliveries,
      probe,
      pace,
      getEventNumber: (further = 0) => position * maxEventNumbersPerCheck + further + skippedCount,
      async send(delivery) {
        // The exchanges are listed in the order of the requests, and every check waits for all its responses.
        const exchange = { delivery, response: undefined as unknown as ReceiverResponse };
        exchanges.push(exchange);
        exchange.response = await sendDelivery(delivery, { url, wall, signal, timeoutMs });
        onExchange(check, exchange);
        return exchange.response;
      },
      async retryLate(number) {
        const retryExchange = await options.retryLate(number);
        exchanges.push(retryExchange);
        return retryExchange;
      },
    });
    signal.throwIfAborted();
    const isInconclusive = finding.result !== "passed" && isTooLate({ exchanges }) && pace.isSlow;
    return {
      check,
      ...(isInconclusive
        ? ({ result: "not_checked", detail: "the receiver is too slow for this check" } as const)
        : finding),
      exchanges,
      durationMs: wall.monotonicNow() - startedAt,
    };
  }

  /** Finds the reason why a check would prove nothing. Returns undefined if the check can run. */
  function findReasonToSkip({ requires }: ReceiverCheck): string | undefined {
    if (requires === "probe" && !probe) return "--probe is not given";
    const first = items.get(genuineCheck.id)?.exchanges[0]?.response;
    if (first?.error && first.error.code !== "closed") return `the first delivery failed: ${describeResponse(first)}`;
    const probeResult = items.get(probeCheck.id);
    if (requires !== "probe" || !probeResult || probeResult.result === "passed") return undefined;
    return probeResult.result === "not_checked" ? probeResult.detail : `the probe does not work: ${probeResult.detail}`;
  }

  await record(await addEnd(await runGenuineCheck()));
  if (checks.includes(responseTimeCheck)) await runAll([responseTimeCheck]);
  if (checks.includes(probeCheck) || checks.some(({ requires }) => requires === "probe")) await runAll([probeCheck]);
  const remainingChecks = checks.filter((check) => !items.has(check.id));
  // Sequential checks need the results of earlier ones.
  const single = remainingChecks.filter(({ expects, requires }) => expects !== "other" && requires === undefined);
  await runAll(single, pace.bestMs >= minSlowMs ? maxConcurrency : 1);
  await runAll(remainingChecks.filter((check) => !single.includes(check)));
  recordLateEnd();
  signal.throwIfAborted();
  return allReceiverChecks.flatMap((check) => items.get(check.id) ?? []);
}

const createUncheckedItem = (check: ReceiverCheck, detail: string): ReceiverCheckResult => ({
  check,
  result: "not_checked",
  detail,
  exchanges: [],
  durationMs: 0,
});

/** Marks a check as failed, because a receiver that ends has not handled the delivery. */
const markEnded = (item: ReceiverCheckResult, receiverEnd: string): ReceiverCheckResult => ({
  ...item,
  result: "failed",
  detail: `the receiver ended with ${receiverEnd} during this check`,
  receiverEnd,
});

/** Marks a check that ends the receiver each time. A rejected delivery stays a warning. */
const markRepeatedEnd = (item: ReceiverCheckResult): ReceiverCheckResult => ({
  ...item,
  result:
    item.check.expects === "reject" && !item.exchanges.some(({ response }) => hasSucceeded(response))
      ? "warning"
      : "failed",
  endsReceiver: true,
});

/**
 * Reports whether a delivery timed out without a status. A 2xx status for a forged delivery is conclusive despite a
 * timeout.
 */
const isTooLate = ({ exchanges }: Pick<ReceiverCheckResult, "exchanges">): boolean =>
  exchanges.some(({ response }) => hasTimedOut(response));

/** Reports whether a connection broke, as it does when the receiver ends. */
const isBroken = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => ["closed", "refused", "unreachable"].includes(response.error?.code ?? ""));
