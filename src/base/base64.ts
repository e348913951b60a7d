import { trimTrailing } from "./trailing.ts";

/**
 * The bytes of padded standard base64, or undefined for anything else: Buffer alone skips what it does not know, so a
 * key with a typing error would silently be another key.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  // Comparing with the re-encoded text refuses other alphabets, blanks, missing padding and stray last bits at once.
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** The same for the contents of a file, whose lines `base64` of GNU wraps (RFC 2045, 6.8). */
export const decodeFileBase64 = (text: string): Buffer | undefined => decodeBase64(text.replace(/[\r\n]+/g, ""));

/** The same for the standard and the URL-safe alphabet, with padding or without: what lenient foreign verifiers accept. */
export function decodeAnyBase64(text: string): Buffer | undefined {
  const standard = trimTrailing(text.replaceAll("-", "+").replaceAll("_", "/"), "=");
  return decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="));
}
