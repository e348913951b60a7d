import { toIsoSeconds } from "../base/clock.ts";
import { type Bytes, computeHmac, isEqualInConstantTime } from "../base/hmac.ts";
import { decodeUrlPart } from "../base/urls.ts";

/** Signed parts of a URL. `url` is absolute. Escapes in its path count as the characters that they encode. */
interface UrlGrant {
  readonly key: Bytes;
  readonly method: "GET" | "PUT";
  readonly url: string;
  /** Required media type. Undefined allows any type. */
  readonly contentType?: string | undefined;
}

/** Verdict on a signed URL, with the data of an `expired` response. */
type SignedUrlVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: "mismatch" }
  | { readonly ok: false; readonly reason: "expired"; readonly expiresAtMs: number; readonly expiresSeconds: number };

const mismatchVerdict = { ok: false, reason: "mismatch" } as const;

/** Query parameters of a signed URL (DECISIONS.md, P17). */
const signedUrlParameters = {
  date: "X-Sig-Date",
  expires: "X-Sig-Expires",
  signedHeaders: "X-Sig-SignedHeaders",
  signature: "X-Sig-Signature",
} as const;

/** Reports whether a query contains a signature, valid or not. */
export const hasUrlSignature = (search: string): boolean =>
  new URLSearchParams(search).has(signedUrlParameters.signature);

/**
 * Creates a URL that is valid for one method until `expiresSeconds` after `nowMs` (virtual time). Its expiry is in
 * seconds, so the signing time is rounded down to seconds.
 */
export function signUrl(grant: UrlGrant & { readonly nowMs: number; readonly expiresSeconds: number }) {
  const { origin, path, query } = splitUrl(grant.url);
  const signedAtMs = Math.floor(grant.nowMs / 1_000) * 1_000;
  query.push(
    [signedUrlParameters.date, formatBasicTime(signedAtMs)],
    [signedUrlParameters.expires, String(grant.expiresSeconds)],
    [signedUrlParameters.signedHeaders, grant.contentType === undefined ? "host" : "content-type;host"],
  );
  query.push([signedUrlParameters.signature, signQuery(grant, query)]);
  return {
    url: `${origin}${path}?${new URLSearchParams(query)}`,
    expiresAtMs: signedAtMs + grant.expiresSeconds * 1_000,
  };
}

/**
 * Verifies a URL from `signUrl`. `url` is the absolute URL of the request, `contentType` its header. A URL is valid
 * until its expiry time, inclusive. The signature is checked first, so only a genuine URL is reported as expired.
 */
export function verifySignedUrl(request: UrlGrant & { readonly nowMs: number }): SignedUrlVerdict {
  const { query } = splitUrl(request.url);
  const getValue = (name: string) => query.find(([key]) => key === name)?.[1] ?? "";
  const signed = query.filter(([name]) => name !== signedUrlParameters.signature);
  const bindsType = getValue(signedUrlParameters.signedHeaders) === "content-type;host";
  if (bindsType && request.contentType === undefined) return mismatchVerdict;

  const expected = signQuery({ ...request, contentType: bindsType ? request.contentType : undefined }, signed);
  if (query.length !== signed.length + 1) return mismatchVerdict;
  if (!isEqualInConstantTime(getValue(signedUrlParameters.signature), expected)) return mismatchVerdict;

  const expiresSeconds = Number(getValue(signedUrlParameters.expires));
  const expiresAtMs = parseBasicTime(getValue(signedUrlParameters.date)) + expiresSeconds * 1_000;
  return request.nowMs >= expiresAtMs ? { ok: false, reason: "expired", expiresAtMs, expiresSeconds } : { ok: true };
}

/** Computes the HMAC-SHA256 of method, host, path, the other parameters sorted by name, and the media type. */
function signQuery({ key, method, url, contentType }: UrlGrant, query: readonly QueryParameter[]): string {
  const { host, path } = splitUrl(url);
  const sorted = new URLSearchParams([...query]);
  sorted.sort();
  const parts = [method, host, decodePath(path), sorted, contentType?.trim() ?? ""];
  return computeHmac("sha256", key, parts.join("\n")).toString("hex");
}

/**
 * Decodes a path. Clients can escape a character or not, and both forms are equal (RFC 3986, 6.2.2). An escaped slash
 * stays escaped, because it is not a separator.
 */
const decodePath = (path: string): string => path.replace(/(?:%(?!2f)[0-9a-f]{2})+/gi, decodeUrlPart);

type QueryParameter = [name: string, value: string];

/** Splits a URL without `new URL`, which would normalize the path. */
function splitUrl(url: string): { origin: string; host: string; path: string; query: QueryParameter[] } {
  const [, origin = "", host = "", path = "", search = ""] =
    /^(https?:\/\/([^/?#]*))([^?#]*)\??([^#]*)/i.exec(url) ?? [];
  return { origin, host: host.toLowerCase(), path, query: [...new URLSearchParams(search)] };
}

const formatBasicTime = (ms: number): string => toIsoSeconds(ms).replace(/[-:]/g, "");

const parseBasicTime = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, "$1-$2-$3:$4:"));
