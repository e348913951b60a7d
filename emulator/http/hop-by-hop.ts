import type { IncomingMessage } from "node:http";
import { isSignatureHeader } from "../../src/schemes/webhook-schemes.ts";

/** Header fields of a single connection (RFC 9110, 7.6.1), which no proxy forwards. */
const hopByHopHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Returns whether a field controls the emulator, so that other servers can neither set nor receive it. These are all
 * `x-svc-` fields except those that sign webhooks. `name` is in lower case.
 */
export const isEmulatorHeader = (name: string): boolean => name.startsWith("x-svc-") && !isSignatureHeader(name);

/** Removes a header from a request, or sets its only value. `name` is in lower case. */
export function setRequestHeader({ headers, rawHeaders }: IncomingMessage, name: string, value?: string): void {
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (rawHeaders[i]!.toLowerCase() === name) rawHeaders.splice(i, 2);
  }
  delete headers[name];
  if (value === undefined) return;
  headers[name] = value;
  rawHeaders.push(name, value);
}

/** Returns alternating names and values without the headers of these names. */
export const removeHeaders = (rawHeaders: readonly string[], names: readonly string[]): string[] =>
  rawHeaders.filter((_, i) => !names.includes(rawHeaders[i - (i % 2)]!.toLowerCase()));

/** Returns the end-to-end fields of another server. `isRemoved` selects further fields by lower-case name. */
export function filterEndToEndHeaders(
  rawHeaders: readonly string[],
  isRemoved: (name: string) => boolean = isEmulatorHeader,
): string[] {
  const filtered: string[] = [];
  let connection = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name === "connection") connection += `${rawHeaders[i + 1]},`;
    if (!hopByHopHeaders.has(name) && !isRemoved(name)) filtered.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  if (connection === "") return filtered;
  const options = connection.split(",").map((option) => option.trim().toLowerCase());
  // Almost every client sends `keep-alive` alone, which is already removed.
  const connectionHeaders = options.filter((name) => name !== "" && !hopByHopHeaders.has(name));
  return connectionHeaders.length === 0 ? filtered : removeHeaders(filtered, connectionHeaders);
}
