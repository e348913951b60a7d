import type { ReceivedRequest } from "../../http/handler.ts";

export type Parameters = Readonly<Record<string, string>>;

/** The parameters of an OAuth request: in the query of a GET, else in a form or a JSON object (DECISIONS.md, R5). */
export function parametersOf({ method, target, headers, body }: ReceivedRequest): Parameters {
  if (method === "GET") return fromForm(target.split("?").slice(1).join("?"));
  const type = headers["content-type"] ?? "";
  return /^\s*application\/x-www-form-urlencoded\b/i.test(type) ? fromForm(body.toString()) : fromJson(body.toString());
}

/** An empty parameter counts as absent (RFC 6749, 3.1). */
const fromForm = (text: string): Parameters => nonEmpty([...new URLSearchParams(text)]);

function fromJson(text: string): Parameters {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? nonEmpty(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

function nonEmpty(pairs: readonly (readonly [string, unknown])[]): Parameters {
  const found: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) if (typeof value === "string" && value !== "") found[name] = value;
  return found;
}
