import { type Bytes, computeHmac, computeStreamHmac, isEqualInConstantTime } from "../base/hmac.ts";
import { decodeKey } from "./key-text.ts";
import { createInvalidVerdict, type Verdict, validVerdict } from "./verdict.ts";

/** The header that carries the signature of a webhook (DECISIONS.md, P19). */
export const contentHashHeader = "X-SVC-WEBHOOK-CONTENT-HASH";

/**
 * The signature of a webhook: 128 lower-case hex digits of HMAC-SHA512 over the raw body. The key is the base64 string
 * from the service, decoded before use. Throws a TypeError if it is missing, or not padded standard base64.
 */
export const contentHash = (hmacKeyBase64: string, body: Bytes): string =>
  computeHmac("sha512", decodeHmacKey(hmacKeyBase64), body).toString("hex");

/** The same for a body that is not held in memory. */
export const contentHashOfStream = async (
  hmacKeyBase64: string,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string> => (await computeStreamHmac("sha512", decodeHmacKey(hmacKeyBase64), body)).toString("hex");

/**
 * Compares a header value with the hash of the received bytes. `malformed`: not 128 lower-case hex digits, so it has
 * another scheme or encoding. `mismatch`: another key or other bytes.
 */
export function compareContentHash(given: string | undefined, expected: string): Verdict<"malformed" | "mismatch"> {
  if (given === undefined || !/^[0-9a-f]{128}$/.test(given)) return createInvalidVerdict("malformed");
  return isEqualInConstantTime(given, expected) ? validVerdict : createInvalidVerdict("mismatch");
}

/** Verifies a delivery by its received raw bytes; see `compareContentHash`. */
export const verifyContentHash = (
  hmacKeyBase64: string,
  body: Bytes,
  given: string | undefined,
): Verdict<"malformed" | "mismatch"> => compareContentHash(given, contentHash(hmacKeyBase64, body));

const decodeHmacKey = (hmacKeyBase64: string): Buffer => decodeKey(hmacKeyBase64, "The HMAC key");
