import { computeHmac, decodeAnyBase64, isEqualInConstantTime } from "../base/hmac.ts";
import { isObject, tryParseJson } from "../base/object.ts";
import { createInvalidVerdict } from "./verdict.ts";

export type CrmBVerdict =
  | { readonly ok: true; readonly envelope: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly reason: "malformed" | "mismatch" | "unknown-algorithm" };

/** A signed request: base64 HMAC-SHA256 of the base64 JSON, a period, and the base64 JSON (DECISIONS.md, P9). */
export function signCrmB(consumerSecret: string, envelope: string): string {
  const text = Buffer.from(envelope).toString("base64");
  return `${computeHmac("sha256", consumerSecret, text).toString("base64")}.${text}`;
}

/**
 * Verifies a signed request, then opens its envelope: the JSON is not trusted before the signature is valid. Both parts
 * may use the URL-safe alphabet, as the vendor's decoder allows. `issuedAt` is not checked, because it is documented as
 * internal and often null.
 */
export function openCrmB(consumerSecret: string, signedRequest: string): CrmBVerdict {
  const period = signedRequest.indexOf(".");
  const text = signedRequest.slice(period + 1);
  const given = period > 0 ? decodeAnyBase64(signedRequest.slice(0, period)) : undefined;
  if (!given) return createInvalidVerdict("malformed");

  if (!isEqualInConstantTime(given, computeHmac("sha256", consumerSecret, text)))
    return createInvalidVerdict("mismatch");

  const envelope = parseObject(decodeAnyBase64(text)?.toString("utf8"));
  if (!envelope) return createInvalidVerdict("malformed");
  // Only the algorithm that was checked is accepted. An envelope without the field implies it.
  const { algorithm = "HMACSHA256" } = envelope;
  if (String(algorithm).toUpperCase() !== "HMACSHA256") return createInvalidVerdict("unknown-algorithm");
  return { ok: true, envelope };
}

function parseObject(text: string | undefined): Record<string, unknown> | undefined {
  const value = text === undefined ? undefined : tryParseJson(text);
  return isObject(value) ? { ...value } : undefined;
}
