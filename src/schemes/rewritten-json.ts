import { tryParseJson } from "../base/object.ts";

/** A JSON document as something else would write it. */
export interface RewrittenJson {
  readonly code: string;
  /** For people: `compact, with sorted keys`. */
  readonly how: string;
  readonly text: string;
}

/** The same document in the styles of usual JSON writers; none where the text is not JSON. */
export function rewriteJson(text: string): readonly RewrittenJson[] {
  const document = tryParseJson(text);
  if (document === undefined) return [];
  const compact = JSON.stringify(document);
  const blanks = spaced(document);
  return [
    { code: "json-compact", how: "compact, as JSON.stringify does", text: compact },
    { code: "json-sorted", how: "compact, with sorted keys", text: JSON.stringify(sorted(document)) },
    { code: "json-spaced", how: "with spaces after : and ,", text: blanks },
    { code: "json-spaced-ascii", how: "with spaces and \\u escapes, as Python's json.dumps does", text: ascii(blanks) },
    { code: "json-spaced-sorted", how: "with spaces and sorted keys", text: ascii(spaced(sorted(document))) },
    { code: "json-ascii", how: "compact, with \\u escapes", text: ascii(compact) },
    {
      code: "json-slashes",
      how: "compact, with \\/ and \\u escapes, as PHP's json_encode does",
      text: ascii(compact.replaceAll("/", "\\/")),
    },
    { code: "json-indented", how: "indented by 2", text: JSON.stringify(document, null, 2) },
    { code: "json-indented", how: "indented by 4", text: JSON.stringify(document, null, 4) },
    { code: "json-twice", how: "a JSON text in a JSON text", text: JSON.stringify(text) },
  ];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`)
    .join(", ")}}`;
}

const ascii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
