import { type JsonForm, writeJson } from "../../../../base/json.ts";
import { assessResponse, type ReceiverCheck } from "./check.ts";
import { type EventOptions, jsonContentTypeHeader, sortKeys } from "./deliveries.ts";
import type { RawDelivery } from "./sender.ts";

interface GenuineVariant extends Pick<ReceiverCheck, "id" | "summary" | "basis" | "reason"> {
  readonly changes?: EventOptions;
  readonly form?: JsonForm;
  /** Serializes the same document differently. */
  readonly rewrite?: (json: string) => string;
  /** Sends the same body differently. */
  readonly vary?: (delivery: RawDelivery) => RawDelivery;
}

/** Creates a check that a delivery gets a 2xx status. */
const createAcceptanceCheck = ({
  changes,
  form = "compact",
  rewrite,
  vary,
  ...declared
}: GenuineVariant): ReceiverCheck => ({
  ...declared,
  expects: "accept",
  async run({ deliveries, getEventNumber, send }) {
    const json = writeJson(deliveries.createEvent(getEventNumber(), changes), form);
    const delivery = deliveries.signDelivery(rewrite?.(json) ?? json);
    return assessResponse(await send(vary?.(delivery) ?? delivery));
  },
});

const rawBodyReason = "The signature is over the raw body, so the receiver must not depend on how the JSON is written";
const httpReason = "HTTP allows it, and a proxy in between may do it";
const headerCaseReason = "Names of headers have no case (RFC 9110, 5.1)";

/** Exceeds 100 kB, the default limit of common frameworks. */
const minLongTextLength = 300_000;
const nonAsciiTitle = "Düsseldorf, 東京 and 🖋";

/** The check that all others depend on. */
export const genuineCheck = createAcceptanceCheck({
  id: "genuine",
  summary: "Accepts a signed event",
  basis: "specified",
  reason: "2xx is success, and everything else is retried",
});

/** Creates a variant that changes all headers. */
const changeHeaders =
  (change: (name: string, value: string) => readonly [string, string]) =>
  ({ body, headers }: RawDelivery): RawDelivery => ({
    body,
    headers: headers.map(([name, value]) => change(name, value)),
  });

const toTitleCase = (name: string): string => name.toLowerCase().replace(/(^|-)\w/g, (letter) => letter.toUpperCase());

const variants: readonly GenuineVariant[] = [
  {
    id: "raw-body.spaced",
    summary: "Accepts JSON with blanks after commas and colons",
    basis: "assumed",
    reason: rawBodyReason,
    form: "spaced",
  },
  {
    id: "raw-body.escaped",
    summary: "Accepts JSON with escaped characters",
    basis: "assumed",
    reason: rawBodyReason,
    changes: { title: nonAsciiTitle },
    form: "escaped",
  },
  {
    id: "raw-body.key-order",
    summary: "Accepts JSON with keys in another order",
    basis: "assumed",
    reason: rawBodyReason,
    rewrite: (json) => JSON.stringify(sortKeys(JSON.parse(json))),
  },
  {
    id: "raw-body.numbers",
    summary: "Accepts numbers such as 100.50 and 1e3",
    basis: "assumed",
    reason: rawBodyReason,
    changes: { more: { external_metadata: { amounts: "NUMBERS" } } },
    rewrite: (json) => json.replace('"NUMBERS"', "[100.50,1.0,1e3]"),
  },
  {
    id: "raw-body.non-ascii",
    summary: "Accepts characters outside ASCII",
    basis: "assumed",
    reason: rawBodyReason,
    changes: { title: nonAsciiTitle },
  },
  {
    id: "raw-body.split-character",
    summary: "Accepts a body that is split within a character",
    basis: "public",
    reason: "TCP divides a body anywhere",
    changes: { title: nonAsciiTitle },
    vary: (delivery) => ({ ...delivery, pauseAt: delivery.body.indexOf("東") + 1 }),
  },
  {
    id: "raw-body.indented",
    summary: "Accepts JSON on several lines",
    basis: "assumed",
    reason: rawBodyReason,
    rewrite: (json) => `${JSON.stringify(JSON.parse(json), null, 2)}\n`,
  },
  {
    id: "raw-body.long",
    summary: `Accepts a body of ${minLongTextLength / 1_000} kB`,
    basis: "assumed",
    reason: "An event contains all counterparties and the external metadata of a contract",
    changes: { more: { external_metadata: { note: "x".repeat(minLongTextLength) } } },
  },
  {
    id: "transfer.chunked",
    summary: "Accepts a body in chunks, without Content-Length",
    basis: "public",
    reason: httpReason,
    vary: (delivery) => ({ ...delivery, isChunked: true }),
  },
  {
    id: "header.lower-case",
    summary: "Accepts header names in lower case",
    basis: "public",
    reason: headerCaseReason,
    vary: changeHeaders((name, value) => [name.toLowerCase(), value]),
  },
  {
    id: "header.title-case",
    summary: "Accepts header names in title case",
    basis: "public",
    reason: headerCaseReason,
    vary: changeHeaders((name, value) => [toTitleCase(name), value]),
  },
  {
    id: "header.charset",
    summary: "Accepts a charset in Content-Type",
    basis: "assumed",
    reason: "HTTP allows it, and many senders add it",
    vary: changeHeaders((name, value) => [name, name === jsonContentTypeHeader[0] ? `${value}; charset=utf-8` : value]),
  },
  {
    id: "event.unknown-fields",
    summary: "Accepts fields that it does not know",
    basis: "assumed",
    reason: "The service may add fields to its events",
    changes: { more: { added_later: true, added_data: { version: 2 } } },
  },
  {
    id: "event.unknown-activity",
    summary: "Accepts an activity that it does not know",
    basis: "assumed",
    reason: "The service may add activities, and a failure disables the webhook for all of them",
    changes: { activity: "CONTRACT_ADDED_LATER" },
  },
];

export const genuineChecks = variants.map(createAcceptanceCheck);
