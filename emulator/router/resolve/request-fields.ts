import { hasTooManyFields, tooHeavy } from "../../http/bodies/weight.ts";
import type { ReceivedRequest } from "../../http/handler.ts";

type Parsed = Pick<ReceivedRequest, "headers" | "body">;

/** The body as a form, when its type says so and it is one that can be read. */
export function formOf({ headers, body }: Parsed): URLSearchParams | undefined {
  const type = headers["content-type"] ?? "";
  if (!/^\s*application\/x-www-form-urlencoded\b/i.test(type)) return undefined;
  const text = body.toString();
  return hasTooManyFields(text) ? undefined : new URLSearchParams(text);
}

/** A JSON object, whatever the type of the body says; undefined when it is none, or too much to be read. */
export function jsonObject(body: Buffer | string | null | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = String(body ?? "").replace(/^\uFEFF/, "");
    const value: unknown = tooHeavy(text) === undefined ? JSON.parse(text) : undefined;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The text of a member, however deep; numbers count, since ids are often printed so. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  if (typeof at === "number") return String(at);
  return typeof at === "string" && at !== "" ? at : undefined;
}

/** Every value that a request carries under a name: in the query, then at the top of its body, then in a header. */
export type Fields = (name: string) => readonly string[];

export function fieldsOf(request: Pick<ReceivedRequest, "target" | "headers" | "body">): Fields {
  const query = new URLSearchParams(queryOf(request.target));
  const form = formOf(request);
  const object = form || request.body.length === 0 ? undefined : jsonObject(request.body);
  return (name) =>
    [
      query.getAll(name).at(-1),
      form?.getAll(name).at(-1) ?? textAt(object, name),
      request.headers[name] ?? request.headers[name.replaceAll("_", "-")],
    ].filter((value): value is string => value !== undefined && value !== "");
}

/** The query of a target, without its question mark. */
export const queryOf = (target: string): string => {
  const mark = target.indexOf("?");
  return mark < 0 ? "" : target.slice(mark + 1);
};
