import { specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { type JsonForm, sortKeys, writeJson } from "../../../../base/json.ts";
import {
  assessResponse,
  type CheckContext,
  type CheckFinding,
  type CheckReason,
  describeResponse,
  failed,
  notChecked,
  passed,
  type ReceiverCheck,
} from "./check.ts";
import { type EventOptions, jsonContentType } from "./delivery.ts";
import { hasTimedOut, isAccepted, type RawDelivery, type ReceiverResponse } from "./sender.ts";

type RunCheck = ReceiverCheck["run"];

/** Creates a check of deliveries that the receiver must accept. */
const accepts = (id: string, summary: string, reason: CheckReason, run: RunCheck): ReceiverCheck => ({
  ...{ id, summary, ...reason, expects: "accept", run },
});

/** Differences of a delivery from the default one. */
interface DeliveryVariant extends EventOptions {
  readonly form?: JsonForm;
  /** Serializes the same document differently. */
  readonly rewrite?: (json: string) => string;
  /** Sends the same body differently. */
  readonly vary?: (delivery: RawDelivery) => RawDelivery;
}

const sendOne =
  ({ form = "compact", rewrite, vary, ...changes }: DeliveryVariant = {}): RunCheck =>
  async ({ deliveries, createEvent, send }) => {
    const json = writeJson(createEvent(changes), form);
    const delivery = deliveries.sign(rewrite?.(json) ?? json);
    return assessResponse(await send(vary?.(delivery) ?? delivery));
  };

/** Creates a variant that changes all headers. */
const changeHeaders =
  (change: (name: string, value: string) => readonly [string, string]) =>
  ({ body, headers }: RawDelivery): RawDelivery => ({
    body,
    headers: headers.map(([name, value]) => change(name, value)),
  });

const toTitleCase = (name: string): string => name.toLowerCase().replace(/(^|-)\w/g, (letter) => letter.toUpperCase());

const specified = (reason: string, mistake: string): CheckReason => ({ basis: "specified", reason, mistake });
const isPublic = (reason: string, mistake: string): CheckReason => ({ basis: "public", reason, mistake });
const assumed = (reason: string, mistake: string): CheckReason => ({ basis: "assumed", reason, mistake });

/** Forms of the same document. The receiver must not depend on how the JSON is written. */
const anyJson = "The signature is over the raw body, so the receiver must not depend on how the JSON is written";
const rewrittenJson = assumed(anyJson, "reserialized-json");
const decodedText = assumed(anyJson, "decoded-text");
const headerNames = isPublic("Names of headers have no case (RFC 9110, 5.1)", "header-case");

/** Exceeds 100 kB, the default limit of common frameworks. */
const minLongTextLength = 300_000;
const title = "Düsseldorf, 東京 and 🖋";

/** Rewrites a JSON document with alphabetically sorted keys in all objects. */
export const sortJsonKeys = (json: string): string => JSON.stringify(sortKeys(JSON.parse(json)));

/** The check that all others depend on. */
export const genuineCheck = accepts(
  "genuine",
  "Accepts a signed event",
  specified("2xx is success, and everything else is retried", "unexplained"),
  sendOne(),
);

/** Checks of one delivery, which differs from the default one. */
export const variantChecks: readonly ReceiverCheck[] = [
  accepts(
    "raw-body.spaced",
    "Accepts JSON with blanks after commas and colons",
    rewrittenJson,
    sendOne({ form: "spaced" }),
  ),
  accepts(
    "raw-body.escaped",
    "Accepts JSON with escaped characters",
    rewrittenJson,
    sendOne({ title, form: "escaped" }),
  ),
  accepts(
    "raw-body.key-order",
    "Accepts JSON with keys in another order",
    rewrittenJson,
    sendOne({ rewrite: sortJsonKeys }),
  ),
  accepts(
    "raw-body.numbers",
    "Accepts numbers such as 100.50 and 1e3",
    rewrittenJson,
    sendOne({
      extraFields: { external_metadata: { amounts: "NUMBERS" } },
      rewrite: (json) => json.replace('"NUMBERS"', "[100.50,1.0,1e3]"),
    }),
  ),
  accepts("raw-body.non-ascii", "Accepts characters outside ASCII", decodedText, sendOne({ title })),
  accepts(
    "raw-body.split-character",
    "Accepts a body that is split within a character",
    isPublic("TCP divides a body anywhere", "decoded-text"),
    sendOne({ title, vary: (delivery) => ({ ...delivery, pauseAt: delivery.body.indexOf("東") + 1 }) }),
  ),
  accepts(
    "raw-body.indented",
    "Accepts JSON on several lines",
    decodedText,
    sendOne({ rewrite: (json) => `${JSON.stringify(JSON.parse(json), null, 2)}\n` }),
  ),
  accepts(
    "raw-body.long",
    `Accepts a body of ${minLongTextLength / 1_000} kB`,
    assumed("An event contains all counterparties and the external metadata of a contract", "body-limit"),
    sendOne({ extraFields: { external_metadata: { note: "x".repeat(minLongTextLength) } } }),
  ),
  accepts(
    "transfer.chunked",
    "Accepts a body in chunks, without Content-Length",
    isPublic("HTTP allows it, and a proxy in between may do it", "content-length"),
    sendOne({ vary: (delivery) => ({ ...delivery, isChunked: true }) }),
  ),
  accepts(
    "header.lower-case",
    "Accepts header names in lower case",
    headerNames,
    sendOne({ vary: changeHeaders((name, value) => [name.toLowerCase(), value]) }),
  ),
  accepts(
    "header.title-case",
    "Accepts header names in title case",
    headerNames,
    sendOne({ vary: changeHeaders((name, value) => [toTitleCase(name), value]) }),
  ),
  accepts(
    "header.charset",
    "Accepts a charset in Content-Type",
    assumed("HTTP allows it, and many senders add it", "content-type"),
    sendOne({
      vary: changeHeaders((name, value) => [name, name === jsonContentType[0] ? `${value}; charset=utf-8` : value]),
    }),
  ),
  accepts(
    "event.unknown-fields",
    "Accepts fields that it does not know",
    assumed("The service may add fields to its events", "unknown-fields"),
    sendOne({ extraFields: { added_later: true, added_data: { version: 2 } } }),
  ),
  accepts(
    "event.unknown-activity",
    "Accepts an activity that it does not know",
    assumed("The service may add activities, and a failure disables the webhook for all of them", "unknown-activity"),
    sendOne({ activity: "CONTRACT_ADDED_LATER" }),
  ),
];

/** Maximum response time of a good receiver. The service waits longer and counts a timeout as a failure. */
const maxGoodResponseMs = 1_000;

export const responseTimeCheck: ReceiverCheck = {
  id: "response.time",
  summary: `Responds within ${maxGoodResponseMs / 1_000} s`,
  expects: "other",
  ...specified("A receiver should respond quickly, and process the event afterwards", "slow-work"),
  run: async ({ pace: { bestMs } }) => ({
    result: bestMs < maxGoodResponseMs ? "passed" : "warning",
    detail: `the fastest of the first responses took ${bestMs} ms`,
  }),
};

const maxParallelDeliveries = 64;

/** Checks of several deliveries. */
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
    isPublic("Connections break", "interrupted"),
    resendAfter("in-body"),
  ),
  accepts(
    "order",
    "Accepts an event that is older than the last one",
    specified("An event that is retried arrives after later ones", "order-refused"),
    ({ createGenuine, send }) => {
      const newer = createGenuine({ status: "EXECUTED", laterSeconds: 60 });
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
    async ({ retryLate, createEvent }) => assessResponse(await retryLate(createEvent())),
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

/** Sends an event again after the sender disconnected. */
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
