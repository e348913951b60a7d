import { isObject } from "../base/object.ts";
import type { Problem } from "./published.d.ts";

const toNonEmptyText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
/** Parses any declared form of error body. `body` is parsed JSON or text. */
export function parseProblem(status: number, body: unknown): Problem {
  const createProblem = (message: string, rest: Partial<Problem> = {}): Problem => ({
    code: undefined,
    hint: undefined,
    fields: [],
    message,
    ...rest,
  });

  if (isObject(body)) {
    if (isObject(body.error)) {
      const { code, message, hint } = body.error;
      return createProblem(toNonEmptyText(message) ?? `status ${status}`, {
        code: toNonEmptyText(code),
        hint: toNonEmptyText(hint),
      });
    }
    if (typeof body.error === "string") {
      return createProblem(toNonEmptyText(body.error_description) ?? body.error, { code: body.error });
    }
    if (Array.isArray(body.detail)) {
      const fields = body.detail.map(formatValidationItem);
      return createProblem(fields.join("; "), { fields });
    }
    if (typeof body.detail === "string") return createProblem(body.detail, { code: toNonEmptyText(body.code) });
    const fields = listFieldMessages(body);
    if (fields.length > 0) return createProblem(fields.join("; "), { fields });
  }
  const xml = typeof body === "string" ? parseXmlError(body) : undefined;
  return xml
    ? createProblem(xml.message, { code: xml.code })
    : createProblem(`The service responded with status ${status}.`);
}

function formatValidationItem(item: unknown): string {
  if (!isObject(item)) return String(item);
  const path = Array.isArray(item.loc) ? item.loc.join(".") : "";
  return path ? `${path}: ${item.msg}` : String(item.msg);
}

/**
 * Lists the messages of `{"title": ["This field is required."], "files": {"0": {"filename": ["…"]}}}`, one line each.
 */
function listFieldMessages(body: unknown, path: readonly string[] = []): string[] {
  if (typeof body === "string") return [path.length ? `${path.join(".")}: ${body}` : body];
  if (Array.isArray(body)) return body.flatMap((item) => listFieldMessages(item, path));
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([key, value]) => listFieldMessages(value, [...path, key]));
}

/** Parses the storage provider's `<Error><Code>…</Code><Message>…</Message></Error>` (DECISIONS.md, P17). */
function parseXmlError(body: string): { code: string; message: string } | undefined {
  const code = /<Code>([^<]*)<\/Code>/.exec(body)?.[1];
  const message = /<Message>([^<]*)<\/Message>/.exec(body)?.[1];
  return code === undefined ? undefined : { code, message: message ?? code };
}
