import type * as z from "zod";
import type { Operation } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { getValueAt, lookupTable } from "../../../src/base/object.ts";
import { getLastValue, pickLastValues, type RequestFields } from "../bodies/fields.ts";
import type { DecodedBody } from "../bodies/json.ts";
import { coerceLax, type StringCoercer, stringCoercers } from "./lax-coercion.ts";
import {
  findSchema,
  getSchemaDefinition,
  getSchemaKind,
  hasFreePart,
  type RequestPart,
  restoreSourceNumbers,
  unwrapSchema,
  type ValidationIssue,
  type ValidationProblem,
} from "./schema.ts";

/** Input of a handler before its type is known. */
export interface HandlerInput {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}

interface RequestParts {
  readonly params: RequestFields;
  readonly query: RequestFields;
  readonly headers: RequestFields;
  readonly decoded: DecodedBody | undefined;
}

/** Validates every part of a request and writes the values to `input`. Returns the problems in wire order. */
export type RequestValidator = (parts: RequestParts, input: HandlerInput) => readonly ValidationProblem[];

type PartCheck = (parts: RequestParts, input: HandlerInput, problems: ValidationProblem[]) => void;

/** Returns whether a request can be invalid. */
export const hasInputSchema = ({ request: { params, query, headers, body } }: Operation): boolean =>
  params !== undefined || query !== undefined || headers !== undefined || (body !== undefined && "schema" in body);

export function createValidator({ request, service }: Operation): RequestValidator {
  const checks: PartCheck[] = [];
  if (request.params) checks.push(createFieldsCheck("path", request.params));
  if (request.query) checks.push(createFieldsCheck("query", request.query));
  if (request.headers) checks.push(createFieldsCheck("header", request.headers));
  const { body } = request;
  if (body && "schema" in body) checks.push(createBodyCheck(body.schema, service));
  return (parts, input) => {
    const problems: ValidationProblem[] = [];
    for (const check of checks) check(parts, input, problems);
    return problems;
  };
}

const partOfInput = { path: "params", query: "query", header: "headers" } as const;

function createFieldsCheck(part: Exclude<RequestPart, "body">, schema: z.ZodObject): PartCheck {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const fieldSchema = unwrapSchema(field as z.ZodType);
    const { element } = getSchemaDefinition(fieldSchema);
    const coerce = stringCoercers[getSchemaKind(element ?? fieldSchema)] ?? keepString;
    return { name, isList: element !== undefined, coerce };
  });
  const target = partOfInput[part];
  /** Only declared headers are validated, because the others belong to the protocol. */
  const pickFields = (received: RequestFields, isCoerced: boolean) => {
    // Other undeclared names remain, because the schema decides whether they are valid.
    const values: Record<string, unknown> = part === "header" ? Object.create(null) : pickLastValues(received);
    for (const { name, isList, coerce } of fields) {
      const value = received[name];
      if (value === undefined) continue;
      const read = isCoerced ? coerce : keepString;
      values[name] = isList ? [value].flat().map((text) => read(text)) : read(getLastValue(value)!);
    }
    return values;
  };
  return (parts, input, problems) => {
    const parsed = schema.safeParse(pickFields(parts[target], true));
    if (parsed.success) {
      input[target] = parsed.data;
      return;
    }
    const source = pickFields(parts[target], false);
    for (const issue of parsed.error.issues) problems.push({ part, issue, schema, source });
  };
}

const keepString: StringCoercer = (text) => text;

/** Length below which a document cannot have more problems than the limit. */
const maxShortDocumentLength = 1_000;
/** Validations of a long document after conversions of values in quotes (DECISIONS.md, E11). */
const maxLaxAttempts = 10;

function createBodyCheck(schema: z.ZodType, { dialect, absentBody }: Service): PartCheck {
  let limitedSchema: z.ZodType | undefined;
  const isOptional = schema.safeParse(undefined).success;
  const isLax = dialect !== "control";
  const keepsNumbers = hasFreePart(schema);
  return ({ decoded }, input, problems) => {
    const dropsBlanks = decoded?.isForm === true && dialect === "fastapi";
    let value = decoded?.value;
    if (dropsBlanks) value = lookupTable(Object.fromEntries(dropBlanks(schema, Object.entries(value as object))));
    // FastAPI accepts null for an optional model.
    if (value === null && isOptional && dialect === "fastapi") value = undefined;
    if (value === undefined && isOptional) {
      input.body = schema.parse(undefined);
      return;
    }
    // FastAPI reports a missing body. The other frameworks treat it as an empty body and report its missing fields.
    if (value === undefined && absentBody === "empty") value = {};
    const isLong = decoded !== undefined && decoded.length > maxShortDocumentLength;
    // The first request with a long document creates this schema, because most operations never receive such a
    // document.
    if (isLong) limitedSchema ??= limitProblems(schema);
    const laxAttempts = isLax ? (isLong ? maxLaxAttempts : 1) : 0;
    const parsed = parseLax(isLong ? limitedSchema! : schema, value, schema, laxAttempts);
    if (parsed.success) {
      const sourceNumbers = keepsNumbers ? decoded?.getExact?.() : undefined;
      input.body = sourceNumbers === undefined ? parsed.data : restoreSourceNumbers(schema, parsed.data, sourceNumbers);
      return;
    }
    const document = decoded?.value === undefined ? value : decoded.getSource();
    const source = dropsBlanks ? dropBlanks(schema, document as Map<string, unknown>) : document;
    for (const issue of sortInWireOrder(schema, source, parsed.error.issues)) {
      problems.push({ part: "body", issue, schema, source });
    }
  };
}

/** Parses a body, again after each conversion of the values in quotes that caused the problems (DECISIONS.md, E11). */
function parseLax(parser: z.ZodType, body: unknown, schema: z.ZodType, maxAttempts: number) {
  const lax = { body, isCopy: false };
  let parsed = parser.safeParse(body, { reportInput: true });
  for (let attempt = 0; attempt < maxAttempts && !parsed.success; attempt += 1) {
    if (!coerceLax(schema, lax, parsed.error.issues)) break;
    parsed = parser.safeParse(lax.body, { reportInput: true });
  }
  return parsed;
}

/** Empty declared fields count as absent, and the last value of a repeated one counts (DECISIONS.md, R1). */
function dropBlanks(schema: z.ZodType, form: Iterable<readonly [string, unknown]>): Map<string, unknown> {
  const fields = new Map(form);
  for (const name of Object.keys(getSchemaDefinition(unwrapSchema(schema)).shape ?? {})) {
    const lastValue = [fields.get(name)].flat().at(-1);
    if (lastValue === "") fields.delete(name);
    else if (lastValue !== undefined) fields.set(name, lastValue);
  }
  return fields;
}

/** Sorts issues of dictionary keys by their order in `source`, because an object lists keys like numbers first. */
function sortInWireOrder(
  schema: z.ZodType,
  source: unknown,
  issues: readonly ValidationIssue[],
): readonly ValidationIssue[] {
  if (issues.length < 2) return issues;
  const positions = new Map<unknown, { readonly first: number; readonly rank: ReadonlyMap<unknown, number> }>();
  const keys = issues.map((issue, index) => {
    const depth = issue.path.findIndex((_, length) => isDictionary(schema, issue.path.slice(0, length)));
    const owner = depth < 0 ? undefined : getValueAt(source, issue.path.slice(0, depth));
    if (!(owner instanceof Map)) return { issue, group: index, rank: 0 };
    const position = positions.get(owner) ?? {
      first: index,
      rank: new Map([...owner.keys()].map((name, rank) => [name, rank])),
    };
    positions.set(owner, position);
    return { issue, group: position.first, rank: position.rank.get(issue.path[depth]) ?? 0 };
  });
  return keys.sort((a, b) => a.group - b.group || a.rank - b.rank).map(({ issue }) => issue);
}

const isDictionary = (schema: z.ZodType, path: readonly PropertyKey[]): boolean => {
  const owner = findSchema(schema, path);
  return owner !== undefined && getSchemaDefinition(owner).type === "record";
};

/** Maximum number of problems in one list. A real service lists all problems (DECISIONS.md, E11). */
export const maxProblems = 1_000;

/** Returns a schema that stops collecting problems at this number, because millions would exceed the memory. */
export function limitProblems(schema: z.ZodType): z.ZodType {
  const { type, shape, element, valueType, innerType, options } = getSchemaDefinition(schema);
  if (type === "object" && shape) {
    const fields = Object.entries(shape).map(([name, field]) => [name, limitProblems(field)]);
    return cloneSchema(schema, { shape: Object.fromEntries(fields) });
  }
  if (type === "array" && element) return limitIssues(schema, "element", limitProblems(element));
  if (type === "record" && valueType) return limitIssues(schema, "valueType", limitProblems(valueType));
  if (type === "union" && options) return cloneSchema(schema, { options: options.map(limitProblems) });
  return innerType ? cloneSchema(schema, { innerType: limitProblems(innerType) }) : schema;
}

const cloneSchema = (schema: z.ZodType, parts: object): z.ZodType =>
  schema.clone({ ...schema._zod.def, ...parts } as typeof schema._zod.def);

/** Skipped items cannot make the list valid, because it is already invalid. */
function limitIssues(schema: z.ZodType, part: "element" | "valueType", item: z.ZodType): z.ZodType {
  let issueCount = 0;
  const limitedItem = item.clone();
  const runItem = limitedItem._zod.run;
  limitedItem._zod.run = (payload, context) => {
    if (issueCount >= maxProblems) return payload;
    const result = runItem(payload, context);
    if ("issues" in result) issueCount += result.issues.length;
    return result;
  };
  const list = cloneSchema(schema, { [part]: limitedItem });
  const runList = list._zod.run;
  list._zod.run = (payload, context) => {
    issueCount = 0;
    return runList(payload, context);
  };
  return list;
}
