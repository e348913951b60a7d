import { type Bytes, computeHmac, decodeAnyBase64, hash, isEqualInConstantTime } from "../base/hmac.ts";
import { isObject, tryParseJson } from "../base/object.ts";
import { createInvalidVerdict, isFresh, type Verdict, validVerdict } from "./verdict.ts";

/** Maximum age of a request of the chat app in seconds, inclusive (DECISIONS.md, P10). */
const chatAMaxAgeSeconds = 300;

interface ChatARequest {
  readonly signingSecret: string;
  /** Seconds since the epoch, from the timestamp header. */
  readonly timestamp: string;
  /** Raw body. JSON that was parsed and serialized again has a different signature. */
  readonly body: Bytes;
}

/** Computes the `v0` signature: `v0=` and the lower-case hex HMAC-SHA256 of `v0:<timestamp>:<body>`. */
export const signChatA = ({ signingSecret, timestamp, body }: ChatARequest): string =>
  `v0=${computeHmac("sha256", signingSecret, `v0:${timestamp}:`, body).toString("hex")}`;

/** Verifies the two headers against the raw body. `nowMs` is the time for the freshness check. */
export function verifyChatA(
  request: Pick<ChatARequest, "signingSecret" | "body"> & {
    readonly timestamp: string | undefined;
    readonly signature: string | undefined;
    readonly nowMs: number;
  },
): Verdict<"missing" | "stale" | "mismatch"> {
  const { timestamp, signature, nowMs } = request;
  if (!timestamp || !signature) return createInvalidVerdict("missing");
  // The age is counted in whole seconds: 300 is accepted, 301 is not.
  const now = Math.floor(nowMs / 1_000);
  if (!/^\d+$/.test(timestamp) || !isFresh(Number(timestamp), now, chatAMaxAgeSeconds))
    return createInvalidVerdict("stale");
  return isEqualInConstantTime(signature, signChatA({ ...request, timestamp }))
    ? validVerdict
    : createInvalidVerdict("mismatch");
}

const crmAVersions = ["v1", "v2", "v3"] as const;
export type CrmAVersion = (typeof crmAVersions)[number];

/** Maximum age of a v3 request in milliseconds, inclusive (DECISIONS.md, P8). */
const crmAMaxAgeMs = 300_000;

/** Signed parts of a request. v1 signs only the secret and the body, v2 everything except the timestamp. */
interface CrmARequest {
  readonly version: CrmAVersion;
  readonly clientSecret: string;
  readonly method: string;
  /** Full public URL with scheme, host and the query in its original order, with unchanged escapes. */
  readonly url: string;
  readonly body: Bytes;
  /** Milliseconds since the epoch as received. Empty for v1 and v2. */
  readonly timestamp: string;
}

/** Computes the signature of a request: lower-case hex for v1 and v2, padded base64 for v3. */
export function signCrmA({ version, clientSecret, method, url, body, timestamp }: CrmARequest): string {
  switch (version) {
    case "v1":
      return hash("sha256", clientSecret, body).toString("hex");
    case "v2":
      return hash("sha256", clientSecret, method, url, body).toString("hex");
    case "v3":
      return computeHmac("sha256", clientSecret, method, toSignedForm(url), body, timestamp).toString("base64");
  }
}

/**
 * Verifies the signature headers of a request. Without a version header, the version is v3 if there is a timestamp,
 * otherwise v1 (DECISIONS.md, R29). A valid verdict names the version. A v1 signature of a GET is a constant of the app
 * and proves nothing about the request, so the caller can reject it. `nowMs` is the time for the freshness check.
 */
export function verifyCrmA(
  request: Omit<CrmARequest, "version" | "timestamp"> & {
    readonly version: string | undefined;
    readonly timestamp: string | undefined;
    readonly signature: string | undefined;
    readonly nowMs: number;
  },
) {
  const { signature, timestamp = "" } = request;
  if (!signature) return createInvalidVerdict("missing");
  const named = request.version ?? (timestamp ? "v3" : "v1");
  const version = crmAVersions.find((known) => known === named);
  if (!version) return createInvalidVerdict("unknown-version");
  if (version === "v3" && !(/^\d+$/.test(timestamp) && isFresh(Number(timestamp), request.nowMs, crmAMaxAgeMs))) {
    return createInvalidVerdict("stale");
  }
  return isEqualInConstantTime(signature, signCrmA({ ...request, version, timestamp }))
    ? { ...validVerdict, version }
    : createInvalidVerdict("mismatch");
}

/** Escapes of `: / ? @ ! $ ' ( ) * , ;`, which v3 decodes before signing. Others stay, also `%20 %26 %2B %3D`. */
const escapesDecodedByV3 = /%(?:2[14789ACF]|3[ABF]|40)/gi;

const toSignedForm = (url: string): string => url.split("#", 1)[0]!.replace(escapesDecodedByV3, decodeURIComponent);

/** Signs a request: base64 HMAC-SHA256 of the base64 JSON, a period, and the base64 JSON (DECISIONS.md, P9). */
export function signCrmB(consumerSecret: string, envelope: string): string {
  const text = Buffer.from(envelope).toString("base64");
  return `${computeHmac("sha256", consumerSecret, text).toString("base64")}.${text}`;
}

/**
 * Verifies a signed request, then opens its envelope. The JSON is not trusted before the signature is valid. Both parts
 * can use the URL-safe alphabet, as the vendor's decoder allows. `issuedAt` is not checked, because the vendor
 * documents it as internal and it is often null.
 */
export function openCrmB(consumerSecret: string, signedRequest: string) {
  const period = signedRequest.indexOf(".");
  const text = signedRequest.slice(period + 1);
  const given = period > 0 ? decodeAnyBase64(signedRequest.slice(0, period)) : undefined;
  if (!given) return createInvalidVerdict("malformed");

  if (!isEqualInConstantTime(given, computeHmac("sha256", consumerSecret, text)))
    return createInvalidVerdict("mismatch");

  const envelope = tryParseJson(decodeAnyBase64(text)?.toString("utf8") ?? "");
  if (!isObject(envelope)) return createInvalidVerdict("malformed");
  // Only the algorithm that was checked is accepted. An envelope without the field implies it.
  const { algorithm = "HMACSHA256" } = envelope;
  if (String(algorithm).toUpperCase() !== "HMACSHA256") return createInvalidVerdict("unknown-algorithm");
  return { ...validVerdict, envelope };
}
