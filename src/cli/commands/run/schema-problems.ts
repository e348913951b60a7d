import * as z from "zod";
import { describeIssue } from "../../../base/issues.ts";
import { lookupTable } from "../../../base/object.ts";
import { findNearest } from "../../../base/text.ts";
import { savedValueMessage } from "./schema.ts";

type SchemaIssue = z.core.$ZodIssue;

interface SchemaProblem {
  readonly path: readonly PropertyKey[];
  readonly key?: string;
  readonly sentence: string;
}

/** Describes each schema violation in a sentence. Returns an empty list for a valid value. */
export function findSchemaProblems(schema: z.ZodType, value: unknown): readonly SchemaProblem[] {
  const { error } = schema.safeParse(value, { reportInput: true, error: suggestKeys });
  const issues = error?.issues ?? [];
  // A misspelled key also causes a missing key.
  const hasUnknownKeys = issues.some(({ code }) => code === "unrecognized_keys");
  return issues.filter((issue) => !(hasUnknownKeys && isMissing(issue))).flatMap(listProblems);
}

const isMissing = (issue: SchemaIssue): boolean => issue.code !== "unrecognized_keys" && issue.input === undefined;

/** Returns the message of unknown keys: a line for each, which names the valid keys of its map. */
function suggestKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys" || !(issue.inst instanceof z.ZodObject)) return undefined;
  const known = Object.keys(issue.inst.shape);
  return issue.keys.map((key) => suggestSimilar(key, known)).join("\n");
}

const maxSuggestions = 20;

/** Returns a suggestion or the list of valid values. */
export function suggestSimilar(word: string, words: readonly string[]): string {
  const nearest = findNearest(word, words);
  if (nearest !== undefined) return `Did you mean ${nearest}?`;
  if (words.length === 0) return "There are none.";
  const remainder = words.length > maxSuggestions ? ` and ${words.length - maxSuggestions} more` : "";
  return `Known: ${words.toSorted().slice(0, maxSuggestions).join(", ")}${remainder}.`;
}

function listProblems(issue: SchemaIssue): readonly SchemaProblem[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    const place = path.length === 0 ? "" : ` in ${path.map(String).join(".")}`;
    const hints = issue.message.split("\n");
    return issue.keys.map((key, i) => ({ path, key, sentence: `Unknown key "${key}"${place}. ${hints[i]}` }));
  }
  if (issue.code === "invalid_key") {
    const key = String(path.at(-1));
    return [{ path: path.slice(0, -1), key, sentence: `The name "${key}" ${issue.issues[0]!.message}.` }];
  }
  if (issue.code === "invalid_union") {
    const best = findBestBranch(issue.errors);
    if (best)
      return listProblems({ ...best, path: [...path, ...best.path], input: best.input ?? issue.input } as SchemaIssue);
  }
  return [{ path, sentence: `${path.map(String).join(".") || "The step"} ${describeViolation(issue)}` }];
}

/** Finds the intended alternative of a union, which has the deepest error. */
function findBestBranch(errors: readonly (readonly SchemaIssue[])[]): SchemaIssue | undefined {
  // Nearly every field accepts a saved value, which is rarely intended.
  const firstIssues = errors.flatMap(([first]) => (first && first.message !== savedValueMessage ? first : []));
  const specific = firstIssues.filter(
    (issue) => issue.path.length > 0 || !["invalid_type", "invalid_value"].includes(issue.code),
  );
  if (specific.length > 0) return specific.sort((a, b) => b.path.length - a.path.length)[0];
  return firstIssues.length === 1 ? firstIssues[0] : undefined;
}

function describeViolation(issue: SchemaIssue): string {
  switch (issue.code) {
    case "invalid_union": {
      const kinds = new Set(issue.errors.flatMap((branch) => branch.map(describeKind)).filter((kind) => kind !== ""));
      return `must be ${[...kinds].join(" or ")}, got ${describeValue(issue.input)}.`;
    }
    case "invalid_type":
      return issue.input === undefined
        ? "is required."
        : `must be ${describeKind(issue)}, got ${describeValue(issue.input)}.`;
    case "invalid_value":
      return `cannot be ${describeValue(issue.input)}. ${suggestSimilar(String(issue.input), issue.values.map(String))}`;
    case "too_small":
    case "too_big":
      return `${describeIssue(issue)}.`;
    default: {
      const message = issue.message.startsWith("must ") ? issue.message : `is wrong: ${issue.message}`;
      const isText = typeof issue.input === "string" || typeof issue.input === "number";
      return isText ? `${message}, got ${describeValue(issue.input)}.` : `${message}.`;
    }
  }
}

function describeKind(issue: SchemaIssue): string {
  if (issue.code === "invalid_value") return issue.values.map(String).join(" or ");
  return issue.code === "invalid_type" ? (typeNames[issue.expected] ?? issue.expected) : "";
}

const typeNames = lookupTable({
  string: "a text",
  number: "a number",
  int: "a whole number",
  array: "a list",
  object: "a map",
  record: "a map",
  boolean: "true or false",
});

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a map";
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
