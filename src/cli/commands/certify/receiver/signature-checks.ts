import { createHash } from "node:crypto";
import { formatAlgorithm, getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type CheckContext, describeResponse, type ReceiverCheck } from "./check.ts";
import { encodingName, type ForgeryOptions, jsonContentType, otherDigest, otherEncoding } from "./delivery.ts";
import { hasSucceeded, type RawDelivery, type ReceiverResponse } from "./sender.ts";

const { format } = getDefaultScheme();

/** Creates a check that a delivery with a wrong signature gets no 2xx status. */
const rejects = (
  name: string,
  summary: string,
  mistake: string,
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
  if (hasSucceeded(response)) return isHarmless ? "warning" : "failed";
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
