import { redactText, redactUrl } from "../../../src/api/secrets.ts";

/** Headers that are shown; of all others only the name, for they may hold credentials or signatures. */
const shown: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-length",
  "content-type",
  "content-encoding",
  "host",
  "if-none-match",
  "origin",
  "referer",
  "sec-fetch-mode",
  "sec-fetch-site",
  "transfer-encoding",
  "user-agent",
  "user-email",
  "via",
  "x-cluster-id",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-request-id",
]);

const redacted = "[redacted]";

/** Headers by lower-case name, without secrets. */
export function redactHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const out: Record<string, string> = Object.create(null);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const given = rawHeaders[i + 1]!;
    const value = !shown.has(name)
      ? redacted
      : name === "referer"
        ? redactUrl(given, { mask: redacted, allParameters: true })
        : redactText(given);
    out[name] = out[name] === undefined || value === redacted ? value : `${out[name]}, ${value}`;
  }
  return out;
}
