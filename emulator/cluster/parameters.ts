import { formOf, jsonObject, queryOf } from "../http/bodies/fields.ts";
import { parseFields } from "../http/bodies/form.ts";
import { repeatedParameter } from "../http/bodies/repeated.ts";
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

/** A parameter that came more than once in the query of a GET, else in a form; undefined: none. */
export function repeatedIn(request: ReceivedRequest): string | undefined {
  const sent = request.method === "GET" ? queryOf(request.target) : formOf(request)?.toString();
  return sent === undefined || hasTooManyFields(sent) ? undefined : repeatedParameter(parseFields(sent));
}

export const givenTwice = (name: string): string => `${name} is given more than once`;

/** An empty parameter counts as absent (RFC 6749, 3.1). */
function nonEmpty(pairs: readonly (readonly [string, unknown])[]): Parameters {
  const found: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) if (typeof value === "string" && value !== "") found[name] = value;
  return found;
}
