import { specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { type CheckFinding, failed, notChecked, passed } from "../check.ts";
import {
  accepts,
  assessResponse,
  assumed,
  type CheckContext,
  describeResponse,
  documented,
  type ReceiverCheck,
  type ReceiverProbe,
  type RunCheck,
  specified,
} from "./check.ts";
import { hasTimedOut, isAccepted, type RawDelivery, type ReceiverResponse } from "./delivery.ts";
import { confirmFailure, createProbeCheck, type RunProbeCheck } from "./probe.ts";

const maxParallelDeliveries = 64;

export const sequenceChecks: readonly ReceiverCheck[] = [
  accepts(
    "duplicate",
    "Accepts the same event again",
    specified("Retries can repeat an event", "duplicate-refused"),
    ({ createGenuine, send }) => {
      const delivery = createGenuine();
      return sendBoth(send, [delivery, delivery], "the first delivery");
    },
  ),
  accepts(
    "duplicate.after-hang-up",
    "Accepts an event again after its sender disconnected",
    specified("The service retries an attempt that timed out", "duplicate-refused"),
    resendAfter("after-body"),
  ),
  accepts(
    "transfer.interrupted",
    "Accepts an event again after its body was interrupted",
    documented("Connections break", "interrupted"),
    resendAfter("in-body"),
  ),
  accepts(
    "order",
    "Accepts an event that is older than the last one",
    specified("An event that is retried arrives after later ones", "order-refused"),
    ({ createGenuine, send }) => {
      const newer = createGenuine({ status: "EXECUTED", laterSeconds: 1 });
      return sendBoth(send, [newer, createGenuine()], "the newer event");
    },
  ),
  {
    ...accepts(
      "parallel",
      `Accepts ${maxParallelDeliveries} events at once`,
      assumed("A bulk change of contracts emits its events together", "parallel"),
      sendInParallel,
    ),
    isLast: true,
  },
  accepts(
    "outage",
    `Accepts an event after an outage of ${specifiedOutageMs / 60_000} minutes`,
    specified(
      `The service retries for ${specifiedOutageMs / 60_000} minutes before it disables a webhook`,
      "late-rejected",
    ),
    async ({ retryLate, createEvent }) =>
      assessResponse(await retryLate(createEvent({ laterSeconds: -specifiedOutageMs / 1_000 }))),
  ),
];

/** Sends two deliveries, both of which must be accepted. */
async function sendBoth(
  send: CheckContext["send"],
  [firstDelivery, secondDelivery]: readonly [RawDelivery, RawDelivery],
  name: string,
): Promise<CheckFinding> {
  const response = await send(firstDelivery);
  if (isAccepted(response)) return assessResponse(await send(secondDelivery));
  return failed(`${describeResponse(response)} to ${name}`);
}

function resendAfter(hangsUp: "in-body" | "after-body"): RunCheck {
  return async ({ createGenuine, send }) => {
    const delivery = createGenuine();
    await send({ ...delivery, hangsUp });
    return assessResponse(await send(delivery));
  };
}

async function sendInParallel({ createGenuine, send, pace }: CheckContext): Promise<CheckFinding> {
  if (pace.isSlow) return notChecked("the receiver is too slow for this check");
  const deliveries = Array.from({ length: maxParallelDeliveries }, (_, further) => createGenuine({}, further));
  const responses = await Promise.all(deliveries.map(send));
  const failures = responses.filter((response) => !isAccepted(response));
  if (failures.length === 0) return passed(`${maxParallelDeliveries} deliveries accepted`);
  const timeouts = failures.filter(hasTimedOut);
  if (timeouts.length < failures.length || !isQueueing(responses)) {
    const first = failures.find((response) => !hasTimedOut(response)) ?? failures[0]!;
    return failed(`${failures.length} of ${maxParallelDeliveries} failed: ${describeResponse(first)}`);
  }
  const waiting = `${timeouts.length} of ${maxParallelDeliveries} were still waiting in the receiver's queue`;
  return notChecked(`${waiting}: ${describeResponse(timeouts[0]!)}`);
}

/**
 * Reports whether a receiver was still working at the timeout. A receiver that processes events sequentially accepts
 * deliveries until the timeout. A receiver with a deadlock accepts none after the first ones.
 */
function isQueueing(responses: readonly ReceiverResponse[]): boolean {
  const lastAcceptedMs = Math.max(0, ...responses.filter(isAccepted).map(({ durationMs }) => durationMs));
  return lastAcceptedMs > Math.max(...responses.map(({ durationMs }) => durationMs)) / 2;
}

/** Pairs of copies. A race can go well, so one pair proves little. */
const pairCount = 10;
const slowPairCount = 2;
const burstCount = 3;
const burstSize = 10;

/** The only number of a line, or the number of lines. */
function countEntries(output: string): number {
  const text = output.trim();
  const lines = text === "" ? [] : text.split("\n");
  const numbers = text.match(/\d+/g) ?? [];
  return lines.length === 1 && numbers.length === 1 ? Number(numbers[0]) : lines.length;
}

/**
 * Sends new events, and returns by how much the count grows. Waits until it has grown by `expected`, as long as the
 * output changes, because a receiver can store events late and one by one.
 */
async function measureGrowth(probe: ReceiverProbe, send: () => Promise<unknown>, expected = 0): Promise<number> {
  const before = await probe.readSettled();
  const growthOf = (output: string) => countEntries(output) - countEntries(before);
  await send();
  let output = (await probe.readChanged(before)) ?? before;
  for (let left = 2 * expected; left > 0 && growthOf(output) < expected; left -= 1) {
    const next = await probe.readChanged(output);
    if (next === undefined) break;
    output = next;
  }
  return growthOf((await probe.staysSame(output)) ? output : await probe.readSettled());
}

const unmeasurable = notChecked("the output does not grow by the same number of lines, or the same amount, per event");

/** Sends the deliveries of each group at once, and returns the responses and the growth of the count. */
async function measureGroups(
  probe: ReceiverProbe,
  { send }: CheckContext,
  groups: readonly (readonly RawDelivery[])[],
  expected: number,
) {
  const responses: ReceiverResponse[][] = [];
  const sendAll = async () => {
    for (const group of groups) responses.push(await Promise.all(group.map(send)));
  };
  return { actual: await measureGrowth(probe, sendAll, expected), responses };
}

const sendCopies: RunProbeCheck = async (probe, context) => {
  const { createGenuine, send, pace } = context;
  const first = createGenuine();
  const growth = await measureGrowth(probe, () => send(first));
  if (growth <= 0) return unmeasurable;
  const settledOutput = await probe.readSettled();
  await send(first);
  if (!(await probe.staysSame(settledOutput))) return notChecked("a copy that is sent later also changes the output");
  // An output that counts contracts does not grow, and the last ID of a database can skip a number after a copy.
  const second = createGenuine({ status: "EXECUTED", laterSeconds: 1 });
  if ((await measureGrowth(probe, () => send(second))) !== growth) return unmeasurable;

  const count = pace.isSlow ? slowPairCount : pairCount;
  const deliveries = Array.from({ length: count }, (_, i) => createGenuine({}, i + 1));
  const pairs = deliveries.map((delivery) => [delivery, delivery]);
  const expected = count * growth;
  const { actual, responses } = await measureGroups(probe, context, pairs, expected);
  const unaccepted = responses.find((pair) => !pair.some(isAccepted));
  if (unaccepted) return notChecked(describeResponse(unaccepted[0]!));
  const detail = `${count} events, each sent twice at once, change the count by ${actual}`;
  if (actual > expected) return failed(`${detail} instead of ${expected}`);
  return actual === expected ? passed(detail) : notChecked(`${detail} instead of ${expected}`);
};

const sendBursts: RunProbeCheck = async (probe, context) => {
  const { createGenuine, send, pace } = context;
  if (pace.isSlow) return notChecked("the receiver is too slow for this check");
  // The number of the second event is lower, because an output such as the last ID must not pass for a count.
  const growth = await measureGrowth(probe, () => send(createGenuine({}, 1)));
  if (growth <= 0 || (await measureGrowth(probe, () => send(createGenuine()))) !== growth) return unmeasurable;

  const groups = Array.from({ length: burstCount }, (_, i) =>
    Array.from({ length: burstSize }, (_, j) => createGenuine({}, 2 + i * burstSize + j)),
  );
  const expected = burstCount * burstSize * growth;
  const { actual, responses } = await measureGroups(probe, context, groups, expected);
  const unaccepted = responses.flat().find((response) => !isAccepted(response));
  if (unaccepted) return notChecked(describeResponse(unaccepted));
  const detail = `${burstCount} times ${burstSize} accepted events change the count by ${actual}`;
  if (actual < expected) return failed(`${detail} instead of ${expected}`);
  return actual === expected ? passed(detail) : notChecked(`${detail} instead of ${expected}`);
};

/** Checks of events that arrive together. They need an output that counts events. */
export const concurrencyChecks = [
  createProbeCheck(
    "duplicate.at-once",
    "Processes an event once if two copies arrive together",
    specified("A retry can arrive while an attempt that timed out is still being processed", "dedupe-race"),
    confirmFailure(sendCopies),
  ),
  createProbeCheck(
    "parallel.stored",
    "Stores each of several events that arrive together",
    specified("After a 2xx the service never sends the event again", "lost-update"),
    confirmFailure(sendBursts),
  ),
];
