import { createHash } from "node:crypto";
import { formatAlgorithm, getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type CheckContext, describeResponse, type ReceiverCheck } from "./check.ts";
import { encodingName, type ForgeryOptions, jsonContentTypeHeader, otherDigest, otherEncoding } from "./deliveries.ts";
import { hasSucceeded, type RawDelivery, type ReceiverResponse } from "./sender.ts";

const { format } = getDefaultScheme();

interface ForgedVariant extends Pick<ReceiverCheck, "id" | "summary" | "mistake"> {
  readonly build: (run: CheckContext) => RawDelivery;
  /** Whether accepting the signature is harmless although the specification does not allow it. */
  readonly isHarmless?: boolean;
}

/** Creates a check that a delivery with a wrong signature gets no 2xx status. */
const createRejectionCheck = ({ build, isHarmless, ...declaration }: ForgedVariant): ReceiverCheck => ({
  ...declaration,
  expects: "reject",
  basis: "specified",
  reason: `The signature is the ${encodingName} ${formatAlgorithm(format)} of the raw body, computed with the decoded key`,
  async run(run) {
    const response = await run.send(build(run));
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

/** Signs the event of the check with a different signature. */
const createForgery = (changes: ForgeryOptions | ((run: CheckContext) => ForgeryOptions)) => (run: CheckContext) =>
  run.deliveries.forgeDelivery(
    run.deliveries.createEvent(run.getEventNumber()),
    typeof changes === "function" ? changes(run) : changes,
  );

/** A wrong key that is the same in each run. */
const wrongKey = createHash("sha512").update("another key").digest();

/** Deliveries that the service did not sign. */
export const signatureChecks: readonly ReceiverCheck[] = [
  {
    id: "signature.tampered",
    summary: "Rejects a body that was changed after signing",
    mistake: "signature-unchecked",
    build(run: CheckContext) {
      const { body, headers } = run.deliveries.createGenuine(run.getEventNumber(), { status: "SIGN" });
      return { headers, body: Buffer.from(body.toString().replace('"SIGN"', '"VOID"')) };
    },
  },
  {
    id: "signature.other-key",
    summary: "Rejects a signature computed with another key",
    mistake: "signature-unchecked",
    build: createForgery({ key: wrongKey }),
  },
  {
    id: "signature.missing",
    summary: "Rejects a delivery without a signature",
    mistake: "missing-accepted",
    build: ({ deliveries, getEventNumber }: CheckContext) => ({
      body: Buffer.from(deliveries.createEvent(getEventNumber())),
      headers: [jsonContentTypeHeader],
    }),
  },
  {
    id: "signature.empty",
    summary: "Rejects an empty signature",
    mistake: "missing-accepted",
    build: createForgery({ edit: () => "" }),
  },
  {
    id: "signature.truncated",
    summary: "Rejects the first half of a signature",
    mistake: "prefix-comparison",
    build: createForgery({ edit: (signature) => signature.slice(0, signature.length / 2) }),
  },
  {
    id: "signature.extended",
    summary: "Rejects a signature with an additional character",
    mistake: "prefix-comparison",
    build: createForgery({ edit: (signature) => `${signature}0` }),
  },
  {
    id: "signature.non-ascii",
    summary: "Rejects a signature with other characters",
    mistake: "prefix-comparison",
    build: createForgery({ edit: (signature) => `${signature.slice(0, -1)}\u00e9` }),
  },
  {
    id: "signature.upper-case",
    summary: "Rejects a signature in upper case",
    mistake: "case-insensitive",
    isHarmless: format.encoding === "hex",
    build: createForgery({ edit: (signature) => signature.toUpperCase() }),
  },
  {
    id: "signature.undecoded-key",
    summary: "Rejects a signature computed with the undecoded key",
    mistake: "key-not-decoded",
    build: createForgery(({ deliveries: { key } }) => ({ key })),
  },
  {
    id: `signature.${otherDigest}`,
    summary: `Rejects ${formatAlgorithm({ digest: otherDigest })}`,
    mistake: "wrong-digest",
    build: createForgery({ digest: otherDigest }),
  },
  {
    id: `signature.${otherEncoding}`,
    summary: `Rejects a signature in ${otherEncoding}`,
    mistake: "wrong-encoding",
    build: createForgery({ encoding: otherEncoding }),
  },
].map(createRejectionCheck);
