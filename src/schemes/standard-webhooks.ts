import { type Bytes, computeHmac, isEqualInConstantTime } from "../base/hmac.ts";
import type { StandardWebhookHeaders } from "./published.d.ts";
import { createInvalidVerdict, type Verdict, validVerdict } from "./verdict.ts";
import { decodeKey } from "./webhook.ts";

/** Maximum difference of a timestamp from the current time, in either direction (DECISIONS.md, P20). */
export const standardWebhookToleranceSeconds = 300;

interface StandardWebhook {
  /** Key in base64, with or without the prefix `whsec_`. */
  readonly secret: string;
  readonly id: string;
  /** Time of the attempt in seconds since the epoch. */
  readonly timestamp: string;
  readonly body: Bytes;
}

/** Returns the three headers of Standard Webhooks. Throws a TypeError if the secret is not padded standard base64. */
export const standardWebhookHeaders = (message: StandardWebhook): StandardWebhookHeaders => ({
  "webhook-id": message.id,
  "webhook-timestamp": message.timestamp,
  "webhook-signature": computeSignature(message),
});

/**
 * Verifies the three headers. One `v1` signature of the list must match. Other versions (`v1a`) are skipped. Throws a
 * TypeError without `nowMs`.
 */
export function verifyStandardWebhook(
  received: Partial<StandardWebhookHeaders> & Pick<StandardWebhook, "secret" | "body"> & { readonly nowMs: number },
): Verdict<"missing" | "stale" | "mismatch"> {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = received;
  if (Number.isNaN(Number(received.nowMs)))
    throw new TypeError("verifyStandardWebhook: nowMs must be the current time in milliseconds");
  if (!id || !timestamp || !signatures) return createInvalidVerdict("missing");
  const ageSeconds = Math.floor(received.nowMs / 1_000) - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(ageSeconds) > standardWebhookToleranceSeconds)
    return createInvalidVerdict("stale");
  const expected = computeSignature({ ...received, id, timestamp });
  return signatures.split(" ").some((given) => isEqualInConstantTime(given, expected))
    ? validVerdict
    : createInvalidVerdict("mismatch");
}

function computeSignature({ secret, id, timestamp, body }: StandardWebhook): string {
  const key = decodeKey(secret?.replace(/^whsec_/, ""), "The webhook secret");
  return `v1,${computeHmac("sha256", key, `${id}.${timestamp}.`, body).toString("base64")}`;
}
