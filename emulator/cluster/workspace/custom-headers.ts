import { isHeaderName, isHeaderValue } from "../../../src/api/response-headers.ts";

/** Prefixes of infrastructure that a subscription may not imitate (DECISIONS.md, F20). */
const refusedPrefixes = [
  "x-google-",
  "x-goog-",
  "x-gfe-",
  "x-amz-",
  "x-ms-",
  "x-dd-",
  "x-datadog-",
  "x-b3-",
  "x-svc-",
] as const;

const printable = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;

/** The custom headers of a subscription with trimmed names, or what is wrong with each that is refused. */
export function customHeaders(
  given: Readonly<Record<string, string>>,
): { readonly headers: Record<string, string> } | { readonly problems: Record<string, string[]> } {
  const headers = new Map<string, string>();
  const problems = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const [sent, text] of Object.entries(given)) {
    const name = sent.trim();
    const problem = problemOf(name, text, seen);
    if (problem === undefined) headers.set(name, text);
    else problems.set(sent, [problem]);
    seen.add(name.toLowerCase());
  }
  return problems.size > 0 ? { problems: Object.fromEntries(problems) } : { headers: Object.fromEntries(headers) };
}

function problemOf(name: string, text: string, seen: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase();
  if (!isHeaderName(name) || !/^x-./.test(lower)) return "Header names must be custom names that start with X-.";
  const prefix = refusedPrefixes.find((refused) => lower.startsWith(refused));
  if (prefix !== undefined) return `Header names must not start with ${prefix.toUpperCase()}.`;
  if (seen.has(lower)) return "This header is given twice.";
  if (!printable.test(text)) return "Header values must not contain control characters.";
  if (!isHeaderValue(text)) return "Header values must not contain characters beyond ISO-8859-1.";
  return undefined;
}
