import { isObject } from "../base/object.ts";
import type { Problem } from "./published.d.ts";

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
/** Reads any declared form of failure body; `body` is parsed JSON, or text. */
export function parseProblem(status: number, body: unknown): Problem {
  const problem = (message: string, rest: Partial<Problem> = {}): Problem => ({
    code: undefined,
    hint: undefined,
    fields: [],
    message,
    ...rest,
  });

  if (isObject(body)) {
    if (isObject(body.error)) {
      const { code, message, hint } = body.error;
      return problem(text(message) ?? `status ${status}`, { code: text(code), hint: text(hint) });
    }
    if (typeof body.error === "string") {
      return problem(text(body.error_description) ?? body.error, { code: body.error });
    }
    if (Array.isArray(body.detail)) {
      const fields = body.detail.map(validationItem);
      return problem(fields.join("; "), { fields });
    }
    if (typeof body.detail === "string") return problem(body.detail, { code: text(body.code) });
    const fields = fieldMessages(body);
    if (fields.length > 0) return problem(fields.join("; "), { fields });
  }
  const xml = typeof body === "string" ? xmlError(body) : undefined;
  return xml ? problem(xml.message, { code: xml.code }) : problem(`The service responded with status ${status}.`);
}

function validationItem(item: unknown): string {
  if (!isObject(item)) return String(item);
  const place = Array.isArray(item.loc) ? item.loc.join(".") : "";
  return place ? `${place}: ${item.msg}` : String(item.msg);
}

/** `{"title": ["This field is required."], "files": {"0": {"filename": ["…"]}}}` as one line per message. */
function fieldMessages(body: unknown, path: readonly string[] = []): string[] {
  if (typeof body === "string") return [path.length ? `${path.join(".")}: ${body}` : body];
  if (Array.isArray(body)) return body.flatMap((item) => fieldMessages(item, path));
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([key, value]) => fieldMessages(value, [...path, key]));
}

/** The storage provider's `<Error><Code>…</Code><Message>…</Message></Error>` (DECISIONS.md, P17). */
function xmlError(body: string): { code: string; message: string } | undefined {
  const code = /<Code>([^<]*)<\/Code>/.exec(body)?.[1];
  const message = /<Message>([^<]*)<\/Message>/.exec(body)?.[1];
  return code === undefined ? undefined : { code, message: message ?? code };
}
