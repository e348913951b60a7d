import { unzipSync } from "node:zlib";
import { decodeAnyBase64 } from "../base/hmac.ts";
import { toFields, tryParseJson } from "../base/object.ts";

/** A common mistake: its code, its description, and the value that it produces. */
export type Mistake<Value> = readonly [code: string, text: string, value: Value];
type BodyMistake = Mistake<Uint8Array>;

/** Returns the original of a body that was encoded, compressed or wrapped before it was saved. */
export function unwrapBody(body: Uint8Array): readonly BodyMistake[] {
  const text = Buffer.from(body).toString("utf8");
  return [...decompressBody(body), ...decodeUtf16(body), ...unwrapBase64(text), ...unwrapJson(tryParseJson(text))];
}

/** Returns forms of a body that are sometimes signed instead of the received bytes. */
export function wrapBody(body: Uint8Array): readonly BodyMistake[] {
  const bytes = Buffer.from(body);
  const utf16 = Buffer.from(bytes.toString("utf8"), "utf16le");
  const base64Words = "The base64 of this body was signed. Decode it first, and sign the raw bytes.";
  const utf16Words = "The text was signed as UTF-16. Sign the received bytes, which are UTF-8.";
  return [
    ["signed-as-base64", base64Words, Buffer.from(bytes.toString("base64"))],
    ["signed-as-utf-16", utf16Words, utf16],
    ["signed-as-utf-16", utf16Words, Buffer.concat([Buffer.from([0xff, 0xfe]), utf16])],
    ["signed-as-utf-16", utf16Words, Buffer.concat([Buffer.from([0xfe, 0xff]), swapBytes(utf16)])],
  ];
}

/** Maximum size of a decompressed body. Webhooks are not larger. */
const maxInflatedBytes = 32 * 2 ** 20;

function decompressBody(body: Uint8Array): BodyMistake[] {
  try {
    const text = "This body is compressed (gzip or deflate). The signature covers the decompressed bytes.";
    return [["gzip", text, unzipSync(body, { maxOutputLength: maxInflatedBytes })]];
  } catch {
    return [];
  }
}

function decodeUtf16(body: Uint8Array): BodyMistake[] {
  const [first, second, third, fourth] = body;
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0 && third !== 0 && fourth === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && third === 0 && fourth !== 0);
  if (body.length % 2 !== 0 || !(isLittle || isBig)) return [];
  const bytes = isLittle ? Buffer.from(body) : swapBytes(body);
  const text = "This body is UTF-16, as PowerShell writes files. The signature covers the UTF-8 bytes.";
  return [["utf-16", text, Buffer.from(bytes.toString("utf16le").replace(/^\ufeff/, ""))]];
}

const swapBytes = (bytes: Uint8Array): Buffer => Buffer.from(bytes).swap16();

/** Minimum number of characters, because a word can be valid base64 by chance. */
const minBase64Length = 16;

function unwrapBase64(text: string): BodyMistake[] {
  // Some programs insert line breaks.
  const bare = text.replace(/\s+/g, "");
  const bytes = bare.length < minBase64Length ? undefined : decodeAnyBase64(bare);
  return bytes ? [["base64-body", "This body is base64. The signature covers the decoded bytes.", bytes]] : [];
}

/** Unwraps a string with the body, or an event of a gateway with such a field. */
function unwrapJson(document: unknown): BodyMistake[] {
  if (typeof document === "string") {
    return [["json-string", "This body is a JSON string. The signature covers its contents.", Buffer.from(document)]];
  }
  return Object.entries(toFields(document)).flatMap(([name, value]): BodyMistake[] => {
    if (typeof value !== "string" || value === "") return [];
    const text = `The body is in the field "${name}" of this JSON. The signature covers its contents.`;
    return [["json-field", text, Buffer.from(value)]];
  });
}
