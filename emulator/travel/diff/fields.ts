import { isSecretName, redactText, redactUrl } from "../../../src/api/secrets.ts";
import type { Row } from "./compare.ts";

/** A field, by its path (`signatories[0].action`), and what stands there before and after. */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Longer texts are cut: the state itself has them whole. */
const longest = 200;

/** The fields in which two rows differ, without secrets; of a row that is new or gone, all that are plain values. */
export function fieldChanges(before: Row | undefined, after: Row | undefined): FieldChange[] {
  if (before && after) return [...differences(before, after, "")];
  const row = after ?? before ?? {};
  const plain = Object.entries(row).filter(([, value]) => value !== null && typeof value !== "object");
  return plain.map(([field, value]) => ({ field, [after ? "to" : "from"]: shown(field, value) }));
}

function* differences(before: unknown, after: unknown, path: string): Generator<FieldChange, void> {
  if (isInner(before) && isInner(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const inner = Array.isArray(after) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
      yield* differences(before[name as keyof object], after[name as keyof object], inner);
    }
  } else if (before !== after) {
    yield {
      field: path,
      ...(before !== undefined && { from: shown(path, before) }),
      ...(after !== undefined && { to: shown(path, after) }),
    };
  }
}

const isInner = (value: unknown): value is object => typeof value === "object" && value !== null;

/** What may be shown of a value: a secret is told by its name, or by the names around it. */
export function shown(path: string, value: unknown): unknown {
  if (typeof value === "object" && value !== null) return cut(redactText(JSON.stringify(value)));
  if (typeof value !== "string") return value;
  if (isSecretName(path)) return "[redacted]";
  return cut(redactText(/^https?:/.test(value) ? redactUrl(value) : value));
}

const cut = (text: string): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`);
