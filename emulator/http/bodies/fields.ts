import querystring from "node:querystring";
import { getValueAt, isObject, tryParseJson } from "../../../src/base/object.ts";
import type { ReceivedRequest } from "../handler.ts";
import { exceedsFieldLimit, findExceededLimit, UnreadableBodyError } from "./json.ts";
import { parseMultipart } from "./multipart.ts";

type RequestParts = Pick<ReceivedRequest, "headers" | "body">;

/** Returns the body as a form. Returns undefined if the body lacks the type of a form or is invalid. */
export function parseForm({ headers, body }: RequestParts): URLSearchParams | undefined {
  if (!isFormType(headers["content-type"])) return undefined;
  const text = body.toString();
  return exceedsFieldLimit(text) ? undefined : new URLSearchParams(text);
}

/** Returns the last text field of each name, of a form of either type. It is empty for an invalid form. */
export function readFormFields({ headers, body }: RequestParts): Readonly<Record<string, string | undefined>> {
  const type = headers["content-type"] ?? "";
  if (!isMultipartType(type)) return Object.fromEntries(parseForm({ headers, body }) ?? []);
  try {
    const parts = parseMultipart(body, type);
    return Object.fromEntries(parts.filter((part): part is [string, string] => typeof part[1] === "string"));
  } catch (error) {
    if (error instanceof UnreadableBodyError) return {};
    throw error;
  }
}

/** Parses a body of any type as JSON. Returns undefined if it is not an object or is too large. */
export function parseJsonObject(
  body: Buffer | string | null | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const text = String(body ?? "").replace(/^\uFEFF/, "");
  const value = findExceededLimit(text) === undefined ? tryParseJson(text) : undefined;
  return isObject(value) ? value : undefined;
}

/** Returns the string at a path, at any depth. A number is returned as a string, because IDs are often numbers. */
export function findString(value: unknown, ...path: readonly string[]): string | undefined {
  const found = getValueAt(value, path);
  if (typeof found === "number") return String(found);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** Fields of a query or a form: the decoded value, or a list of values if a name is repeated. */
export type RequestFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Decodes `a=1&b=2` as Starlette does: invalid escapes stay literal, and invalid UTF-8 becomes U+FFFD. */
export const parseFields = (text: string): RequestFields =>
  querystring.parse(text, "&", "=", {
    maxKeys: 0,
    ...(/^\p{ASCII}*$/u.test(text) ? {} : lenientDecoding),
  }) as unknown as RequestFields;

/** Decodes escapes and leaves other characters unchanged, because an invalid escape must not change them. */
const lenientDecoding = {
  decodeURIComponent: (text: string) => text.replace(/\p{ASCII}+/gu, (escaped) => querystring.unescape(escaped)),
};

/** Returns the fields of a form as a list in wire order. An object would list names that look like numbers first. */
export const parseOrderedFields = (text: string): readonly (readonly [string, string])[] =>
  text.split("&").flatMap((field) => Object.entries(parseFields(field)) as [string, string][]);

/** Returns the last value of each name. With a null prototype, `__proto__` is an ordinary name. */
export function pickLastValues(fields: RequestFields): Record<string, string | undefined> {
  const lastValues: Record<string, string | undefined> = Object.create(null);
  for (const name of Object.keys(fields)) lastValues[name] = getLastValue(fields[name]);
  return lastValues;
}

export const getLastValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "object" ? value[value.length - 1] : value;

/**
 * Parameters of OAuth and OpenID Connect that must not be repeated. `audience` and `resource` may be repeated (RFC
 * 8693, 2.1; RFC 8707, 2). Unknown parameters are ignored, even if repeated (RFC 6749, 3.1).
 */
const unrepeatableParameters: ReadonlySet<string> = new Set([
  ...["client_id", "client_secret", "code", "code_verifier", "device_code", "grant_type", "redirect_uri"],
  ...["refresh_token", "response_type", "response_mode", "scope", "state", "nonce"],
  ...["code_challenge", "code_challenge_method", "prompt", "display", "max_age", "login_hint", "id_token_hint"],
  ...["acr_values", "claims", "request", "request_uri"],
  ...["subject_token", "subject_token_type", "requested_token_type", "actor_token", "actor_token_type"],
]);

/** Finds the first repeated parameter of an OAuth request, which is invalid (RFC 6749, 3.1 and 3.2). */
export const findRepeatedField = (fields: RequestFields): string | undefined =>
  Object.keys(fields).find((name) => typeof fields[name] === "object" && unrepeatableParameters.has(name));

/** Returns `application/json` for `Application/JSON; charset=utf-8`. */
export const getMediaType = (header = ""): string => header.split(";", 1)[0]!.trim().toLowerCase();

export const isFormType = (header: string | undefined): boolean =>
  getMediaType(header) === "application/x-www-form-urlencoded";

export const isMultipartType = (header: string | undefined): boolean => getMediaType(header) === "multipart/form-data";
