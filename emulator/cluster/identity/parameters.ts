import { hasTooManyFields, tooHeavy } from "../../http/bodies/weight.ts";
import type { ReceivedRequest } from "../../http/handler.ts";

export type Parameters = Readonly<Record<string, string>>;

/** The parameters of an OAuth request: in the query of a GET, else in a form or a JSON object (DECISIONS.md, R5). */
export function parametersOf({ method, target, headers, body }: ReceivedRequest): Parameters {
  if (method === "GET") return fromForm(target.split("?").slice(1).join("?"));
  const text = body.toString();
  const isForm = /^\s*application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? "");
  return isForm ? fromForm(text) : fromJson(text);
}

/** An empty parameter counts as absent (RFC 6749, 3.1). */
const fromForm = (text: string): Parameters => (hasTooManyFields(text) ? {} : nonEmpty([...new URLSearchParams(text)]));

function fromJson(text: string): Parameters {
  try {
    const value: unknown = tooHeavy(text) === undefined ? JSON.parse(text) : undefined;
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
