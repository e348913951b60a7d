import { types } from "node:util";
import { type Bytes, computeHmac, computeStreamHmac, decodeBase64, isEqualInConstantTime } from "../base/hmac.ts";
import type * as published from "./published.d.ts";
import { createInvalidVerdict, type Verdict, validVerdict } from "./verdict.ts";

/** Header with the signature of a webhook (DECISIONS.md, P19). */
export const contentHashHeader = "X-SVC-WEBHOOK-CONTENT-HASH";

/**
 * Computes the signature of a webhook: 128 lower-case hex digits of HMAC-SHA512 over the raw body. The key is the
 * base64 string from the service, decoded before use. Throws a TypeError if the key is missing or not padded standard
 * base64.
 */
export const contentHash: typeof published.contentHash = (hmacKeyBase64, body) =>
  computeHmac("sha512", decodeHmacKey(hmacKeyBase64), body).toString("hex");

export const contentHashOfStream: typeof published.contentHashOfStream = async (hmacKeyBase64, body) =>
  (await computeStreamHmac("sha512", decodeHmacKey(hmacKeyBase64), body)).toString("hex");

/**
 * Compares a header value with the hash of the received bytes. `malformed` means that it is not 128 lower-case hex
 * digits, so that it has another scheme or encoding. `mismatch` means a different key or different bytes.
 */
export function compareContentHash(given: string | undefined, expected: string): Verdict<"malformed" | "mismatch"> {
  if (given === undefined || !/^[0-9a-f]{128}$/.test(given)) return createInvalidVerdict("malformed");
  return isEqualInConstantTime(given, expected) ? validVerdict : createInvalidVerdict("mismatch");
}

/** Verifies a delivery by its received raw bytes. `compareContentHash` describes the verdict. */
export const verifyContentHash: typeof published.verifyContentHash = (hmacKeyBase64, body, given) =>
  compareContentHash(given, contentHash(hmacKeyBase64, body));

const decodeHmacKey = (hmacKeyBase64: string): Buffer => decodeKey(hmacKeyBase64, "The HMAC key");
/**
 * Decodes a base64 key. Throws a TypeError if the key is missing or not base64. `what` is the name of the key in the
 * message.
 */
function decodeKey(text: string | undefined, what: string): Buffer {
  // A variable that is not set is undefined in programs, and an empty string in pipelines.
  if (text === undefined || text === null || text === "")
    throw new TypeError(`${what} is missing. Check that its variable is set.`);
  if (typeof text !== "string") throw new TypeError(`${what} must be a base64 string, not decoded bytes`);
  const key = decodeBase64(text);
  // The message omits the key, because messages are logged.
  if (!key) throw new TypeError(`${what} is not padded standard base64`);
  return key;
}
/**
 * Verifies a received delivery by its raw bytes and headers. Throws a TypeError if an argument is missing, if the key
 * is not padded standard base64, or if the body was already parsed. Only raw bytes can be verified.
 */
export const verifyDelivery: typeof published.verifyDelivery = ({ body, headers, hmacKey }) => {
  decodeKey(hmacKey, "verifyDelivery: hmacKey");
  if (typeof headers !== "object" || headers === null) throw new TypeError("verifyDelivery: headers are required");
  if (Array.isArray(headers) || types.isMap(headers))
    throw new TypeError("verifyDelivery: headers must be an object or a Headers, not an array (rawHeaders) or a Map");
  if (body === undefined || body === null) throw new TypeError("verifyDelivery: body is required");
  const bytes = toBytes(body);
  if (bytes === undefined) throw new TypeError("The body must be the raw bytes, not a parsed value");
  const given = getHeader(headers, contentHashHeader);
  return given === undefined ? createInvalidVerdict("missing") : verifyContentHash(hmacKey, bytes, given);
};

/**
 * Converts a body to bytes. Returns undefined if the body is not bytes. Test environments have their own byte classes,
 * so `instanceof` is not used.
 */
function toBytes(body: string | ArrayBufferView | ArrayBufferLike): Bytes | undefined {
  if (typeof body === "string") return body;
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return types.isAnyArrayBuffer(body) ? Buffer.from(body) : undefined;
}

function getHeader(headers: published.HeadersInput, name: string): string | undefined {
  if ("get" in headers && typeof headers.get === "function") return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return typeof found === "string" ? found : found?.[0];
}

/** Maximum difference of a timestamp from the current time, in either direction (DECISIONS.md, P20). */
export const standardWebhookToleranceSeconds = 300;

/** Returns the three headers of Standard Webhooks. Throws a TypeError if the secret is not padded standard base64. */
export const standardWebhookHeaders: typeof published.standardWebhookHeaders = (message) => ({
  "webhook-id": message.id,
  "webhook-timestamp": message.timestamp,
  "webhook-signature": signStandardWebhook(message),
});

/**
 * Verifies the three headers. One `v1` signature of the list must match. Other versions (`v1a`) are skipped. Throws a
 * TypeError without `nowMs`.
 */
export const verifyStandardWebhook: typeof published.verifyStandardWebhook = (received) => {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = received;
  if (Number.isNaN(Number(received.nowMs)))
    throw new TypeError("verifyStandardWebhook: nowMs must be the current time in milliseconds");
  if (!id || !timestamp || !signatures) return createInvalidVerdict("missing");
  const ageSeconds = Math.floor(received.nowMs / 1_000) - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(ageSeconds) > standardWebhookToleranceSeconds)
    return createInvalidVerdict("stale");
  const expected = signStandardWebhook({ ...received, id, timestamp });
  return signatures.split(" ").some((given) => isEqualInConstantTime(given, expected))
    ? validVerdict
    : createInvalidVerdict("mismatch");
};

/** The secret can have the prefix `whsec_`. */
function signStandardWebhook({ secret, id, timestamp, body }: Parameters<typeof standardWebhookHeaders>[0]): string {
  const key = decodeKey(secret?.replace(/^whsec_/, ""), "The webhook secret");
  return `v1,${computeHmac("sha256", key, `${id}.${timestamp}.`, body).toString("base64")}`;
}
