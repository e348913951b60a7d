import { type JsonForm, writeJson } from "../../../../base/json.ts";
import { assessResponse, type ReceiverCheck } from "./check.ts";
import { type EventOptions, jsonContentTypeHeader, sortJsonKeys } from "./deliveries.ts";
import type { RawDelivery } from "./sender.ts";

/** Differences of a delivery from the default one. */
interface DeliveryVariant extends EventOptions {
  readonly form?: JsonForm;
  /** Serializes the same document differently. */
  readonly rewrite?: (json: string) => string;
  /** Sends the same body differently. */
  readonly vary?: (delivery: RawDelivery) => RawDelivery;
}

type CheckReason = Pick<ReceiverCheck, "basis" | "reason" | "mistake">;

type GenuineVariant = readonly [id: string, summary: string, reason: CheckReason, variant: DeliveryVariant];

/** Creates a check that a delivery gets a 2xx status. */
const createAcceptanceCheck = ([
  id,
  summary,
  reason,
  { form = "compact", rewrite, vary, ...changes },
]: GenuineVariant): ReceiverCheck => ({
  ...{ id, summary, ...reason, expects: "accept" },
  async run({ deliveries, getEventNumber, send }) {
    const json = writeJson(deliveries.createEvent(getEventNumber(), changes), form);
    const delivery = deliveries.signDelivery(rewrite?.(json) ?? json);
    return assessResponse(await send(vary?.(delivery) ?? delivery));
  },
});

/** Forms of the same document. The receiver must not depend on how the JSON is written. */
const rewrittenJson = {
  basis: "assumed",
  reason: "The signature is over the raw body, so the receiver must not depend on how the JSON is written",
  mistake: "reserialized-json",
} as const;
const decodedText = { ...rewrittenJson, mistake: "decoded-text" } as const;
const headerNames = {
  basis: "public",
  reason: "Names of headers have no case (RFC 9110, 5.1)",
  mistake: "header-case",
} as const;

/** Exceeds 100 kB, the default limit of common frameworks. */
const minLongTextLength = 300_000;
const nonAsciiTitle = "Düsseldorf, 東京 and 🖋";

/** The check that all others depend on. */
export const genuineCheck = createAcceptanceCheck([
  "genuine",
  "Accepts a signed event",
  { basis: "specified", reason: "2xx is success, and everything else is retried", mistake: "unexplained" },
  {},
]);

/** Creates a variant that changes all headers. */
const changeHeaders =
  (change: (name: string, value: string) => readonly [string, string]) =>
  ({ body, headers }: RawDelivery): RawDelivery => ({
    body,
    headers: headers.map(([name, value]) => change(name, value)),
  });

const toTitleCase = (name: string): string => name.toLowerCase().replace(/(^|-)\w/g, (letter) => letter.toUpperCase());

const variants: readonly GenuineVariant[] = [
  ["raw-body.spaced", "Accepts JSON with blanks after commas and colons", rewrittenJson, { form: "spaced" }],
  [
    "raw-body.escaped",
    "Accepts JSON with escaped characters",
    rewrittenJson,
    { title: nonAsciiTitle, form: "escaped" },
  ],
  ["raw-body.key-order", "Accepts JSON with keys in another order", rewrittenJson, { rewrite: sortJsonKeys }],
  [
    "raw-body.numbers",
    "Accepts numbers such as 100.50 and 1e3",
    rewrittenJson,
    {
      extraFields: { external_metadata: { amounts: "NUMBERS" } },
      rewrite: (json) => json.replace('"NUMBERS"', "[100.50,1.0,1e3]"),
    },
  ],
  ["raw-body.non-ascii", "Accepts characters outside ASCII", decodedText, { title: nonAsciiTitle }],
  [
    "raw-body.split-character",
    "Accepts a body that is split within a character",
    { basis: "public", reason: "TCP divides a body anywhere", mistake: "decoded-text" },
    { title: nonAsciiTitle, vary: (delivery) => ({ ...delivery, pauseAt: delivery.body.indexOf("東") + 1 }) },
  ],
  [
    "raw-body.indented",
    "Accepts JSON on several lines",
    decodedText,
    { rewrite: (json) => `${JSON.stringify(JSON.parse(json), null, 2)}\n` },
  ],
  [
    "raw-body.long",
    `Accepts a body of ${minLongTextLength / 1_000} kB`,
    {
      basis: "assumed",
      reason: "An event contains all counterparties and the external metadata of a contract",
      mistake: "body-limit",
    },
    { extraFields: { external_metadata: { note: "x".repeat(minLongTextLength) } } },
  ],
  [
    "transfer.chunked",
    "Accepts a body in chunks, without Content-Length",
    { basis: "public", reason: "HTTP allows it, and a proxy in between may do it", mistake: "content-length" },
    { vary: (delivery) => ({ ...delivery, isChunked: true }) },
  ],
  [
    "header.lower-case",
    "Accepts header names in lower case",
    headerNames,
    { vary: changeHeaders((name, value) => [name.toLowerCase(), value]) },
  ],
  [
    "header.title-case",
    "Accepts header names in title case",
    headerNames,
    { vary: changeHeaders((name, value) => [toTitleCase(name), value]) },
  ],
  [
    "header.charset",
    "Accepts a charset in Content-Type",
    { basis: "assumed", reason: "HTTP allows it, and many senders add it", mistake: "content-type" },
    {
      vary: changeHeaders((name, value) => [
        name,
        name === jsonContentTypeHeader[0] ? `${value}; charset=utf-8` : value,
      ]),
    },
  ],
  [
    "event.unknown-fields",
    "Accepts fields that it does not know",
    { basis: "assumed", reason: "The service may add fields to its events", mistake: "unknown-fields" },
    { extraFields: { added_later: true, added_data: { version: 2 } } },
  ],
  [
    "event.unknown-activity",
    "Accepts an activity that it does not know",
    {
      basis: "assumed",
      reason: "The service may add activities, and a failure disables the webhook for all of them",
      mistake: "unknown-activity",
    },
    { activity: "CONTRACT_ADDED_LATER" },
  ],
];

export const genuineChecks = variants.map(createAcceptanceCheck);
