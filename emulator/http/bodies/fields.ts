import { isObject, tryParseJson } from "../../../src/base/object.ts";
import type { ReceivedRequest } from "../handler.ts";
import { exceedsFieldLimit, findExceededLimit } from "./body-limits.ts";
import { isMultipartType } from "./decode.ts";
import { MultipartError, parseMultipart } from "./multipart.ts";

type RequestParts = Pick<ReceivedRequest, "headers" | "body">;

/** The body as a form, if it has the type of a form and is valid. */
export function parseForm({ headers, body }: RequestParts): URLSearchParams | undefined {
  const type = headers["content-type"] ?? "";
  if (!/^\s*application\/x-www-form-urlencoded\b/i.test(type)) return undefined;
  const text = body.toString();
  return exceedsFieldLimit(text) ? undefined : new URLSearchParams(text);
}

/** The text fields of a form of either type, the last of each name. Empty if the body is not a valid form. */
export function readFormFields({ headers, body }: RequestParts): Readonly<Record<string, string | undefined>> {
  const type = headers["content-type"] ?? "";
  if (!isMultipartType(type)) return Object.fromEntries(parseForm({ headers, body }) ?? []);
  try {
    const parts = parseMultipart(body, type);
    return Object.fromEntries(parts.filter((part): part is [string, string] => typeof part[1] === "string"));
  } catch (error) {
    if (error instanceof MultipartError) return {};
    throw error;
  }
}

/** A JSON object, whatever the content type. Undefined if it is not one, or is too large. */
export function parseJsonObject(
  body: Buffer | string | null | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const text = String(body ?? "").replace(/^\uFEFF/, "");
  const value = findExceededLimit(text) === undefined ? tryParseJson(text) : undefined;
  return isObject(value) ? value : undefined;
}

/** The string at a path, at any depth. Numbers count, because ids are often numbers. */
export function findString(value: unknown, ...path: readonly string[]): string | undefined {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  if (typeof at === "number") return String(at);
  return typeof at === "string" && at !== "" ? at : undefined;
}

/** The query of a target, without its question mark. */
export const getQuery = (target: string): string => {
  const mark = target.indexOf("?");
  return mark < 0 ? "" : target.slice(mark + 1);
};
