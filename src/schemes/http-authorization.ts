import { decodeBase64, hash } from "../base/hmac.ts";
import { isObject, tryParseJson } from "../base/object.ts";

interface BasicCredentials {
  readonly user: string;
  /** Can contain colons or be empty. */
  readonly password: string;
}

/**
 * Parses the credentials in an `authorization` header. The scheme is case-insensitive. Returns undefined if the routing
 * service responds `Not authenticated`: another scheme, not base64, not ASCII, or no colon (DECISIONS.md, P15).
 */
export function parseBasic(header: string | undefined): BasicCredentials | undefined {
  const [, encoded = ""] = /^basic\s+(\S+)\s*$/i.exec(header ?? "") ?? [];
  const text = decodeBase64(encoded)?.toString("latin1") ?? "";
  const colon = text.indexOf(":");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the range that the service decodes.
  if (colon < 0 || !/^[\x00-\x7f]*$/.test(text)) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

export const formatBasicHeader = ({ user, password }: BasicCredentials): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/**
 * Parses the bearer token in an `authorization` header. The scheme is case-insensitive. Returns undefined without a
 * token.
 */
export const parseBearerToken = (header: string | undefined): string | undefined =>
  /^bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
/** Decodes the claims of a JWT without verification. Returns undefined if the token is not a JWT. */
export function readJwtClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  const claims = tryParseJson(Buffer.from(parts[1]!, "base64url").toString());
  return isObject(claims) ? { ...claims } : undefined;
}

export function readClusterClaim(token: string): string | undefined {
  const claim = readJwtClaims(token)?.cluster;
  return typeof claim === "string" ? claim : undefined;
}
/** Computes the S256 code challenge of a verifier (RFC 7636, section 4.2). */
export const computeCodeChallenge = (verifier: string): string => hash("sha256", verifier).toString("base64url");
