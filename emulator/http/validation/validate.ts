import type * as z from "zod";
import type { Operation } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import type { Fields } from "../bodies/form.ts";
import { lastOf, parseFields } from "../bodies/form.ts";
import type { Decoded } from "../bodies/json.ts";
import type { Part, Problem } from "../dialects/problem.ts";
import { bounded } from "./bounded.ts";
import { edgeOf } from "./edge.ts";
import { readLaxly } from "./lax.ts";
import { definitionOf, takesAnyStrings, unwrap } from "./schema.ts";

/** What a handler is given, before its type is known. */
export interface Input {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}

/** What came, in parts. */
export interface RequestParts {
  readonly params: Fields;
  /** Without the question mark. */
  readonly search: string;
  readonly headers: Fields;
  readonly decoded: Decoded | undefined;
}

/** Checks every part of a request and puts the values into `input`; the answer lists what is wrong, in wire order. */
export type Validate = (sent: RequestParts, input: Input) => readonly Problem[];

type Check = (sent: RequestParts, input: Input, problems: Problem[]) => void;

const none: readonly Problem[] = [];

/** Whether a request of it could be wrong. */
export const takesAnything = ({ request: { params, query, headers, body } }: Operation): boolean =>
  params !== undefined || query !== undefined || headers !== undefined || (body !== undefined && "schema" in body);

/** For an operation that takes anything. */
export function validatorFor({ request, service }: Operation): Validate {
  const checks: Check[] = [];
  if (request.params) checks.push(paramsCheck(request.params));
  if (request.query) checks.push(fieldsCheck("query", request.query, ({ search }) => parseFields(search)));
  if (request.headers) checks.push(fieldsCheck("header", request.headers, ({ headers }) => headers));
  const { body } = request;
  if (body && "schema" in body) checks.push(bodyCheck(body.schema, service));
  return (sent, input) => {
    const problems: Problem[] = [];
    for (const check of checks) check(sent, input, problems);
    return problems.length === 0 ? none : problems;
  };
}

function paramsCheck(schema: z.ZodObject): Check {
  if (!takesAnyStrings(schema)) return fieldsCheck("path", schema, ({ params }) => params);
  return ({ params }, input) => {
    input.params = params;
  };
}

const partOfInput = { path: "params", query: "query", header: "headers" } as const;

function fieldsCheck(part: Exclude<Part, "body">, schema: z.ZodObject, pick: (sent: RequestParts) => Fields): Check {
  const read = edgeOf(schema);
  const names = Object.keys(schema.shape);
  const target = partOfInput[part];
  return (sent, input, problems) => {
    let fields = pick(sent);
    // Of the headers only those that are declared; the others are the protocol's business.
    if (part === "header") fields = Object.fromEntries(names.map((name) => [name, fields[name]]));
    const values = read(fields);
    const parsed = schema.safeParse(values);
    if (parsed.success) {
      input[target] = parsed.data;
      return;
    }
    const quote = (name: string) => (Array.isArray(values[name]) ? [fields[name]].flat() : lastOf(fields[name]));
    const quoted = Object.fromEntries(Object.keys(fields).map((name) => [name, quote(name)]));
    for (const issue of parsed.error.issues) problems.push({ part, issue, schema, sent: quoted });
  };
}

/** No document of this length has more problems than are told. */
const shortDocument = 1_000;
/** So often a long document is read again, with what was a number or a truth in quotes (DECISIONS.md, E11). */
const laxReadings = 10;

function bodyCheck(schema: z.ZodType, { dialect, noBody }: Service): Check {
  let forLong: z.ZodType | undefined;
  const optional = schema.safeParse(undefined).success;
  const isLax = dialect !== "control";
  return ({ decoded }, input, problems) => {
    let value = decoded?.value;
    if (decoded?.isForm && dialect === "fastapi") value = withoutBlanks(schema, value as Form);
    // An optional model of FastAPI may be null as well.
    if (value === null && optional && dialect === "fastapi") value = undefined;
    if (value === undefined) {
      // FastAPI misses the body; the other frameworks read no body as an empty one, and miss its fields.
      if (optional) {
        input.body = schema.parse(undefined);
        return;
      }
      if (noBody === "empty") value = {};
    }
    const isLong = decoded !== undefined && decoded.length > shortDocument;
    // Made by the first that needs it: most operations never see a long document.
    if (isLong) forLong ??= bounded(schema);
    const fitting = isLong ? forLong! : schema;
    let checked = value;
    let parsed = fitting.safeParse(checked, { reportInput: true });
    for (let times = isLong ? laxReadings : 1; isLax && !parsed.success && times > 0; times -= 1) {
      const lax = readLaxly(schema, checked, parsed.error.issues);
      if (lax === undefined) break;
      checked = lax;
      parsed = fitting.safeParse(checked, { reportInput: true });
    }
    if (parsed.success) {
      input.body = parsed.data;
      return;
    }
    const sent = decoded === undefined || decoded.isForm || decoded.value === undefined ? value : decoded.source();
    for (const issue of parsed.error.issues) problems.push({ part: "body", issue, schema, sent });
  };
}

type Form = Readonly<Record<string, string | undefined>>;

/** A declared field of a form that came empty did not come; names of nobody's stay (DECISIONS.md, R1). */
function withoutBlanks(schema: z.ZodType, form: Form): Form {
  const declared = definitionOf(unwrap(schema)).shape ?? {};
  const blank = (name: string) => form[name] === "" && Object.hasOwn(declared, name);
  const kept = Object.create(null) as Record<string, string | undefined>;
  for (const name of Object.keys(form)) if (!blank(name)) kept[name] = form[name];
  return kept;
}
