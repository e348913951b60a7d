import { decodeBase64 } from "../base/hmac.ts";

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
