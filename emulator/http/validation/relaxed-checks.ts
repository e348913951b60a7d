import type * as z from "zod";
import { type Expectation, expectationOf } from "../../../src/api/expectation.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { nearest } from "../../../src/base/suggest.ts";
import type { Decoded } from "../bodies/json.ts";
import type { Finding } from "../handler.ts";
import { definitionOf, unwrap } from "./schema.ts";

/** Notes what a valid request holds that the real service may refuse (DECISIONS.md, E1). */
export type RelaxedChecks = (params: unknown, decoded: Decoded | undefined, finding: Finding) => void;

type Walk = (value: unknown, place: string, note: Finding) => void;

/** Of one request; more say nothing new. */
const maxFindings = 10;

/** Of bodies that may be forms none: OAuth ignores parameters that it does not know (RFC 6749, 3.2). */
export function relaxedChecksOf({ request, service }: Operation): RelaxedChecks {
  const { params, body } = request;
  const isControl = service.dialect === "control";
  const walkParams = params && !isControl ? walkOf(params) : undefined;
  const walkBody = body?.kind === "json" && !isControl ? walkOf(body.schema) : undefined;
  return (sentParams, decoded, finding) => {
    let left = maxFindings;
    const note: Finding = (code, detail) => {
      left -= 1;
      if (left >= 0) finding(code, detail);
    };
    walkParams?.(sentParams, "", note);
    if (decoded) walkBody?.(decoded.value, "", note);
  };
}

/** Undefined: there is nothing to look at in a value of the schema. */
function walkOf(wrapped: z.ZodType): Walk | undefined {
  const expectation = expectationOf(wrapped);
  if (expectation) return expecting(expectation);
  const schema = unwrap(wrapped);
  if (schema !== wrapped && expectationOf(schema)) return walkOf(schema);
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
  ({ code, problem, holds }: Expectation): Walk =>
  (value, place, note) => {
    if (typeof value === "string" && !holds(value)) note(code, `${place} ${problem}`);
  };

function fieldsWalk(shape: Readonly<Record<string, z.ZodType>>, isClosed: boolean): Walk {
  const walks = new Map(Object.entries(shape).map(([name, field]) => [name, walkOf(field)]));
  return (value, place, note) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [name, field] of Object.entries(value)) {
      const at = place === "" ? name : `${place}.${name}`;
      if (walks.has(name)) walks.get(name)?.(field, at, note);
      else if (isClosed) note("unknown-field", unknownField(at, name, walks.keys()));
    }
  };
}

const longestName = 100;

/** `counter_party_details[0].organisation_name is unknown: did you mean organization_name?` */
export function unknownField(place: string, name: string, known: Iterable<string>): string {
  const near = name.length <= longestName ? nearest(name, known) : undefined;
  const shown = place.length > 2 * longestName ? `…${place.slice(-longestName)}` : place;
  return near === undefined ? `${shown} is unknown` : `${shown} is unknown: did you mean ${near}?`;
}
