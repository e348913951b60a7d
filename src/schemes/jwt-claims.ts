import { isObject, tryParseJson } from "../base/object.ts";

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
