import type * as z from "zod";
import type { ValidationItem } from "../../../src/api/router/failures.ts";
import { SourceNumber } from "../bodies/python-json.ts";
import { failureResponse, jsonResponse } from "../reply.ts";
import { definitionOf, kindOf, schemaAt } from "../validation/schema.ts";
import { maxProblems } from "../validation/validate.ts";
import { type Dialect, formatBugMessage, type Issue, type ValidationProblem, valueAt } from "./dialect.ts";

/**
 * The text that pydantic 2 has for one problem (DECISIONS.md, P13). By hand: zod checks, and no library words problems
 * so.
 */
export interface PydanticError {
  readonly type: string;
  readonly path: readonly (string | number)[];
  readonly msg: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
  /** Quoted in the error; for a missing field, the object that lacks it. */
  readonly input: unknown;
}

/** The errors of one problem: a zod issue may name several keys, or several branches of a union. */
export function pydanticErrors({ part, issue, schema, sent }: ValidationProblem): readonly PydanticError[] {
  const path = issue.path as (string | number)[];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, maxProblems).map((key) => ({
      type: "extra_forbidden",
      path: [...path, key],
      msg: "Extra inputs are not permitted",
      input: valueAt(sent, [...path, key]),
    }));
  }
  if (issue.code === "invalid_union") {
    const branch = likeliestBranch(issue.errors);
    return branch.flatMap((inner) =>
      pydanticErrors({ part, schema, sent, issue: { ...inner, path: [...path, ...inner.path] } as Issue }),
    );
  }

  const input = valueAt(sent, path);
  if (input === undefined) {
    // Only bodies quote the object that lacks the field; a body, query or header that is absent quotes null.
    const parent = part === "body" && path.length > 0 ? valueAt(sent, path.slice(0, -1)) : null;
    return [{ type: "missing", path, msg: "Field required", input: parent }];
  }
  return [{ ...words(issue, schemaAt(schema, path), input), path, input }];
}

/** The branch of a union that got furthest: its problems lie deepest, or are the fewest. */
function likeliestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const depth = (issues: readonly Issue[]) => issues.reduce((most, { path }) => Math.max(most, path.length), 0);
  return (
    [...branches].filter((issues) => issues.length > 0).sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ??
    []
  );
}

type Words = Pick<PydanticError, "type" | "msg" | "ctx">;

function words(issue: Issue, schema: z.ZodType | undefined, input: unknown): Words {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(expectedKind(issue.expected, kindOf(schema)), input);
    case "invalid_value":
      return wrongChoice(issue.values, schema);
    case "too_small":
      return tooSmall(issue);
    case "too_big":
      return tooBig(issue);
    case "invalid_format":
      return wrongFormat(issue);
    case "not_multiple_of":
      return {
        type: "multiple_of",
        msg: `Input should be a multiple of ${issue.divisor}`,
        ctx: { multiple_of: issue.divisor },
      };
    default:
      return { type: "value_error", msg: issue.message };
  }
}

/** Zod names both kinds of number alike; in a union only the issue knows which branch is meant. */
const expectedKind = (expected: string, declared: string): string =>
  (expected === "number" || expected === "int") && declared !== "union" ? declared : expected;

function wrongType(expected: string, input: unknown): Words {
  const text = typeof input === "string";
  switch (expected) {
    case "string":
      return { type: "string_type", msg: "Input should be a valid string" };
    case "array":
      return { type: "list_type", msg: "Input should be a valid list" };
    case "record":
      return { type: "dict_type", msg: "Input should be a valid dictionary" };
    case "object":
      return {
        type: "model_attributes_type",
        msg: "Input should be a valid dictionary or object to extract fields from",
      };
    case "int":
      if (text)
        return { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" };
      if (typeof input === "number" || input instanceof SourceNumber) {
        return { type: "int_from_float", msg: "Input should be a valid integer, got a number with a fractional part" };
      }
      return { type: "int_type", msg: "Input should be a valid integer" };
    case "number":
      if (text)
        return { type: "float_parsing", msg: "Input should be a valid number, unable to parse string as a number" };
      return { type: "float_type", msg: "Input should be a valid number" };
    case "boolean":
      if (text) return { type: "bool_parsing", msg: "Input should be a valid boolean, unable to interpret input" };
      return { type: "bool_type", msg: "Input should be a valid boolean" };
    case "null":
      return { type: "none_required", msg: "Input should be None" };
    default:
      return { type: `${expected}_type`, msg: `Input should be a valid ${expected}` };
  }
}

function wrongChoice(values: readonly unknown[], schema: z.ZodType | undefined): Words {
  const quoted = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  const last = quoted.pop()!;
  const expected = quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
  const type = schema && definitionOf(schema).type === "literal" ? "literal_error" : "enum";
  return { type, msg: `Input should be ${expected}`, ctx: { expected } };
}

type TooSmall = Extract<Issue, { code: "too_small" }>;
type TooBig = Extract<Issue, { code: "too_big" }>;

const plural = (count: number | bigint, noun: string) => `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;

function tooSmall({ origin, minimum, inclusive, input }: TooSmall): Words {
  if (origin === "string") {
    return {
      type: "string_too_short",
      msg: `String should have at least ${plural(minimum, "character")}`,
      ctx: { min_length: minimum },
    };
  }
  if (origin === "array") {
    const actual = (input as readonly unknown[] | undefined)?.length ?? 0;
    return {
      type: "too_short",
      msg: `List should have at least ${plural(minimum, "item")} after validation, not ${actual}`,
      ctx: { field_type: "List", min_length: minimum, actual_length: actual },
    };
  }
  return inclusive
    ? { type: "greater_than_equal", msg: `Input should be greater than or equal to ${minimum}`, ctx: { ge: minimum } }
    : { type: "greater_than", msg: `Input should be greater than ${minimum}`, ctx: { gt: minimum } };
}

function tooBig({ origin, maximum, inclusive, input }: TooBig): Words {
  if (origin === "string") {
    return {
      type: "string_too_long",
      msg: `String should have at most ${plural(maximum, "character")}`,
      ctx: { max_length: maximum },
    };
  }
  if (origin === "array") {
    const actual = (input as readonly unknown[] | undefined)?.length ?? 0;
    return {
      type: "too_long",
      msg: `List should have at most ${plural(maximum, "item")} after validation, not ${actual}`,
      ctx: { field_type: "List", max_length: maximum, actual_length: actual },
    };
  }
  return inclusive
    ? { type: "less_than_equal", msg: `Input should be less than or equal to ${maximum}`, ctx: { le: maximum } }
    : { type: "less_than", msg: `Input should be less than ${maximum}`, ctx: { lt: maximum } };
}

function wrongFormat({ format, message, pattern }: Extract<Issue, { code: "invalid_format" }>): Words {
  // A message of the declaration's own says more than any of these.
  if (!message.startsWith("Invalid ")) return { type: "value_error", msg: message };
  if (format === "regex") {
    const bare = (pattern ?? "").replace(/^\/|\/[a-z]*$/g, "");
    return { type: "string_pattern_mismatch", msg: `String should match pattern '${bare}'`, ctx: { pattern: bare } };
  }
  return { type: `${format}_parsing`, msg: `Input should be a valid ${nouns.get(format) ?? format}` };
}

const nouns: ReadonlyMap<string, string> = new Map([
  ["url", "URL"],
  ["uuid", "UUID"],
  ["guid", "UUID"],
  ["email", "email address"],
]);

/** FastAPI ≥ 0.132 with pydantic 2 (DECISIONS.md, R1, P12). */
export const fastapi: Dialect = {
  invalid: (problems) => failureResponse("validation", problems.flatMap(itemsOf)),

  unreadable: (problem) => {
    if (problem.why === "json") {
      const item = {
        type: "json_invalid",
        loc: ["body", problem.at],
        msg: "JSON decode error",
        input: {},
        ctx: { error: problem.message },
      };
      return failureResponse("validation", [item]);
    }
    if (problem.why === "multipart") return jsonResponse(400, { detail: problem.message });
    if (problem.why === "repeated") {
      return failureResponse("invalid-request", { reason: `${problem.name} is repeated` });
    }
    return failureResponse("unparsable-body", undefined);
  },

  tooLarge: () => failureResponse("body-too-large", undefined),
  storeFailed: () => failureResponse("store-failed", undefined),
  notFound: () => jsonResponse(404, { detail: "Not Found" }),
  methodNotAllowed: (_, allowed) =>
    jsonResponse(405, { detail: "Method Not Allowed" }, ["allow", [...allowed].sort().join(", ")]),
  bug: (operation) => jsonResponse(500, { detail: formatBugMessage(operation) }),
};

/** Keys in the order of the wire; `input` is always there, `null` where nothing was sent. */
const itemsOf = (problem: ValidationProblem): ValidationItem[] =>
  pydanticErrors(problem).map(({ type, path, msg, input, ctx }) => ({
    type,
    loc: [problem.part, ...path],
    msg,
    input: quoted(input),
    ...(ctx && { ctx }),
  }));

/**
 * At most this many characters of the input are quoted with one problem; a real service quotes all (DECISIONS.md, E11).
 */
const maxQuoteLength = 65_536;

/** The quote of the input in an error: null if there is none, and a note if it is too long. */
const quoted = (input: unknown): unknown =>
  subtractLength(input, maxQuoteLength) < 0 ? `(omitted: more than ${maxQuoteLength} characters)` : (input ?? null);

/** The rest of a length once a value is written; below 0 as soon as it does not fit. */
function subtractLength(value: unknown, length: number): number {
  if (typeof value === "string") return length - value.length - 2;
  if (value instanceof SourceNumber) return length - value.text.length;
  if (typeof value !== "object" || value === null) return length - 4;
  let left = length - 2;
  const members = value instanceof Map ? value : Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [name, member] of members) {
    left = subtractLength(member, left - (typeof name === "string" ? name.length + 4 : 1));
    if (left < 0) break;
  }
  return left;
}
