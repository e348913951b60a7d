import { decodeBase64, hash } from "../base/hmac.ts";
import { isObject, tryParseJson } from "../base/object.ts";

export interface BasicCredentials {
  readonly user: string;
  /** May hold colons and may be empty. */
  readonly password: string;
}

/**
 * The credentials in an `authorization` header, or undefined if the routing service responds `Not authenticated`:
 * another scheme, not base64, not ASCII, or no colon (DECISIONS.md, P15). The scheme is case-insensitive.
 */
export function parseBasic(header: string | undefined): BasicCredentials | undefined {
  const [, encoded = ""] = /^basic\s+(\S+)\s*$/i.exec(header ?? "") ?? [];
  const text = decodeBase64(encoded)?.toString("latin1") ?? "";
  const colon = text.indexOf(":");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the range that the service decodes.
  if (colon < 0 || !/^[\x00-\x7f]*$/.test(text)) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** The `authorization` header for a pair. */
export const formatBasicHeader = ({ user, password }: BasicCredentials): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** The bearer token in an `authorization` header, or undefined if there is none. The scheme is case-insensitive. */
export const parseBearerToken = (header: string | undefined): string | undefined =>
  /^bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
/** The claims of a JWT, decoded without verification; undefined if it is not one. */
export function readJwtClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  const claims = tryParseJson(Buffer.from(parts[1]!, "base64url").toString());
  return isObject(claims) ? { ...claims } : undefined;
}

/** The `cluster` claim of an access token, if it is a string. */
export function readClusterClaim(token: string): string | undefined {
  const claim = readJwtClaims(token)?.cluster;
  return typeof claim === "string" ? claim : undefined;
}
/** The S256 code challenge of a verifier (RFC 7636, section 4.2). */
export const computeCodeChallenge = (verifier: string): string => hash("sha256", verifier).toString("base64url");
