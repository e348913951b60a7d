import type * as z from "zod";
import type { Operation } from "../../../src/api/operation.ts";
import { type Expectation, getExpectation } from "../../../src/api/shapes.ts";
import { getValueAt, lookupTable } from "../../../src/base/object.ts";
import { findNearest } from "../../../src/base/text.ts";
import type { DecodedBody } from "../bodies/json.ts";
import type { FindingReporter } from "../handler.ts";
import { findSchema, getSchemaDefinition, getSchemaKind, unwrapSchema, type ValidationIssue } from "./schema.ts";

const integerPattern = /^\s*[-+]?\d+(?:_\d+)*(?:\.0+)?\s*$/;
const booleanValues: ReadonlyMap<string, boolean> = new Map([
  ...["true", "t", "yes", "y", "on", "1"].map((word) => [word, true] as const),
  ...["false", "f", "no", "n", "off", "0"].map((word) => [word, false] as const),
]);

/** Converts a string as pydantic does. Validation rejects a string that remains a string. */
export type StringCoercer = (text: string) => unknown;

/** Coercers by kind of schema (`getSchemaKind`). All other kinds accept the text unchanged. */
export const stringCoercers = lookupTable<StringCoercer>({
  int: (text) => (integerPattern.test(text) ? Number(text.replaceAll("_", "")) : text),
  number: (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text),
  boolean: (text) => booleanValues.get(text.toLowerCase()) ?? text,
});

/** A body, which is copied before its first conversion. */
interface LaxBody {
  body: unknown;
  isCopy: boolean;
}

/**
 * Converts the values of a body that pydantic accepts although the schema has another type. For example, `"201"` is
 * 201, and 1 is true (DECISIONS.md, P13). Returns whether an issue is about such a value.
 */
export function coerceLax(schema: z.ZodType, lax: LaxBody, issues: readonly ValidationIssue[]): boolean {
  let hasChanged = false;
  for (const { code, path } of issues) {
    const value = getValueAt(lax.body, path);
    const coerced = code === "invalid_type" ? coerceOtherType(getSchemaKind(findSchema(schema, path)), value) : value;
    if (Object.is(coerced, value)) continue;
    if (!lax.isCopy) Object.assign(lax, { body: structuredClone(lax.body), isCopy: true });
    const owner = getValueAt(lax.body, path.slice(0, -1)) as object;
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(owner, path.at(-1)!, { value: coerced });
    hasChanged = true;
  }
  return hasChanged;
}

function coerceOtherType(kind: string, value: unknown): unknown {
  if (typeof value === "string") return stringCoercers[kind]?.(value) ?? value;
  if (typeof value === "boolean" && (kind === "int" || kind === "number")) return Number(value);
  if (kind === "boolean" && (value === 0 || value === 1)) return value === 1;
  return value;
}

/** Reports parts of a valid request that the real service may reject (DECISIONS.md, E1). */
export type RelaxedChecks = (
  parts: { readonly params: unknown; readonly query: unknown; readonly decoded: DecodedBody | undefined },
  reportFinding: FindingReporter,
) => void;

type CheckValue = (value: unknown, path: string, reportFinding: FindingReporter) => void;

/** Limit per request, because further findings give no new information. */
const maxFindings = 10;

/** Creates an operation's relaxed checks. OAuth bodies have none: unknown parameters are ignored (RFC 6749, 3.2). */
export function createRelaxedChecks({ request, service }: Operation): RelaxedChecks {
  const { params, query, body } = request;
  const isControl = service.dialect === "control";
  const checkParams = params && !isControl ? createValueCheck(params) : undefined;
  // Clients and providers may add parameters to the queries of OAuth, which the router serves.
  const checkQuery = query && service.dialect === "platform" ? createQueryCheck(query) : undefined;
  const checkBody = body?.kind === "json" && !isControl ? createValueCheck(body.schema) : undefined;
  return (parts, reportFinding) => {
    let remaining = maxFindings;
    const reportLimited: FindingReporter = (code, detail) => {
      remaining -= 1;
      if (remaining >= 0) reportFinding(code, detail);
    };
    checkParams?.(parts.params, "", reportLimited);
    checkQuery?.(parts.query, "", reportLimited);
    if (parts.decoded) checkBody?.(parts.decoded.value, "", reportLimited);
  };
}

/** Returns undefined if no value of the schema needs a check. */
function createValueCheck(wrapped: z.ZodType): CheckValue | undefined {
  const schema = unwrapSchema(wrapped);
  const expectation = getExpectation(schema);
  if (expectation) return createExpectationCheck(expectation);
  const { shape, element, valueType, catchall } = getSchemaDefinition(schema);
  if (shape) return createFieldsCheck(shape, () => catchall !== undefined);
  const item = element ?? valueType;
  const checkItem = item && createValueCheck(item);
  if (!checkItem) return undefined;
  return (value, path, reportFinding) => {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) checkItem(item, `${path}[${index}]`, reportFinding);
  };
}

const createExpectationCheck =
  ({ code, problem, matches }: Expectation): CheckValue =>
  (value, path, reportFinding) => {
    if (typeof value === "string" && !matches(value)) reportFinding(code, `${path} ${problem}`);
  };

/** A query is open only for filters, whose names the handlers check. */
function createQueryCheck(query: z.ZodObject): CheckValue {
  const isOpen = getSchemaDefinition(query).catchall !== undefined;
  return createFieldsCheck(query.shape, (name) => isOpen && name.startsWith("filter_"));
}

function createFieldsCheck(shape: Readonly<Record<string, z.ZodType>>, isFree: (name: string) => boolean): CheckValue {
  const checks = new Map(Object.entries(shape).map(([name, field]) => [name, createValueCheck(field)]));
  return (value, path, reportFinding) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [name, field] of Object.entries(value)) {
      const fieldPath = path === "" ? name : `${path}.${name}`;
      if (checks.has(name)) checks.get(name)?.(field, fieldPath, reportFinding);
      else if (!isFree(name)) reportFinding("unknown-field", formatUnknownField(fieldPath, name, checks.keys()));
    }
  };
}

const maxNameLength = 100;

/** Formats `counter_party_details[0].organisation_name is unknown: did you mean organization_name?` */
export function formatUnknownField(path: string, name: string, names: Iterable<string>): string {
  const suggestion = name.length <= maxNameLength ? findNearest(name, names) : undefined;
  const shownPath = path.length > 2 * maxNameLength ? `…${path.slice(-maxNameLength)}` : path;
  return suggestion === undefined ? `${shownPath} is unknown` : `${shownPath} is unknown. Did you mean ${suggestion}?`;
}
