import { createHash } from "node:crypto";
import { formatAlgorithm, getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type CheckContext, describeResponse, type ReceiverCheck } from "./check.ts";
import { encodingName, type ForgeryOptions, jsonContentTypeHeader, otherDigest, otherEncoding } from "./deliveries.ts";
import { hasSucceeded, type RawDelivery, type ReceiverResponse } from "./sender.ts";

const { format } = getDefaultScheme();

type ForgedVariant = readonly [
  id: string,
  summary: string,
  mistake: string,
  forgery: ForgeryOptions | ((run: CheckContext) => RawDelivery),
];

/** Creates a check that a delivery with a wrong signature gets no 2xx status. */
const createRejectionCheck = ([name, summary, mistake, forgery]: ForgedVariant): ReceiverCheck => ({
  ...{ id: `signature.${name}`, summary, mistake, expects: "reject", basis: "specified" },
  reason: `The signature is the ${encodingName} ${formatAlgorithm(format)} of the raw body, computed with the decoded key`,
  async run(run) {
    const { deliveries, getEventNumber, send } = run;
    const forge = (options: ForgeryOptions) =>
      deliveries.forgeDelivery(deliveries.createEvent(getEventNumber()), options);
    const response = await send(typeof forgery === "function" ? forgery(run) : forge(forgery));
    // Accepting upper-case digits is harmless, although the specification does not allow it.
    const isHarmless = name === "upper-case" && format.encoding === "hex";
    return { result: getResult(response, isHarmless), detail: describeResponse(response) };
  },
});

function getResult(response: ReceiverResponse, isHarmless = false) {
  // The receiver accepted it before its response broke.
  if (hasSucceeded(response)) return isHarmless ? "warning" : "failed";
  if (response.error?.code === "timeout") return "failed";
  // The receiver rejected it by an unexpected exception.
  return response.error || response.status! >= 500 ? "warning" : "passed";
}

/** A wrong key that is the same in each run. */
const wrongKey = createHash("sha512").update("another key").digest();

const variants: readonly ForgedVariant[] = [
  ["tampered", "Rejects a body that was changed after signing", "signature-unchecked", tamperDelivery],
  ["other-key", "Rejects a signature computed with another key", "signature-unchecked", { key: wrongKey }],
  ["missing", "Rejects a delivery without a signature", "missing-accepted", createUnsigned],
  ["empty", "Rejects an empty signature", "missing-accepted", { edit: () => "" }],
  [
    "truncated",
    "Rejects the first half of a signature",
    "prefix-comparison",
    { edit: (signature) => signature.slice(0, signature.length / 2) },
  ],
  [
    "extended",
    "Rejects a signature with an additional character",
    "prefix-comparison",
    { edit: (signature) => `${signature}0` },
  ],
  [
    "non-ascii",
    "Rejects a signature with other characters",
    "prefix-comparison",
    { edit: (signature) => `${signature.slice(0, -1)}\u00e9` },
  ],
  [
    "upper-case",
    "Rejects a signature in upper case",
    "case-insensitive",
    { edit: (signature) => signature.toUpperCase() },
  ],
  ["undecoded-key", "Rejects a signature computed with the undecoded key", "key-not-decoded", forgeUndecoded],
  [otherDigest, `Rejects ${formatAlgorithm({ digest: otherDigest })}`, "wrong-digest", { digest: otherDigest }],
  [otherEncoding, `Rejects a signature in ${otherEncoding}`, "wrong-encoding", { encoding: otherEncoding }],
];

/** Deliveries that the service did not sign. */
export const signatureChecks = variants.map(createRejectionCheck);

/** Changes the status of an event after signing it. */
export function tamperDelivery({ deliveries, getEventNumber }: CheckContext): RawDelivery {
  const { body, headers } = deliveries.createGenuine(getEventNumber());
  return { headers, body: Buffer.from(body.toString().replace('"SIGN"', '"VOID"')) };
}

function createUnsigned({ deliveries, getEventNumber }: CheckContext): RawDelivery {
  return { body: Buffer.from(deliveries.createEvent(getEventNumber())), headers: [jsonContentTypeHeader] };
}

function forgeUndecoded({ deliveries, getEventNumber }: CheckContext): RawDelivery {
  return deliveries.forgeDelivery(deliveries.createEvent(getEventNumber()), { key: deliveries.key });
}
