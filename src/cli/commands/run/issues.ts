import type * as z from "zod";
import { lookupTable } from "../../../base/object.ts";
import { findNearest } from "../../../base/text.ts";
import { savedValueMessage } from "./schema.ts";

type SchemaIssue = z.core.$ZodIssue;

interface SchemaProblem {
  readonly at: readonly PropertyKey[];
  readonly key?: string;
  readonly sentence: string;
}

/**
 * Describes the first schema violation in a sentence. Returns undefined for a valid value. `keys` are the valid keys of
 * the value.
 */
export function findSchemaProblem(
  schema: z.ZodType,
  value: unknown,
  keys: readonly string[],
): SchemaProblem | undefined {
  const { error } = schema.safeParse(value, { reportInput: true });
  if (!error) return undefined;
  const issue = [...error.issues].sort((one, other) => getIssuePriority(one) - getIssuePriority(other))[0]!;
  return describeIssue(issue, keys, schema);
}

/** Sorts misspelled keys first, because a misspelled key also causes a missing key. */
const getIssuePriority = ({ code }: SchemaIssue): number => (code === "unrecognized_keys" ? 0 : 1);

function describeIssue(issue: SchemaIssue, keys: readonly string[], schema: z.ZodType): SchemaProblem {
  const name = issue.path.map(String).join(".") || "The step";
  switch (issue.code) {
    case "unrecognized_keys": {
      const [key = ""] = issue.keys;
      const declared = issue.path.length === 0 ? keys : findKeys(schema, issue.path);
      const nearest = findNearest(key, declared);
      const hint =
        nearest !== undefined
          ? ` Did you mean ${nearest}?`
          : declared.length > 0
            ? ` Known: ${declared.join(", ")}.`
            : "";
      const position = issue.path.length === 0 ? "" : ` in ${name}`;
      return { at: issue.path, key, sentence: `Unknown key "${key}"${position}.${hint}` };
    }
    case "invalid_union": {
      const best = findBestBranch(issue.errors);
      const inner = best && { ...best, path: [...issue.path, ...best.path], input: best.input ?? issue.input };
      if (inner) return describeIssue(inner as SchemaIssue, keys, schema);
      const kinds = [...new Set(issue.errors.flatMap((branch) => branch.map(describeKind)))].filter(Boolean);
      return { at: issue.path, sentence: `${name} must be ${kinds.join(" or ")}, got ${describeValue(issue.input)}.` };
    }
    case "invalid_type":
      if (issue.input === undefined) return { at: issue.path, sentence: `${name} is required.` };
      return { at: issue.path, sentence: `${name} must be ${describeKind(issue)}, got ${describeValue(issue.input)}.` };
    case "invalid_value": {
      const values = issue.values.map(String);
      const nearest = findNearest(String(issue.input), values);
      const known = values.length > 12 ? "" : ` Known: ${values.join(", ")}.`;
      const hint = nearest === undefined ? known : ` Did you mean ${nearest}?`;
      return { at: issue.path, sentence: `${name} cannot be ${describeValue(issue.input)}.${hint}` };
    }
    case "too_small":
      return { at: issue.path, sentence: `${name} must ${describeSize(issue.origin, "least", issue.minimum)}.` };
    case "too_big":
      return { at: issue.path, sentence: `${name} must ${describeSize(issue.origin, "most", issue.maximum)}.` };
    default: {
      if (issue.code === "custom" && issue.params?.isName === true) {
        const key = String(issue.path.at(-1));
        return { at: issue.path.slice(0, -1), key, sentence: `The name "${key}" ${issue.message}.` };
      }
      const message = issue.message.startsWith("must ") ? issue.message : `is wrong: ${issue.message}`;
      const isText = typeof issue.input === "string" || typeof issue.input === "number";
      return { at: issue.path, sentence: `${name} ${message}${isText ? `, got ${describeValue(issue.input)}` : ""}.` };
    }
  }
}

const describeSize = (origin: string, way: string, size: number | bigint): string =>
  origin === "array" || origin === "string"
    ? `have at ${way} ${size} ${origin === "array" ? "items" : "characters"}`
    : `be at ${way} ${size}`;

/** Finds the intended alternative of a union, which has the deepest error. */
function findBestBranch(errors: readonly (readonly SchemaIssue[])[]): SchemaIssue | undefined {
  const firstIssues = errors.flatMap((branch) => branch.slice(0, 1)).filter((issue) => !isReference(issue));
  const specific = firstIssues.filter(
    (issue) => issue.path.length > 0 || !["invalid_type", "invalid_value"].includes(issue.code),
  );
  if (specific.length > 0) return specific.sort((one, other) => other.path.length - one.path.length)[0];
  return firstIssues.length === 1 ? firstIssues[0] : undefined;
}

/**
 * Reports whether an issue is about a saved value. Nearly every field accepts a saved value, which is rarely intended.
 */
const isReference = (issue: SchemaIssue): boolean => issue.message === savedValueMessage;

function describeKind(issue: SchemaIssue): string {
  if (issue.code === "invalid_value") return issue.values.map(String).join(" or ");
  if (issue.code !== "invalid_type") return "";
  const { expected } = issue;
  const names = lookupTable({
    string: "a text",
    number: "a number",
    int: "a whole number",
    array: "a list",
    object: "a map",
    record: "a map",
    boolean: "true or false",
  });
  return names[expected] ?? expected;
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a map";
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function findKeys(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = schema;
  for (const step of path) at = getSchemaAt(at, step);
  return listShapes(at).flatMap((shape) => Object.keys(shape));
}

type SchemaDefinition = {
  readonly def?: {
    readonly innerType?: unknown;
    readonly options?: readonly unknown[];
    readonly element?: unknown;
    readonly valueType?: unknown;
  };
  readonly shape?: Readonly<Record<string, unknown>>;
};

/** Lists the schemas behind optional, nullable and union types. */
function listAlternatives(schema: unknown): readonly SchemaDefinition[] {
  const { def } = (schema ?? {}) as SchemaDefinition;
  if (def?.innerType !== undefined) return listAlternatives(def.innerType);
  if (def?.options !== undefined) return def.options.flatMap(listAlternatives);
  return schema === undefined ? [] : [schema as SchemaDefinition];
}

const listShapes = (schema: unknown): readonly object[] =>
  listAlternatives(schema).flatMap(({ shape }) => (shape === undefined ? [] : [shape]));

function getSchemaAt(schema: unknown, step: PropertyKey): unknown {
  for (const one of listAlternatives(schema)) {
    if (one.shape && Object.hasOwn(one.shape, step)) return one.shape[String(step)];
    if (typeof step === "number" && one.def?.element !== undefined) return one.def.element;
    if (one.def?.valueType !== undefined) return one.def.valueType;
  }
  return undefined;
}
