import { isSecretName, redactText } from "../../../src/api/secrets.ts";
import { isoMillis } from "../../../src/base/clock.ts";
import { redactReceiverUrl, redactTokens } from "../../http/request-log/redact.ts";
import type { RowDifference } from "./compare.ts";

/** A field, by its path (`signatories[0].action`), and what stands there before and after. */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Longer texts are cut: the state itself has them whole. */
const longest = 200;

/** Fields that are called like secrets and hold none, by collection. */
const harmless: ReadonlySet<string> = new Set([
  "entities address.state",
  "invitations state",
  "schedule concurrency_key",
  "webhook_attempts error.code",
  "workspaces jurisdictions.iso_code",
]);

/** The fields in which two rows differ, without secrets; of a row that is new or gone, all that are plain values. */
export function fieldChanges({ collection, before, after }: Pick<RowDifference, "before" | "after" | "collection">) {
  const shown = (field: string, value: unknown) => shownIn(collection.name, field, value);
  if (before && after) return [...differences(before, after, "", shown)];
  const row = after ?? before ?? {};
  const plain = Object.entries(row).filter(([, value]) => value !== null && typeof value !== "object");
  return plain.map(([field, value]): FieldChange => ({ field, [after ? "to" : "from"]: shown(field, value) }));
}

type Shown = (path: string, value: unknown) => unknown;

function* differences(before: unknown, after: unknown, path: string, shown: Shown): Generator<FieldChange, void> {
  const [from, to] = [membersOf(before, after), membersOf(after, before)];
  if (from && to && Array.isArray(from) === Array.isArray(to)) {
    for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const inner = Array.isArray(to) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
      yield* differences(from[name as keyof object], to[name as keyof object], inner, shown);
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

/** Where nothing stands beside an object, each of its members is new, or gone. */
function membersOf(value: unknown, other: unknown): object | undefined {
  if (isInner(value)) return value;
  const isNothing = value === null || value === undefined;
  return isNothing && isInner(other) && !Array.isArray(other) && Object.keys(other).length > 0 ? {} : undefined;
}

/** Names of virtual times, in milliseconds. */
const times = /(?:^|[._])(?:at|due|until|now|begins|ends)$/;

/** What may be shown of a value: a secret is told by its name, by the names around it, or by its looks. */
function shownIn(collection: string, path: string, value: unknown): unknown {
  if (isInner(value)) return cut(redactTokens(redactText(JSON.stringify(value))));
  if (typeof value === "number") return times.test(path) && value > 1e11 ? isoMillis(value) : value;
  if (typeof value !== "string") return value;
  if (isSecretName(path) && !harmless.has(`${collection} ${path.replace(/\[\d+\]/g, "")}`)) return "[redacted]";
  return cut(/^https?:/.test(value) ? redactReceiverUrl(value) : redactTokens(redactText(value)));
}

const cut = (text: string): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`);
