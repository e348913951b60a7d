import { types } from "node:util";
import type { Bytes } from "../base/hmac.ts";
import { decodeKey } from "./key-text.ts";
import type { HeadersInput } from "./published.d.ts";
import { createInvalidVerdict, type Verdict } from "./verdict.ts";
import { contentHashHeader, verifyContentHash } from "./webhook.ts";

/**
 * Verifies a received delivery by its raw bytes and headers. Throws a TypeError if an argument is missing, if the key
 * is not padded standard base64, or if the body was parsed already: only raw bytes can be verified.
 */
export function verifyDelivery(delivery: {
  readonly body: string | ArrayBufferView | ArrayBufferLike;
  readonly headers: HeadersInput;
  readonly hmacKey: string;
}): Verdict<"missing" | "malformed" | "mismatch"> {
  const { body, headers, hmacKey } = delivery;
  decodeKey(hmacKey, "verifyDelivery: hmacKey");
  if (typeof headers !== "object" || headers === null) throw new TypeError("verifyDelivery: headers are required");
  if (body === undefined || body === null) throw new TypeError("verifyDelivery: body is required");
  const bytes = toBytes(body);
  if (bytes === undefined) throw new TypeError("The body must be the raw bytes, not a parsed value");
  const given = getHeader(headers, contentHashHeader);
  return given === undefined ? createInvalidVerdict("missing") : verifyContentHash(hmacKey, bytes, given);
}

/** Undefined if the body is not bytes. Test environments have their own byte classes, so `instanceof` is not used. */
function toBytes(body: string | ArrayBufferView | ArrayBufferLike): Bytes | undefined {
  if (typeof body === "string") return body;
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return types.isAnyArrayBuffer(body) ? Buffer.from(body) : undefined;
}

function getHeader(headers: HeadersInput, name: string): string | undefined {
  if ("get" in headers && typeof headers.get === "function") return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return typeof found === "string" ? found : found?.[0];
}
