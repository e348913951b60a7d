import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { trimTrailing } from "./text.ts";

/** The weaker digests are only used to recognize foreign signatures. */
export type Digest = "sha256" | "sha512" | "sha384" | "sha1";
export type Bytes = string | Uint8Array;

/** HMAC of the concatenated parts. Strings count as UTF-8. */
export function computeHmac(digest: Digest, key: Bytes, ...parts: Bytes[]): Buffer {
  const mac = createHmac(digest, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** The same for one string, as base64url. */
export const computeHmacText = (digest: Digest, key: Bytes, text: string): string =>
  createHmac(digest, key).update(text).digest("base64url");

/** The same for bytes that are not held in memory. */
export async function computeStreamHmac(
  digest: Digest,
  key: Bytes,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Buffer> {
  const mac = createHmac(digest, key);
  for await (const chunk of chunks) mac.update(chunk);
  return mac.digest();
}

/** SHA-2 of the concatenated parts. */
export function hash(digest: Digest, ...parts: Bytes[]): Buffer {
  const sum = createHash(digest);
  for (const part of parts) sum.update(part);
  return sum.digest();
}

/** Compares two secrets in a time that does not depend on their common prefix. */
export function isEqualInConstantTime(given: Bytes, expected: Bytes): boolean {
  const [bytes, secret] = [Buffer.from(given), Buffer.from(expected)];
  const isAsLong = bytes.length === secret.length;
  // A secret of another length takes the same time as a wrong one. Hashing both to equal lengths would cost ten times
  // as much.
  return timingSafeEqual(isAsLong ? bytes : secret, secret) && isAsLong;
}

/**
 * The bytes of padded standard base64, or undefined for anything else. Buffer skips invalid characters, so a key with a
 * typing error would silently become another key.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  // Comparing with the re-encoded string rejects other alphabets, whitespace, missing padding and stray final bits at
  // once.
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** The same for the contents of a file, whose lines GNU `base64` wraps (RFC 2045, 6.8). */
export const decodeFileBase64 = (text: string): Buffer | undefined => decodeBase64(text.replace(/[\r\n]+/g, ""));

/**
 * The same for the standard and the URL-safe alphabet, with or without padding, as lenient foreign verifiers accept it.
 */
export function decodeAnyBase64(text: string): Buffer | undefined {
  const standard = trimTrailing(text.replaceAll("-", "+").replaceAll("_", "/"), "=");
  return decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="));
}
