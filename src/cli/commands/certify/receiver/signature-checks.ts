import { createHash } from "node:crypto";
import { formatAlgorithm, getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type Check, type CheckRun, describeReply } from "./check.ts";
import { contentType, type Forgery, otherDigest, otherEncoding } from "./deliveries.ts";
import { type Delivery, hasSucceeded, type Reply } from "./sender.ts";

const { format } = getDefaultScheme();
const encodingName = format.encoding === "hex" ? "lower-case hex" : "base64";

interface ForgedVariant extends Pick<Check, "id" | "summary"> {
  readonly build: (run: CheckRun) => Delivery;
  /** Whether accepting the signature is harmless although the specification does not allow it. */
  readonly isHarmless?: boolean;
}

/** Creates a check that a delivery with a wrong signature gets no 2xx status. */
const createRejectionCheck = ({ build, isHarmless, ...declared }: ForgedVariant): Check => ({
  ...declared,
  expects: "reject",
  basis: "specified",
  reason: `The signature is the ${encodingName} ${formatAlgorithm(format)} of the raw body, by the decoded key`,
  async run(run) {
    const reply = await run.send(build(run));
    return { result: getResult(reply, isHarmless), detail: describeReply(reply) };
  },
});

function getResult(reply: Reply, isHarmless = false) {
  // The receiver accepted it before its response broke.
  if (hasSucceeded(reply)) return isHarmless ? "warning" : "failed";
  if (reply.error?.code === "timeout") return "failed";
  // The receiver rejected it by an unexpected exception.
  return reply.error || reply.status! >= 500 ? "warning" : "passed";
}

/** Signs the event of the check with a different signature. */
const createForgery = (changes: Forgery | ((run: CheckRun) => Forgery)) => (run: CheckRun) =>
  run.deliveries.forgeDelivery(
    run.deliveries.createEvent(run.getEventNumber()),
    typeof changes === "function" ? changes(run) : changes,
  );

/** A wrong key that is the same in each run. */
const otherKey = createHash("sha512").update("another key").digest();

/** Deliveries that the service did not sign. */
export const signatureChecks: readonly Check[] = [
  {
    id: "signature.tampered",
    summary: "Rejects a body that was changed after signing",
    build(run: CheckRun) {
      const { body, headers } = run.deliveries.createGenuine(run.getEventNumber(), { status: "SIGN" });
      return { headers, body: Buffer.from(body.toString().replace('"SIGN"', '"VOID"')) };
    },
  },
  {
    id: "signature.other-key",
    summary: "Rejects a signature by another key",
    build: createForgery({ key: otherKey }),
  },
  {
    id: "signature.missing",
    summary: "Rejects a delivery without a signature",
    build: ({ deliveries, getEventNumber }: CheckRun) => ({
      body: Buffer.from(deliveries.createEvent(getEventNumber())),
      headers: [contentType],
    }),
  },
  {
    id: "signature.empty",
    summary: "Rejects an empty signature",
    build: createForgery({ edit: () => "" }),
  },
  {
    id: "signature.truncated",
    summary: "Rejects the first half of a signature",
    build: createForgery({ edit: (signature) => signature.slice(0, signature.length / 2) }),
  },
  {
    id: "signature.extended",
    summary: "Rejects a signature with a character added",
    build: createForgery({ edit: (signature) => `${signature}0` }),
  },
  {
    id: "signature.non-ascii",
    summary: "Rejects a signature with other characters",
    build: createForgery({ edit: (signature) => `${signature.slice(0, -1)}\u00e9` }),
  },
  {
    id: "signature.upper-case",
    summary: "Rejects a signature in upper case",
    isHarmless: format.encoding === "hex",
    build: createForgery({ edit: (signature) => signature.toUpperCase() }),
  },
  {
    id: "signature.undecoded-key",
    summary: "Rejects a signature by the key without decoding",
    build: createForgery(({ deliveries: { key } }) => ({ key })),
  },
  {
    id: `signature.${otherDigest}`,
    summary: `Rejects ${formatAlgorithm({ digest: otherDigest })}`,
    build: createForgery({ digest: otherDigest }),
  },
  {
    id: `signature.${otherEncoding}`,
    summary: `Rejects a signature in ${otherEncoding}`,
    build: createForgery({ encoding: otherEncoding }),
  },
].map(createRejectionCheck);
