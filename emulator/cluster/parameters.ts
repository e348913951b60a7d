import { formOf, jsonObject, queryOf } from "../http/bodies/fields.ts";
import { hasTooManyFields } from "../http/bodies/weight.ts";
import type { ReceivedRequest } from "../http/handler.ts";

export type Parameters = Readonly<Record<string, string>>;

/** The parameters of an OAuth request: in the query of a GET, else in a form or a JSON object (DECISIONS.md, R5). */
export function parametersOf(request: ReceivedRequest): Parameters {
  if (request.method === "GET") {
    const query = queryOf(request.target);
    return hasTooManyFields(query) ? {} : nonEmpty([...new URLSearchParams(query)]);
  }
  const form = formOf(request);
  return nonEmpty(form ? [...form] : Object.entries(jsonObject(request.body) ?? {}));
}

/** An empty parameter counts as absent (RFC 6749, 3.1). */
function nonEmpty(pairs: readonly (readonly [string, unknown])[]): Parameters {
  const found: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) if (typeof value === "string" && value !== "") found[name] = value;
  return found;
}
