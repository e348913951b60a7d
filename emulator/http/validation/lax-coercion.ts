import type * as z from "zod";
import { type Expectation, getExpectation } from "../../../src/api/expectation.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { findNearest } from "../../../src/base/text.ts";
import type { DecodedBody } from "../bodies/json.ts";
import type { Issue } from "../dialects/dialect.ts";
import type { ReportFinding } from "../handler.ts";
import { definitionOf, kindOf, schemaAt, unwrap } from "./schema.ts";

const integer = /^\s*[-+]?\d+(?:_\d+)*(?:\.0+)?\s*$/;
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "t", "yes", "y", "on", "1"].map((word) => [word, true] as const),
  ...["false", "f", "no", "n", "off", "0"].map((word) => [word, false] as const),
]);

/** Reads one string as pydantic would; an unreadable one stays a string, for validation to reject. */
export type CoerceString = (text: string) => unknown;

/** By kind of schema (`kindOf`); any other kind accepts the text as it is. */
export const stringCoercers = lookupTable<CoerceString>({
  int: (text) => (integer.test(text) ? Number(text.replaceAll("_", "")) : text),
  number: (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text),
  boolean: (text) => truths.get(text.toLowerCase()) ?? text,
});

/**
 * A body in which every value that pydantic reads although the schema speaks of another type is that other type: `"201"`
 * is 201, 1 is true (DECISIONS.md, P13). Undefined when none of the issues is of that sort. `body` stays as it is.
 */
export function coerceLax(schema: z.ZodType, body: unknown, issues: readonly Issue[]): unknown {
  let read: unknown;
  const own = new WeakSet();
  for (const { code, path } of issues) {
    if (code !== "invalid_type") continue;
    const kind = kindOf(schemaAt(schema, path));
    read = replaced(read ?? body, path, (value) => coerceOtherType(kind, value), own) ?? read;
  }
  return read;
}

function coerceOtherType(kind: string, value: unknown): unknown {
  if (typeof value === "string") return stringCoercers[kind]?.(value) ?? value;
  if (typeof value === "boolean" && (kind === "int" || kind === "number")) return Number(value);
  if (kind === "boolean" && (value === 0 || value === 1)) return value === 1;
  return value;
}

/** A copy with another value at the path; undefined when it stays the same. What is copied already, is in `own`. */
function replaced(
  at: unknown,
  path: readonly PropertyKey[],
  change: (value: unknown) => unknown,
  own: WeakSet<object>,
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    const value = change(at);
    return value === at ? undefined : value;
  }
  if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
  const inner = replaced((at as Record<PropertyKey, unknown>)[key], rest, change, own);
  if (inner === undefined) return undefined;
  // Copied once, however many values of a long list are read so.
  const copy = own.has(at) ? at : Array.isArray(at) ? [...at] : { ...at };
  own.add(copy);
  // Defined, since an assignment to `__proto__` would set the prototype.
  Object.defineProperty(copy, key, { value: inner, writable: true, enumerable: true, configurable: true });
  return copy;
}

/** Notes what a valid request holds that the real service may reject (DECISIONS.md, E1). */
export type RelaxedChecks = (params: unknown, decoded: DecodedBody | undefined, finding: ReportFinding) => void;

type Walk = (value: unknown, place: string, note: ReportFinding) => void;

/** Limit per request; further ones add nothing new. */
const maxFindings = 10;

/** For bodies that may be forms, none: OAuth ignores unknown parameters (RFC 6749, 3.2). */
export function relaxedChecksOf({ request, service }: Operation): RelaxedChecks {
  const { params, body } = request;
  const isControl = service.dialect === "control";
  const walkParams = params && !isControl ? walkOf(params) : undefined;
  const walkBody = body?.kind === "json" && !isControl ? walkOf(body.schema) : undefined;
  return (sentParams, decoded, finding) => {
    let left = maxFindings;
    const note: ReportFinding = (code, detail) => {
      left -= 1;
      if (left >= 0) finding(code, detail);
    };
    walkParams?.(sentParams, "", note);
    if (decoded) walkBody?.(decoded.value, "", note);
  };
}

/** Undefined: there is nothing to look at in a value of the schema. */
function walkOf(wrapped: z.ZodType): Walk | undefined {
  const expectation = getExpectation(wrapped);
  if (expectation) return expecting(expectation);
  const schema = unwrap(wrapped);
  if (schema !== wrapped && getExpectation(schema)) return walkOf(schema);
  const { shape, element, valueType, catchall } = definitionOf(schema);
  if (shape) return fieldsWalk(shape, catchall === undefined);
  const item = element ?? valueType;
  const walkItem = item && walkOf(item);
  if (!walkItem) return undefined;
  return (value, place, note) => {
    if (Array.isArray(value)) for (const [at, each] of value.entries()) walkItem(each, `${place}[${at}]`, note);
  };
}

const expecting =
  ({ code, problem, matches }: Expectation): Walk =>
  (value, place, note) => {
    if (typeof value === "string" && !matches(value)) note(code, `${place} ${problem}`);
  };

function fieldsWalk(shape: Readonly<Record<string, z.ZodType>>, isClosed: boolean): Walk {
  const walks = new Map(Object.entries(shape).map(([name, field]) => [name, walkOf(field)]));
  return (value, place, note) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [name, field] of Object.entries(value)) {
      const at = place === "" ? name : `${place}.${name}`;
      if (walks.has(name)) walks.get(name)?.(field, at, note);
      else if (isClosed) note("unknown-field", formatUnknownField(at, name, walks.keys()));
    }
  };
}

const maxNameLength = 100;

/** `counter_party_details[0].organisation_name is unknown: did you mean organization_name?` */
export function formatUnknownField(place: string, name: string, known: Iterable<string>): string {
  const near = name.length <= maxNameLength ? findNearest(name, known) : undefined;
  const shown = place.length > 2 * maxNameLength ? `…${place.slice(-maxNameLength)}` : place;
  return near === undefined ? `${shown} is unknown` : `${shown} is unknown. Did you mean ${near}?`;
}
