import { writeJson } from "../../../../base/json.ts";
import { type Check, type CheckRun, describeReply } from "./check.ts";
import { contentType, sortKeys } from "./deliveries.ts";
import { type Delivery, isAccepted } from "./sender.ts";

interface GenuineVariant extends Pick<Check, "id" | "summary" | "basis" | "reason"> {
  readonly build: (run: CheckRun) => Delivery;
}

/** Creates a check that a delivery gets a 2xx. */
const accepts = ({ build, ...declared }: GenuineVariant): Check => ({
  ...declared,
  expects: "accept",
  async run(run) {
    const reply = await run.send(build(run));
    return { result: isAccepted(reply) ? "passed" : "failed", detail: describeReply(reply) };
  },
});

const rawBytes = "The signature is over the raw body, so the receiver must not depend on how the JSON is written";
const http = "HTTP allows it, and a proxy on the way may do it";

/** More than the default limits of common frameworks: 100 kB. */
const longLength = 300_000;
export const longTitle = "Düsseldorf, 東京 and 🖋";

/** The check that all others depend on. */
export const genuineCheck = accepts({
  id: "genuine",
  summary: "Accepts a signed event",
  basis: "specified",
  reason: "2xx is success, and everything else is retried",
  build: ({ deliveries, getEventNumber }) => deliveries.createGenuine(getEventNumber()),
});

export const genuineChecks: readonly Check[] = [
  accepts({
    id: "raw-body.spaced",
    summary: "Accepts JSON with blanks after commas and colons",
    basis: "assumed",
    reason: rawBytes,
    build: ({ deliveries, getEventNumber }) => deliveries.createGenuine(getEventNumber(), {}, "spaced"),
  }),
  accepts({
    id: "raw-body.escaped",
    summary: "Accepts JSON with escaped characters",
    basis: "assumed",
    reason: rawBytes,
    build: ({ deliveries, getEventNumber }) =>
      deliveries.createGenuine(getEventNumber(), { title: longTitle }, "escaped"),
  }),
  accepts({
    id: "raw-body.key-order",
    summary: "Accepts JSON with keys in another order",
    basis: "assumed",
    reason: rawBytes,
    build: ({ deliveries, getEventNumber }) =>
      deliveries.signDelivery(JSON.stringify(sortKeys(JSON.parse(deliveries.createEvent(getEventNumber()))))),
  }),
  accepts({
    id: "raw-body.numbers",
    summary: "Accepts numbers such as 100.50 and 1e3",
    basis: "assumed",
    reason: rawBytes,
    build({ deliveries, getEventNumber }) {
      const body = deliveries.createEvent(getEventNumber(), { more: { external_metadata: { amounts: "NUMBERS" } } });
      return deliveries.signDelivery(body.replace('"NUMBERS"', "[100.50,1.0,1e3]"));
    },
  }),
  accepts({
    id: "raw-body.non-ascii",
    summary: "Accepts characters outside ASCII",
    basis: "assumed",
    reason: rawBytes,
    build: ({ deliveries, getEventNumber }) => deliveries.createGenuine(getEventNumber(), { title: longTitle }),
  }),
  accepts({
    id: "raw-body.split-character",
    summary: "Accepts a body that is split within a character",
    basis: "public",
    reason: "TCP divides a body anywhere",
    build({ deliveries, getEventNumber }) {
      const delivery = deliveries.createGenuine(getEventNumber(), { title: longTitle });
      return { ...delivery, pauseAt: delivery.body.indexOf("東") + 1 };
    },
  }),
  accepts({
    id: "raw-body.indented",
    summary: "Accepts JSON on several lines",
    basis: "assumed",
    reason: rawBytes,
    build: ({ deliveries, getEventNumber }) =>
      deliveries.signDelivery(`${JSON.stringify(JSON.parse(deliveries.createEvent(getEventNumber())), null, 2)}\n`),
  }),
  accepts({
    id: "raw-body.long",
    summary: `Accepts a body of ${longLength / 1_000} kB`,
    basis: "assumed",
    reason: "An event holds all counterparties and the external metadata of a contract",
    build: ({ deliveries, getEventNumber }) =>
      deliveries.createGenuine(getEventNumber(), { more: { external_metadata: { note: "x".repeat(longLength) } } }),
  }),
  accepts({
    id: "transfer.chunked",
    summary: "Accepts a body in chunks, without Content-Length",
    basis: "public",
    reason: http,
    build: ({ deliveries, getEventNumber }) => ({ ...deliveries.createGenuine(getEventNumber()), isChunked: true }),
  }),
  accepts({
    id: "header.lower-case",
    summary: "Accepts header names in lower case",
    basis: "public",
    reason: "Names of headers have no case (RFC 9110, 5.1)",
    build: (run) => withHeaders(run, ([name, value]) => [name.toLowerCase(), value]),
  }),
  accepts({
    id: "header.title-case",
    summary: "Accepts header names in title case",
    basis: "public",
    reason: "Names of headers have no case (RFC 9110, 5.1)",
    build: (run) => withHeaders(run, ([name, value]) => [toTitleCase(name), value]),
  }),
  accepts({
    id: "header.charset",
    summary: "Accepts a charset in Content-Type",
    basis: "assumed",
    reason: "HTTP allows it, and many senders add it",
    build: (run) =>
      withHeaders(run, ([name, value]) => [name, name === contentType[0] ? `${value}; charset=utf-8` : value]),
  }),
  accepts({
    id: "event.unknown-fields",
    summary: "Accepts fields that it does not know",
    basis: "assumed",
    reason: "The service may add fields to its events",
    build: ({ deliveries, getEventNumber }) =>
      deliveries.createGenuine(getEventNumber(), { more: { added_later: true, added_data: { version: 2 } } }),
  }),
  accepts({
    id: "event.unknown-activity",
    summary: "Accepts an activity that it does not know",
    basis: "assumed",
    reason: "The service may add activities, and a failure disables the webhook for all of them",
    build: ({ deliveries, getEventNumber }) =>
      deliveries.createGenuine(getEventNumber(), { activity: "CONTRACT_ADDED_LATER" }),
  }),
];

const toTitleCase = (name: string): string => name.toLowerCase().replace(/(^|-)\w/g, (letter) => letter.toUpperCase());

/** Creates a genuine delivery with changed headers. */
function withHeaders(
  { deliveries, getEventNumber }: CheckRun,
  change: (header: Delivery["headers"][number]) => Delivery["headers"][number],
): Delivery {
  const { body, headers } = deliveries.createGenuine(getEventNumber());
  return { body, headers: headers.map(change) };
}

/** The same event in the form of a diagnosis. */
export const toSpacedAscii = (body: string): string => writeJson(writeJson(body, "escaped"), "spaced");
