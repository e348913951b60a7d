import { isHeaderName, isHeaderValue } from "../../api/operation.ts";
import { UsageError } from "../process/failure.ts";

/**
 * Parses the values of --header. Repeated headers are joined (RFC 9110, 5.3), cookies with a semicolon (RFC 6265,
 * 4.2.1).
 */
export function parseHeaderFlag(texts: readonly string[] = []): Record<string, string> {
  const headers = new Map<string, string>();
  for (const text of texts) {
    const colon = Math.max(0, text.indexOf(":"));
    const name = text.slice(0, colon).trim().toLowerCase();
    const value = text.slice(colon + 1).trim();
    if (!isHeaderName(name) || !isHeaderValue(value)) {
      throw new UsageError(`--header must be NAME:VALUE, got "${text.split(/[\s=:]/)[0]}…"`);
    }
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`);
  }
  return Object.fromEntries(headers);
}
