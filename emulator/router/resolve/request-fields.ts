import { formOf, jsonObject, queryOf, textAt } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";

/**
 * Every value that a request carries under a name: in the query, then at the top of its body, then in a header. `list`: all
 * that stand under it, where it is the name of a list.
 */
export interface Fields {
  (name: string): readonly string[];
  list(name: string): readonly string[];
}

export function fieldsOf(request: Pick<ReceivedRequest, "target" | "headers" | "body">): Fields {
  const search = queryOf(request.target);
  const query = search === "" ? undefined : new URLSearchParams(search);
  const form = formOf(request);
  const object = form || request.body.length === 0 ? undefined : jsonObject(request.body);
  const given = (values: readonly (string | undefined)[]) =>
    values.filter((value): value is string => value !== undefined && value !== "");
  const one = (name: string) =>
    given([
      query?.getAll(name).at(-1),
      form?.getAll(name).at(-1) ?? textAt(object, name),
      request.headers[name] ?? request.headers[name.replaceAll("_", "-")],
    ]);
  const list = (name: string) => {
    const member = object?.[name];
    const members = Array.isArray(member) ? member.map((_, at) => textAt(member, String(at))) : [];
    return given([...(query?.getAll(name) ?? []), ...(form?.getAll(name) ?? []), ...members]);
  };
  return Object.assign(one, { list });
}
