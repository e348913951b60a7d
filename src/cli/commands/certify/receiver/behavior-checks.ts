import { specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { assessReply, type Check, type CheckFinding, type CheckRun, describeReply } from "./check.ts";
import { hasTimedOut, isAccepted, type Reply } from "./sender.ts";

/** Maximum response time of a good receiver. The service waits longer and counts a timeout as a failure. */
export const slowMs = 1_000;
const parallelDeliveries = 64;

export const responseTimeCheck: Check = {
  id: "response.time",
  summary: `Responds within ${slowMs / 1_000} s`,
  expects: "other",
  basis: "specified",
  reason: "A receiver should respond quickly, and process the event afterwards",
  async run({ pace: { bestMs } }) {
    return {
      result: bestMs < slowMs ? "passed" : "warning",
      detail: `the fastest of the first responses took ${bestMs} ms`,
    };
  },
};

export const behaviorChecks: readonly Check[] = [
  {
    id: "duplicate",
    summary: "Accepts the same event again",
    expects: "accept",
    basis: "specified",
    reason: "Retries can repeat an event",
    async run({ deliveries, getEventNumber, send }) {
      const delivery = deliveries.createGenuine(getEventNumber());
      const first = await send(delivery);
      if (!isAccepted(first)) return { result: "failed", detail: `${describeReply(first)} to the first delivery` };
      return assessReply(await send(delivery));
    },
  },
  {
    id: "duplicate.after-hang-up",
    summary: "Accepts an event again whose sender hung up",
    expects: "accept",
    basis: "specified",
    reason: "A timeout of the service is a failed attempt, which it repeats",
    run: resendAfter("after-body"),
  },
  {
    id: "transfer.interrupted",
    summary: "Accepts an event again whose body was interrupted",
    expects: "accept",
    basis: "public",
    reason: "Connections break",
    run: resendAfter("in-body"),
  },
  {
    id: "order",
    summary: "Accepts an event that is older than the last one",
    expects: "accept",
    basis: "specified",
    reason: "An event that is retried arrives after later ones",
    async run({ deliveries, getEventNumber, send }) {
      const number = getEventNumber();
      const newer = await send(deliveries.createGenuine(number, { status: "EXECUTED", laterSeconds: 60 }));
      if (!isAccepted(newer)) return { result: "failed", detail: `${describeReply(newer)} to the newer event` };
      return assessReply(await send(deliveries.createGenuine(number)));
    },
  },
  {
    id: "parallel",
    summary: `Accepts ${parallelDeliveries} events at once`,
    expects: "accept",
    basis: "assumed",
    reason: "A bulk change of contracts emits its events together",
    run: sendInParallel,
  },
  {
    id: "outage",
    summary: `Accepts an event after an outage of ${specifiedOutageMs / 60_000} minutes`,
    expects: "accept",
    basis: "specified",
    reason: `The service retries for ${specifiedOutageMs / 60_000} minutes before it disables a webhook`,
    async run({ retryLate, getEventNumber }) {
      const { reply } = await retryLate(getEventNumber());
      return assessReply(reply);
    },
  },
];

/** Sends an event again after the sender hung up. */
function resendAfter(hangsUp: "in-body" | "after-body"): Check["run"] {
  return async ({ deliveries, getEventNumber, send }) => {
    const delivery = deliveries.createGenuine(getEventNumber());
    await send({ ...delivery, hangsUp });
    return assessReply(await send(delivery));
  };
}

async function sendInParallel({ deliveries, getEventNumber, send, pace }: CheckRun): Promise<CheckFinding> {
  if (pace.isSlow) return { result: "not_checked", detail: "the receiver is too slow for it" };
  const numbers = Array.from({ length: parallelDeliveries }, (_, further) => getEventNumber(further));
  const replies = await Promise.all(numbers.map((number) => send(deliveries.createGenuine(number))));
  const failed = replies.filter((reply) => !isAccepted(reply));
  if (failed.length === 0) return { result: "passed", detail: `${parallelDeliveries} deliveries accepted` };
  const late = failed.filter(hasTimedOut);
  if (late.length < failed.length || !isQueueing(replies)) {
    const first = failed.find((reply) => !hasTimedOut(reply)) ?? failed[0]!;
    return { result: "failed", detail: `${failed.length} of ${parallelDeliveries} failed: ${describeReply(first)}` };
  }
  // The next check must not wait for these deliveries.
  await send(deliveries.createGenuine(getEventNumber(parallelDeliveries)));
  const detail = `${late.length} of ${parallelDeliveries} were still waiting in the receiver's queue: ${describeReply(late[0]!)}`;
  return { result: "not_checked", detail };
}

/**
 * Reports whether a receiver was still working at the timeout. A receiver that processes events sequentially accepts
 * deliveries until the timeout. A receiver with a deadlock accepts none after the first ones.
 */
function isQueueing(replies: readonly Reply[]): boolean {
  const lastAcceptedMs = Math.max(0, ...replies.filter(isAccepted).map(({ durationMs }) => durationMs));
  return lastAcceptedMs > Math.max(...replies.map(({ durationMs }) => durationMs)) / 2;
}
