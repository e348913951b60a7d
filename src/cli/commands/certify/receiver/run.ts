import type { WallClock } from "../../../../base/clock.ts";
import { runConcurrently } from "../../../../base/concurrency.ts";
import { type CheckFinding, notChecked } from "../check.ts";
import { describeResponse, type ReceiverCheck, type ReceiverExchange, type ReceiverProbe } from "./check.ts";
import {
  type EventOptions,
  hasTimedOut,
  isAccepted,
  maxEventNumbersPerCheck,
  maxResponseMs,
  type ReceiverResponse,
  sendDelivery,
} from "./delivery.ts";
import { genuineCheck, responseTimeCheck, signatureChecks, variantChecks } from "./delivery-checks.ts";
import type { CertificationEmulator } from "./emulation.ts";
import { probeCheck, probeChecks } from "./probe.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import { concurrencyChecks, sequenceChecks } from "./sequence-checks.ts";

/** All checks in execution order. The position of a check determines its event numbers. */
export const allReceiverChecks: readonly ReceiverCheck[] = [
  genuineCheck,
  responseTimeCheck,
  probeCheck,
  ...variantChecks,
  ...signatureChecks,
  ...sequenceChecks,
  ...probeChecks,
  ...concurrencyChecks,
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

interface CheckRunOptions extends Pick<CertificationEmulator, "deliveries" | "retryLate"> {
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
/** Remaining time in which a check with a probe is started. */
const minProbeCheckMs = 2_000;
/** Repeated checks use other numbers, so that their events are new. */
const repeatedNumberOffset = 100;
const unavailableNumberOffset = 50;
/** Contract IDs stay below 2^31. */
const maxEventNumbersPerRun = 10_000;
const maxRunNumber = 100_000;

/** Runs the checks and returns their results in order. Checks that depend on a genuine delivery run after it. */
export async function runChecks(options: CheckRunOptions): Promise<readonly ReceiverCheckResult[]> {
  const { url, checks, deliveries, probe, receiver, wall, signal, maxMs } = options;
  const deadline = wall.monotonicNow() + maxMs;
  const pace = { bestMs: 0, isSlow: false };
  const items = new Map<ReceiverCheck, ReceiverCheckResult>();
  /** Check of the last deliveries. */
  let last: ReceiverCheck | undefined;
  /** Checks that a busy receiver or its proxy may have rejected. They are repeated sequentially, after all others. */
  const unavailable: ReceiverCheck[] = [];
  let isRefusing = false;
  /** First event number of this run. */
  let eventOffset = 0;

  await runGenuineCheck();
  if (checks.includes(responseTimeCheck)) await runAll([responseTimeCheck]);
  const needsProbe = checks.includes(probeCheck) || checks.some(({ requires }) => requires === "probe");
  if (needsProbe) await runAll([probeCheck]);
  const remainingChecks = checks
    .filter((check) => !items.has(check))
    .sort((a, b) => Number(a.isLast ?? false) - Number(b.isLast ?? false));
  // Sequential checks need the results of earlier ones.
  const single = remainingChecks.filter(
    ({ expects, requires, isLast }) => expects !== "other" && requires === undefined && !isLast,
  );
  await runAll(single, pace.bestMs >= minSlowMs ? maxConcurrency : 1);
  await runAll(remainingChecks.filter((check) => !single.includes(check)));
  await runAll(unavailable, 1, unavailableNumberOffset);
  recordLateEnd();
  signal.throwIfAborted();
  return allReceiverChecks.flatMap((check) => items.get(check) ?? []);

  async function record(item: ReceiverCheckResult): Promise<void> {
    if (item.exchanges.length > 0) last = item.check;
    items.set(item.check, item);
    if (checks.includes(item.check)) await options.onChecked(item);
  }

  /** Sends the deliveries of a check, and reports whether the receiver ended. `offset` selects other events. */
  async function runCheck(check: ReceiverCheck, timeoutMs: number, offset = 0): Promise<ReceiverCheckResult> {
    const exchanges: ReceiverExchange[] = [];
    const startedAt = wall.monotonicNow();
    const firstNumber = eventOffset + (allReceiverChecks.indexOf(check) + 1) * maxEventNumbersPerCheck + offset;
    const checkedAt = wall.now();
    const createEvent = (changes?: EventOptions, further = 0) =>
      deliveries.createEvent(firstNumber + further, changes, checkedAt);
    const finding = await check.run({
      ...{ deliveries, probe, pace, createEvent },
      createGenuine: (changes, further) => deliveries.sign(createEvent(changes, further)),
      async send(delivery) {
        // The exchanges are listed in the order of the requests, and every check waits for all its responses.
        const exchange = { delivery, response: undefined as unknown as ReceiverResponse };
        exchanges.push(exchange);
        exchange.response = await sendDelivery(delivery, { url, wall, signal, timeoutMs });
        options.onExchange(check, exchange);
        return exchange.response;
      },
      async retryLate(event) {
        const exchange = await options.retryLate(event);
        exchanges.push(exchange);
        return exchange.response;
      },
    });
    signal.throwIfAborted();
    const item = { check, ...finding, exchanges, durationMs: wall.monotonicNow() - startedAt };
    const end = isBroken(item) ? await receiver?.getEndAfterBreak() : receiver?.describeExit();
    if (end !== undefined) return markEnded(item, end);
    const isInconclusive = finding.result !== "passed" && isTooLate(item) && pace.isSlow;
    return isInconclusive ? { ...item, ...notChecked("the receiver is too slow for this check") } : item;
  }

  /** Sends the first deliveries. Their duration determines the concurrency of the other checks. */
  async function runGenuineCheck(): Promise<void> {
    const item = await runCheck(genuineCheck, maxResponseMs);
    const first = item.exchanges[0]!.response;
    pace.bestMs = first.durationMs;
    // The first request of a new process is not representative.
    if (pace.bestMs >= minSlowMs && first.error === undefined) {
      const { exchanges } = await runCheck(genuineCheck, maxResponseMs, 1);
      pace.bestMs = Math.min(pace.bestMs, exchanges[0]!.response.durationMs);
    }
    pace.isSlow = pace.bestMs >= 2 * minSlowMs;
    await record(item);
  }

  /** Finds the reason why a check would prove nothing. Returns undefined if the check can run. */
  function findReasonToSkip(check: ReceiverCheck): string | undefined {
    const { requires } = check;
    if (requires === "probe" && !probe) return "--probe is not given";
    const first = items.get(genuineCheck)?.exchanges[0]?.response;
    // A receiver that has accepted nothing may not have created the file yet that --probe prints.
    if ((check === responseTimeCheck || requires === "probe") && first && !isAccepted(first))
      return `the first event was not accepted: ${describeResponse(first)}`;
    if (first?.error && first.error.code !== "closed" && !isAccepted(first))
      return `the first delivery failed: ${describeResponse(first)}`;
    const probeResult = items.get(probeCheck);
    if (requires !== "probe" || !probeResult || probeResult.result === "passed") return undefined;
    return probeResult.result === "not_checked" ? probeResult.detail : `the probe does not work: ${probeResult.detail}`;
  }

  /** Runs one check, if it can prove something. Returns undefined if the receiver refused the connection. */
  async function attemptCheck(check: ReceiverCheck, offset = 0): Promise<ReceiverCheckResult | undefined> {
    const cutOff = { ...notChecked(`the time limit of ${maxMs / 1_000} s was reached (--time-limit)`), isCutOff: true };
    const unsent = { check, exchanges: [], durationMs: 0 };
    const reason = findReasonToSkip(check);
    if (reason !== undefined) return { ...unsent, ...notChecked(reason) };
    const leftMs = deadline - wall.monotonicNow();
    if (leftMs <= 0) return { ...unsent, ...cutOff };
    if (check.requires === "probe" && leftMs < minProbeCheckMs)
      return { ...unsent, ...cutOff, detail: `less than ${minProbeCheckMs / 1_000} s were left of the time limit` };
    let item = await runCheck(check, Math.min(maxResponseMs, leftMs), offset);
    if (check === probeCheck && item.result === "failed") {
      // The receiver can have stored the same events in an earlier run.
      eventOffset = (1 + (Math.floor(wall.now() / 1_000) % maxRunNumber)) * maxEventNumbersPerRun;
      item = await runCheck(check, Math.min(maxResponseMs, leftMs), offset);
    }
    if (item.exchanges[0]?.response.error?.code === "refused") {
      isRefusing = true;
      return receiver ? undefined : { ...unsent, ...notChecked("the receiver no longer accepts connections") };
    }
    const isConclusive = item.receiverEnd || item.result === "passed" || leftMs >= maxResponseMs || !isTooLate(item);
    return isConclusive ? item : { ...item, ...cutOff };
  }

  function mustRestart(): boolean {
    return receiver !== undefined && (receiver.describeExit() !== undefined || isRefusing);
  }

  async function restartIfEnded(): Promise<void> {
    if (!mustRestart()) return;
    isRefusing = false;
    await receiver!.stop();
    await receiver!.start();
  }

  /** Records that a receiver responded to the last check and ended afterwards. */
  function recordLateEnd(): void {
    const end = receiver?.describeExit();
    const lastItem = last && items.get(last);
    if (lastItem && !lastItem.receiverEnd && end) items.set(lastItem.check, markEnded(lastItem, end));
  }

  /**
   * Runs these checks with limited concurrency. If the receiver ends, the checks with broken connections are repeated
   * sequentially to find the cause.
   */
  async function runAll(list: readonly ReceiverCheck[], concurrency = 1, offset = 0): Promise<void> {
    for (let waiting = list; waiting.length > 0; ) {
      const unfinished: ReceiverCheck[] = [];
      const ended: ReceiverCheckResult[] = [];
      recordLateEnd();
      await restartIfEnded();
      const attempt = async (check: ReceiverCheck) => {
        const item = mustRestart() ? undefined : await attemptCheck(check, offset);
        if (item === undefined) unfinished.push(check);
        else if (item.receiverEnd) ended.push(item);
        else if (concurrency > 1 && acceptsGenuine() && isUnavailable(item)) unavailable.push(check);
        else await record(item);
      };
      await runConcurrently(waiting, concurrency, attempt, signal);
      await repeatChecks(ended);
      signal.throwIfAborted();
      waiting = unfinished;
    }
  }

  /** A receiver that rejects the first event, which is sent alone, is not only busy. */
  function acceptsGenuine(): boolean {
    return items.get(genuineCheck)?.result === "passed";
  }

  /** Repeats checks sequentially. If no check ends the receiver alone, all of them count as failed. */
  async function repeatChecks(ended: readonly ReceiverCheckResult[]): Promise<void> {
    const retries: ReceiverCheckResult[] = [];
    for (const item of ended) {
      await restartIfEnded();
      const retryResult = await attemptCheck(item.check, repeatedNumberOffset);
      retries.push(retryResult?.receiverEnd ? { ...retryResult, endsReceiver: true } : (retryResult ?? item));
    }
    const isExplained = retries.some(({ endsReceiver }) => endsReceiver);
    for (const item of isExplained ? retries : ended) await record(item);
  }
}

/** Marks a check as failed, because a receiver that ends has not handled the delivery. */
const markEnded = (item: ReceiverCheckResult, receiverEnd: string): ReceiverCheckResult => ({
  ...item,
  result: "failed",
  detail: `the receiver ended with ${receiverEnd} during this check`,
  receiverEnd,
});

/** Reports whether a delivery of the check got a 2xx status. */
export const wasAccepted = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => isAccepted(response));

/**
 * Reports whether a delivery timed out without a status. A 2xx status for a forged delivery is conclusive despite a
 * timeout.
 */
const isTooLate = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => hasTimedOut(response));

/** Reports whether a connection broke, as it does when the receiver ends. */
const isBroken = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => ["closed", "refused", "unreachable"].includes(response.error?.code ?? ""));

/**
 * Reports whether a response has a status above 500, as of a receiver that rejects parallel requests. The last attempt
 * of `outage` disables the webhook, so it cannot be repeated.
 */
const isUnavailable = ({ check, exchanges }: ReceiverCheckResult): boolean =>
  check.id !== "outage" && exchanges.some(({ response }) => (response.status ?? 0) > 500);
