import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { trimTrailing } from "./text.ts";

/** Digests of signatures. The weaker ones only serve to recognize foreign signatures. */
export type Digest = "sha256" | "sha512" | "sha384" | "sha1";
export type Bytes = string | Uint8Array;

/** Computes the HMAC of the concatenated parts. Strings are encoded as UTF-8. */
export function computeHmac(digest: Digest, key: Bytes, ...parts: Bytes[]): Buffer {
  const mac = createHmac(digest, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Computes the HMAC of one string, as base64url. */
export const computeHmacText = (digest: Digest, key: Bytes, text: string): string =>
  createHmac(digest, key).update(text).digest("base64url");

export async function computeStreamHmac(
  digest: Digest,
  key: Bytes,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Buffer> {
  const mac = createHmac(digest, key);
  for await (const chunk of chunks) mac.update(chunk);
  return mac.digest();
}

export function hash(digest: Digest, ...parts: Bytes[]): Buffer {
  const sum = createHash(digest);
  for (const part of parts) sum.update(part);
  return sum.digest();
}

/** Compares two secrets in a time that does not depend on their common prefix. */
export function isEqualInConstantTime(received: Bytes, expected: Bytes): boolean {
  const [bytes, secret] = [Buffer.from(received), Buffer.from(expected)];
  const isAsLong = bytes.length === secret.length;
  // A secret of another length must take the same time as a wrong secret. Hashing both to equal lengths would cost ten
  // times as much.
  return timingSafeEqual(isAsLong ? bytes : secret, secret) && isAsLong;
}

/**
 * Decodes padded standard base64. Returns undefined for any other text. Buffer skips invalid characters, so a key with
 * a typing error would silently become another key.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  // The comparison rejects other alphabets, whitespace, missing padding and stray final bits.
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** Decodes the base64 text of a file. GNU `base64` wraps its lines (RFC 2045, 6.8). */
export const decodeFileBase64 = (text: string): Buffer | undefined => decodeBase64(text.replace(/[\r\n]+/g, ""));

/** Decodes the standard or the URL-safe alphabet, with or without padding, as lenient foreign verifiers do. */
export function decodeAnyBase64(text: string): Buffer | undefined {
  const standard = trimTrailing(text.replaceAll("-", "+").replaceAll("_", "/"), "=");
  return decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="));
}
