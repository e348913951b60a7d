import { specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { assessResponse, type CheckContext, type CheckFinding, describeResponse, type ReceiverCheck } from "./check.ts";
import { hasTimedOut, isAccepted, type RawDelivery, type ReceiverResponse } from "./sender.ts";

/** Maximum response time of a good receiver. The service waits longer and counts a timeout as a failure. */
export const maxGoodResponseMs = 1_000;
const maxParallelDeliveries = 64;
/** Deliveries that may time out until a receiver has processed those that were sent at once. */
const maxIdleAttempts = 3;

export const responseTimeCheck: ReceiverCheck = {
  id: "response.time",
  summary: `Responds within ${maxGoodResponseMs / 1_000} s`,
  expects: "other",
  basis: "specified",
  reason: "A receiver should respond quickly, and process the event afterwards",
  mistake: "slow-work",
  run: async ({ pace: { bestMs } }) => ({
    result: bestMs < maxGoodResponseMs ? "passed" : "warning",
    detail: `the fastest of the first responses took ${bestMs} ms`,
  }),
};

export const behaviorChecks: readonly ReceiverCheck[] = [
  {
    id: "duplicate",
    summary: "Accepts the same event again",
    expects: "accept",
    basis: "specified",
    reason: "Retries can repeat an event",
    mistake: "duplicate-refused",
    run: (run) => {
      const delivery = run.deliveries.createGenuine(run.getEventNumber());
      return sendBoth(run, [delivery, delivery], "the first delivery");
    },
  },
  {
    id: "duplicate.after-hang-up",
    summary: "Accepts an event again after its sender disconnected",
    expects: "accept",
    basis: "specified",
    reason: "The service retries an attempt that timed out",
    mistake: "duplicate-refused",
    run: resendAfter("after-body"),
  },
  {
    id: "transfer.interrupted",
    summary: "Accepts an event again after its body was interrupted",
    expects: "accept",
    basis: "public",
    reason: "Connections break",
    mistake: "interrupted",
    run: resendAfter("in-body"),
  },
  {
    id: "order",
    summary: "Accepts an event that is older than the last one",
    expects: "accept",
    basis: "specified",
    reason: "An event that is retried arrives after later ones",
    mistake: "order-refused",
    run: (run) => {
      const number = run.getEventNumber();
      const newer = run.deliveries.createGenuine(number, { status: "EXECUTED", laterSeconds: 60 });
      return sendBoth(run, [newer, run.deliveries.createGenuine(number)], "the newer event");
    },
  },
  {
    id: "parallel",
    summary: `Accepts ${maxParallelDeliveries} events at once`,
    expects: "accept",
    basis: "assumed",
    reason: "A bulk change of contracts emits its events together",
    mistake: "parallel",
    run: sendInParallel,
  },
  {
    id: "outage",
    summary: `Accepts an event after an outage of ${specifiedOutageMs / 60_000} minutes`,
    expects: "accept",
    basis: "specified",
    reason: `The service retries for ${specifiedOutageMs / 60_000} minutes before it disables a webhook`,
    mistake: "late-rejected",
    run: async ({ retryLate, getEventNumber }) => assessResponse((await retryLate(getEventNumber())).response),
  },
];

/** Sends two deliveries, both of which must be accepted. */
async function sendBoth(
  { send }: CheckContext,
  [firstDelivery, secondDelivery]: readonly [RawDelivery, RawDelivery],
  name: string,
) {
  const response = await send(firstDelivery);
  if (isAccepted(response)) return assessResponse(await send(secondDelivery));
  return { result: "failed" as const, detail: `${describeResponse(response)} to ${name}` };
}

/** Sends an event again after the sender disconnected. */
function resendAfter(hangsUp: "in-body" | "after-body"): ReceiverCheck["run"] {
  return async ({ deliveries, getEventNumber, send }) => {
    const delivery = deliveries.createGenuine(getEventNumber());
    await send({ ...delivery, hangsUp });
    return assessResponse(await send(delivery));
  };
}

async function sendInParallel({ deliveries, getEventNumber, send, pace }: CheckContext): Promise<CheckFinding> {
  if (pace.isSlow) return { result: "not_checked", detail: "the receiver is too slow for this check" };
  const numbers = Array.from({ length: maxParallelDeliveries }, (_, further) => getEventNumber(further));
  const lastNumber = getEventNumber(maxParallelDeliveries);
  const responses = await Promise.all(numbers.map((number) => send(deliveries.createGenuine(number))));
  const failed = responses.filter((response) => !isAccepted(response));
  if (failed.length === 0) return { result: "passed", detail: `${maxParallelDeliveries} deliveries accepted` };
  const timedOutResponses = failed.filter(hasTimedOut);
  if (timedOutResponses.length > 0) await waitUntilIdle(() => send(deliveries.createGenuine(lastNumber)));
  if (timedOutResponses.length < failed.length || !isQueueing(responses)) {
    const first = describeResponse(failed.find((response) => !hasTimedOut(response)) ?? failed[0]!);
    return { result: "failed", detail: `${failed.length} of ${maxParallelDeliveries} failed: ${first}` };
  }
  const detail = `${timedOutResponses.length} of ${maxParallelDeliveries} were still waiting in the receiver's queue: ${describeResponse(timedOutResponses[0]!)}`;
  return { result: "not_checked", detail };
}

/** Sends events until one is accepted, so that the next check does not wait for those that were sent at once. */
async function waitUntilIdle(send: () => Promise<ReceiverResponse>): Promise<void> {
  for (let attempt = 0; attempt < maxIdleAttempts; attempt += 1) if (isAccepted(await send())) return;
}

/**
 * Reports whether a receiver was still working at the timeout. A receiver that processes events sequentially accepts
 * deliveries until the timeout. A receiver with a deadlock accepts none after the first ones.
 */
function isQueueing(responses: readonly ReceiverResponse[]): boolean {
  const lastAcceptedMs = Math.max(0, ...responses.filter(isAccepted).map(({ durationMs }) => durationMs));
  return lastAcceptedMs > Math.max(...responses.map(({ durationMs }) => durationMs)) / 2;
}
