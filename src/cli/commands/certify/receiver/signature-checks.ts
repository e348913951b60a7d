import { createHash } from "node:crypto";
import { contentHash } from "../../../../schemes/webhook.ts";
import { type Check, type CheckRun, describeReply } from "./check.ts";
import { contentType } from "./deliveries.ts";
import { type Delivery, hasSucceeded, type Reply } from "./sender.ts";

interface Forgery extends Pick<Check, "id" | "summary"> {
  readonly build: (run: CheckRun) => Delivery;
  /** Accepting it is harmless, although the specification does not allow it. */
  readonly isHarmless?: boolean;
}

/** Creates a check that a delivery with a wrong signature gets no 2xx. */
const createRejectionCheck = ({ build, isHarmless, ...declared }: Forgery): Check => ({
  ...declared,
  expects: "reject",
  basis: "specified",
  reason: "The signature is the lower-case hex HMAC-SHA512 of the raw body, by the decoded key",
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

/** Creates the check's event with another signature, or without one if it is undefined. */
function forgeDelivery(run: CheckRun, computeHash: (body: string, run: CheckRun) => string | undefined): Delivery {
  const body = run.deliveries.createEvent(run.getEventNumber());
  const hash = computeHash(body, run);
  if (hash !== undefined) return run.deliveries.signDelivery(body, hash);
  return { body: Buffer.from(body), headers: [contentType] };
}

const computeGenuineHash = (body: string, { deliveries }: CheckRun): string => contentHash(deliveries.key, body);

/** Another key, the same in each run. */
const otherKey = createHash("sha512").update("another key").digest("base64");

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
    build: (run: CheckRun) => forgeDelivery(run, (body) => contentHash(otherKey, body)),
  },
  {
    id: "signature.missing",
    summary: "Rejects a delivery without a signature",
    build: (run: CheckRun) => forgeDelivery(run, () => undefined),
  },
  {
    id: "signature.empty",
    summary: "Rejects an empty signature",
    build: (run: CheckRun) => forgeDelivery(run, () => ""),
  },
  {
    id: "signature.truncated",
    summary: "Rejects the first half of a signature",
    build: (run: CheckRun) => forgeDelivery(run, (body) => computeGenuineHash(body, run).slice(0, 64)),
  },
  {
    id: "signature.extended",
    summary: "Rejects a signature with a character added",
    build: (run: CheckRun) => forgeDelivery(run, (body) => `${computeGenuineHash(body, run)}0`),
  },
  {
    id: "signature.non-ascii",
    summary: "Rejects a signature with other characters",
    build: (run: CheckRun) => forgeDelivery(run, (body) => `${computeGenuineHash(body, run).slice(0, -1)}\u00e9`),
  },
  {
    id: "signature.upper-case",
    summary: "Rejects a signature in upper case",
    isHarmless: true,
    build: (run: CheckRun) => forgeDelivery(run, (body) => computeGenuineHash(body, run).toUpperCase()),
  },
  {
    id: "signature.undecoded-key",
    summary: "Rejects a signature by the key without decoding",
    build: (run: CheckRun) => forgeDelivery(run, (body) => run.deliveries.hash(body, { key: run.deliveries.key })),
  },
  {
    id: "signature.sha256",
    summary: "Rejects HMAC-SHA256",
    build: (run: CheckRun) => forgeDelivery(run, (body) => run.deliveries.hash(body, { digest: "sha256" })),
  },
  {
    id: "signature.base64",
    summary: "Rejects a signature in base64",
    build: (run: CheckRun) => forgeDelivery(run, (body) => run.deliveries.hash(body, { encoding: "base64" })),
  },
].map(createRejectionCheck);
