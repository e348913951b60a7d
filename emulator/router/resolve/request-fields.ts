import { formOf, jsonObject, queryOf, textAt } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";

/** Every value that a request carries under a name: in the query, then at the top of its body, then in a header. */
export type Fields = (name: string) => readonly string[];

export function fieldsOf(request: Pick<ReceivedRequest, "target" | "headers" | "body">): Fields {
  const search = queryOf(request.target);
  const query = search === "" ? undefined : new URLSearchParams(search);
  const form = formOf(request);
  const object = form || request.body.length === 0 ? undefined : jsonObject(request.body);
  return (name) =>
    [
      query?.getAll(name).at(-1),
      form?.getAll(name).at(-1) ?? textAt(object, name),
      request.headers[name] ?? request.headers[name.replaceAll("_", "-")],
    ].filter((value): value is string => value !== undefined && value !== "");
}
