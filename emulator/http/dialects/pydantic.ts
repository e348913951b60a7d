import type * as z from "zod";
import { expandUnion } from "../../../src/base/issues.ts";
import { getValueAt, lookupTable } from "../../../src/base/object.ts";
import { SourceNumber } from "../bodies/python-json.ts";
import {
  findSchema,
  getSchemaDefinition,
  getSchemaKind,
  type ValidationIssue,
  type ValidationProblem,
} from "../validation/schema.ts";
import { maxProblems } from "../validation/validate.ts";

/** An error of pydantic 2 (DECISIONS.md, P13). No library has the messages (ARCHITECTURE.md, Written by hand). */
interface PydanticError {
  readonly type: string;
  readonly path: readonly (string | number)[];
  readonly msg: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
  /** Value that the error quotes. For a missing field, this is the object that lacks the field. */
  readonly input: unknown;
}

/** Converts one problem to errors, because a zod issue can name several keys or several branches of a union. */
export function toPydanticErrors({ part, issue, schema, source }: ValidationProblem): readonly PydanticError[] {
  const path = issue.path as (string | number)[];
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, maxProblems)
      .map((key) => ({
        type: "extra_forbidden",
        path: [...path, key],
        msg: "Extra inputs are not permitted",
        input: getValueAt(source, [...path, key]),
      }));
  }
  if (issue.code === "invalid_union") {
    return expandUnion(issue).flatMap((inner) => toPydanticErrors({ part, schema, source, issue: inner }));
  }

  const input = getValueAt(source, path);
  if (input === undefined) {
    // Only errors in bodies quote the object that lacks the field. A missing body, query or header is quoted as null.
    const parent = part === "body" && path.length > 0 ? getValueAt(source, path.slice(0, -1)) : null;
    return [{ type: "missing", path, msg: "Field required", input: parent }];
  }
  const field = findSchema(schema, path);
  return isLengthOfOtherType(issue, field) ? [] : [{ ...describeIssue(issue, field, input), path, input }];
}

/** Zod also checks the length of a list where it reports that a string is expected, and vice versa. */
function isLengthOfOtherType(issue: ValidationIssue, schema: z.ZodType | undefined): boolean {
  const kind = getSchemaKind(schema);
  const isBound = issue.code === "too_small" || issue.code === "too_big";
  return isBound && (kind === "string" || kind === "array") && issue.origin !== kind;
}

type IssueText = Pick<PydanticError, "type" | "msg" | "ctx">;

function describeIssue(issue: ValidationIssue, schema: z.ZodType | undefined, input: unknown): IssueText {
  switch (issue.code) {
    case "invalid_type":
      return describeWrongType(getExpectedKind(issue.expected, getSchemaKind(schema)), input);
    case "invalid_value":
      return describeWrongChoice(issue.values, schema);
    case "too_small":
    case "too_big":
      return describeBound(issue);
    case "invalid_format":
      return describeWrongFormat(issue);
    default:
      return { type: "value_error", msg: issue.message };
  }
}

/** Zod has a single name for both kinds of number. In a union, only the issue identifies the branch. */
const getExpectedKind = (expected: string, declaredKind: string): string =>
  (expected === "number" || expected === "int") && declaredKind !== "union" ? declaredKind : expected;

const typeErrors = lookupTable<readonly [type: string, expected: string]>({
  string: ["string_type", "a valid string"],
  array: ["list_type", "a valid list"],
  record: ["dict_type", "a valid dictionary"],
  object: ["model_attributes_type", "a valid dictionary or object to extract fields from"],
  int: ["int_type", "a valid integer"],
  number: ["float_type", "a valid number"],
  boolean: ["bool_type", "a valid boolean"],
});

/** Errors for a string that cannot be parsed as the expected type, and for a whole number that is no boolean. */
const parsingErrors = lookupTable<readonly [type: string, expected: string]>({
  int: ["int_parsing", "a valid integer, unable to parse string as an integer"],
  number: ["float_parsing", "a valid number, unable to parse string as a number"],
  boolean: ["bool_parsing", "a valid boolean, unable to interpret input"],
});

function describeWrongType(expected: string, input: unknown): IssueText {
  if (expected === "int" && (typeof input === "number" || input instanceof SourceNumber)) {
    return { type: "int_from_float", msg: "Input should be a valid integer, got a number with a fractional part" };
  }
  const number = input instanceof SourceNumber ? Number(input.text) : input;
  const isParsed = typeof input === "string" || (expected === "boolean" && Number.isInteger(number));
  const parsingError = isParsed ? parsingErrors[expected] : undefined;
  const [type, value] = parsingError ?? typeErrors[expected]!;
  return { type, msg: `Input should be ${value}` };
}

function describeWrongChoice(values: readonly unknown[], schema: z.ZodType | undefined): IssueText {
  const choices = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  const lastChoice = choices.pop()!;
  const expected = choices.length === 0 ? lastChoice : `${choices.join(", ")} or ${lastChoice}`;
  const type = schema && getSchemaDefinition(schema).type === "literal" ? "literal_error" : "enum";
  return { type, msg: `Input should be ${expected}`, ctx: { expected } };
}

const pluralize = (count: number | bigint, noun: string) => `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;

function describeBound(issue: Extract<ValidationIssue, { code: "too_small" | "too_big" }>): IssueText {
  const { origin, inclusive, input } = issue;
  const isMin = issue.code === "too_small";
  const bound = isMin ? issue.minimum : issue.maximum;
  const [name, relation, error] = isMin
    ? ["min_length", "at least", "too_short"]
    : ["max_length", "at most", "too_long"];
  if (origin === "string") {
    const msg = `String should have ${relation} ${pluralize(bound, "character")}`;
    return { type: `string_${error}`, msg, ctx: { [name]: bound } };
  }
  if (origin === "array") {
    const actual = (input as readonly unknown[]).length;
    const msg = `List should have ${relation} ${pluralize(bound, "item")} after validation, not ${actual}`;
    return { type: error, msg, ctx: { field_type: "List", [name]: bound, actual_length: actual } };
  }
  const comparison = isMin ? "greater" : "less";
  const key = `${comparison[0]}${inclusive ? "e" : "t"}`;
  const suffix = inclusive ? "than or equal to" : "than";
  return {
    type: `${comparison}_than${inclusive ? "_equal" : ""}`,
    msg: `Input should be ${comparison} ${suffix} ${bound}`,
    ctx: { [key]: bound },
  };
}

function describeWrongFormat({
  format,
  message,
  pattern,
}: Extract<ValidationIssue, { code: "invalid_format" }>): IssueText {
  // A message of the declaration is more specific than the general messages.
  if (!message.startsWith("Invalid ")) return { type: "value_error", msg: message };
  if (format === "regex") {
    const source = pattern!.replace(/^\/|\/[a-z]*$/g, "");
    return {
      type: "string_pattern_mismatch",
      msg: `String should match pattern '${source}'`,
      ctx: { pattern: source },
    };
  }
  return { type: `${format}_parsing`, msg: `Input should be a valid ${nouns.get(format) ?? format}` };
}

const nouns: ReadonlyMap<string, string> = new Map([["email", "email address"]]);
