import { createHash } from "node:crypto";
import { type JsonForm, sortKeys, writeJson } from "../../../../base/json.ts";
import { formatAlgorithm, getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import {
  accepts,
  assessResponse,
  assumed,
  type CheckContext,
  type CheckReason,
  describeResponse,
  documented,
  type ReceiverCheck,
  specified,
} from "./check.ts";
import {
  type EventOptions,
  encodingName,
  type ForgeryOptions,
  isAccepted,
  jsonContentType,
  otherDigest,
  otherEncoding,
  type RawDelivery,
  type ReceiverResponse,
} from "./delivery.ts";
import type { MistakeName } from "./mistakes.ts";

interface DeliveryVariant extends EventOptions {
  readonly form?: JsonForm;
  /** Serializes the same document differently. */
  readonly rewrite?: (json: string) => string;
  /** Sends the same body differently. */
  readonly vary?: (delivery: RawDelivery) => RawDelivery;
}

/** Creates a check of one delivery that differs from the default one, and that the receiver must accept. */
const acceptsVariant = (
  id: string,
  summary: string,
  reason: CheckReason,
  { form = "compact", rewrite, vary, ...changes }: DeliveryVariant = {},
): ReceiverCheck =>
  accepts(id, summary, reason, async ({ deliveries, createEvent, send }) => {
    const json = writeJson(createEvent(changes), form);
    const delivery = deliveries.sign(rewrite?.(json) ?? json);
    return assessResponse(await send(vary?.(delivery) ?? delivery));
  });

const changeHeaders =
  (change: (name: string, value: string) => readonly [string, string]) =>
  ({ body, headers }: RawDelivery): RawDelivery => ({
    body,
    headers: headers.map(([name, value]) => change(name, value)),
  });

const toTitleCase = (name: string): string => name.toLowerCase().replace(/(^|-)\w/g, (letter) => letter.toUpperCase());

/** Forms of the same document. The receiver must not depend on how the JSON is written. */
const anyJson = "The signature is over the raw body, so the receiver must not depend on how the JSON is written";
const rewrittenJson = assumed(anyJson, "reserialized-json");
const decodedText = assumed(anyJson, "decoded-text");
const headerNames = documented("Header names are case-insensitive (RFC 9110, 5.1)", "header-name");

/** Exceeds 100 kB, the default limit of common frameworks. */
const minLongTextLength = 300_000;
const title = "Düsseldorf, 東京 and 🖋";

/** Rewrites a JSON document with alphabetically sorted keys in all objects. */
export const sortJsonKeys = (json: string): string => JSON.stringify(sortKeys(JSON.parse(json)));

/** The check that all others depend on. */
export const genuineCheck = acceptsVariant(
  "genuine",
  "Accepts a signed event",
  specified("2xx is success, and everything else is retried", "unexplained"),
);

/** Checks of one delivery, which differs from the default one. */
export const variantChecks: readonly ReceiverCheck[] = [
  acceptsVariant("raw-body.spaced", "Accepts JSON with blanks after commas and colons", rewrittenJson, {
    form: "spaced",
  }),
  acceptsVariant("raw-body.escaped", "Accepts JSON with escaped characters", rewrittenJson, { title, form: "escaped" }),
  acceptsVariant("raw-body.key-order", "Accepts JSON with keys in another order", rewrittenJson, {
    rewrite: sortJsonKeys,
  }),
  acceptsVariant("raw-body.numbers", "Accepts numbers such as 100.50 and 1e3", rewrittenJson, {
    extraFields: { external_metadata: { amounts: "NUMBERS" } },
    rewrite: (json) => json.replace('"NUMBERS"', "[100.50,1.0,1e3]"),
  }),
  acceptsVariant("raw-body.non-ascii", "Accepts characters outside ASCII", decodedText, { title }),
  acceptsVariant(
    "raw-body.split-character",
    "Accepts a body that is split within a character",
    documented("TCP divides a body anywhere", "decoded-text"),
    { title, vary: (delivery) => ({ ...delivery, pauseAt: delivery.body.indexOf("東") + 1 }) },
  ),
  acceptsVariant("raw-body.indented", "Accepts JSON on several lines", decodedText, {
    rewrite: (json) => `${JSON.stringify(JSON.parse(json), null, 2)}\n`,
  }),
  acceptsVariant(
    "raw-body.long",
    `Accepts a body of ${minLongTextLength / 1_000} kB`,
    assumed("An event contains all counterparties and the external metadata of a contract", "body-limit"),
    { extraFields: { external_metadata: { note: "x".repeat(minLongTextLength) } } },
  ),
  acceptsVariant(
    "transfer.chunked",
    "Accepts a body in chunks, without Content-Length",
    documented("HTTP allows it, and a proxy in between may do it", "content-length"),
    { vary: (delivery) => ({ ...delivery, isChunked: true }) },
  ),
  acceptsVariant("header.lower-case", "Accepts header names in lower case", headerNames, {
    vary: changeHeaders((name, value) => [name.toLowerCase(), value]),
  }),
  acceptsVariant("header.title-case", "Accepts header names in title case", headerNames, {
    vary: changeHeaders((name, value) => [toTitleCase(name), value]),
  }),
  acceptsVariant(
    "header.charset",
    "Accepts a charset in Content-Type",
    assumed("HTTP allows it, and many senders add it", "content-type"),
    { vary: changeHeaders((name, value) => [name, name === jsonContentType[0] ? `${value}; charset=utf-8` : value]) },
  ),
  acceptsVariant(
    "event.unknown-fields",
    "Accepts unknown fields",
    assumed("The service may add fields to its events", "unknown-fields"),
    { extraFields: { added_later: true, added_data: { version: 2 } } },
  ),
  acceptsVariant(
    "event.unknown-activity",
    "Accepts an unknown activity",
    assumed("The service may add activities, and a failure disables the webhook for all of them", "unknown-activity"),
    { activity: "CONTRACT_ADDED_LATER" },
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

const { format } = getDefaultScheme();

/** Creates a check that a delivery with a wrong signature gets no 2xx status. */
const rejects = (
  name: string,
  summary: string,
  mistake: MistakeName,
  forgery: ForgeryOptions | ((context: CheckContext) => RawDelivery),
): ReceiverCheck => ({
  ...{ id: `signature.${name}`, summary, mistake, expects: "reject", basis: "specified" },
  reason: `The signature is the ${encodingName} ${formatAlgorithm(format)} of the raw body, computed with the decoded key`,
  async run(context) {
    const { deliveries, createEvent, send } = context;
    const delivery = typeof forgery === "function" ? forgery(context) : deliveries.forge(createEvent(), forgery);
    const response = await send(delivery);
    // Accepting upper-case digits is harmless, although the specification does not allow it.
    const isHarmless = name === "upper-case" && format.encoding === "hex";
    return { result: assessRejection(response, isHarmless), detail: describeResponse(response) };
  },
});

function assessRejection(response: ReceiverResponse, isHarmless: boolean) {
  // The receiver accepted it before its response broke.
  if (isAccepted(response)) return isHarmless ? "warning" : "failed";
  if (response.error?.code === "timeout") return "failed";
  // The receiver rejected it by an unexpected exception.
  return response.error || response.status! >= 500 ? "warning" : "passed";
}

/** Changes the status of an event after signing it. */
export function tamperDelivery({ createGenuine }: CheckContext): RawDelivery {
  const { body, headers } = createGenuine();
  return { headers, body: Buffer.from(body.toString().replace('"SIGN"', '"VOID"')) };
}

/** A wrong key that is the same in each run. */
const wrongKey = createHash("sha512").update("another key").digest();

/** Checks of deliveries that the service did not sign. */
export const signatureChecks: readonly ReceiverCheck[] = [
  rejects("tampered", "Rejects a body that was changed after signing", "signature-unchecked", tamperDelivery),
  rejects("other-key", "Rejects a signature computed with another key", "signature-unchecked", { key: wrongKey }),
  rejects("missing", "Rejects a delivery without a signature", "missing-accepted", ({ createEvent }) => ({
    body: Buffer.from(createEvent()),
    headers: [jsonContentType],
  })),
  rejects("empty", "Rejects an empty signature", "missing-accepted", { edit: () => "" }),
  rejects("truncated", "Rejects the first half of a signature", "prefix-comparison", {
    edit: (signature) => signature.slice(0, signature.length / 2),
  }),
  rejects("extended", "Rejects a signature with an additional character", "prefix-comparison", {
    edit: (signature) => `${signature}0`,
  }),
  rejects("non-ascii", "Rejects a signature with other characters", "prefix-comparison", {
    edit: (signature) => `${signature.slice(0, -1)}\u00e9`,
  }),
  rejects("upper-case", "Rejects a signature in upper case", "case-insensitive", {
    edit: (signature) => signature.toUpperCase(),
  }),
  rejects(
    "undecoded-key",
    "Rejects a signature computed with the undecoded key",
    "key-not-decoded",
    ({ deliveries, createEvent }) => deliveries.forge(createEvent(), { key: deliveries.key }),
  ),
  rejects(otherDigest, `Rejects ${formatAlgorithm({ digest: otherDigest })}`, "wrong-digest", { digest: otherDigest }),
  rejects(otherEncoding, `Rejects a signature in ${otherEncoding}`, "wrong-encoding", { encoding: otherEncoding }),
];
