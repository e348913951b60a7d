import { isObject, toFields } from "../../base/object.ts";
import type { JsonSchema } from "../../derive/fields.ts";
import type { CorpusExchange } from "../corpus.ts";
import { getHeader, type RecordedResponse } from "../exchange.ts";
import { isStandInToken } from "../stand-ins.ts";
import { createDifference, type DifferenceKind, type FoundDifference } from "./compare.ts";
import { describeTimeFormat, isIsoTime } from "./compare-text.ts";

// During a replay, a service has other contracts and people than during the recording, or it is another service. The
// comparison is limited to data-independent properties: statuses, failures, and the shape of responses.

/**
 * Explains why a recorded request is not sent to a service. `credentials` are the headers that the profile provides for
 * its operation. `unlinked` is an identifier of the request that no response of the service contains.
 */
export function explainUnsent(
  { callee, request, response }: CorpusExchange,
  credentials: Readonly<Record<string, string>>,
  unlinked: string | undefined,
): string | undefined {
  if (!/^(?:GET|HEAD)$/.test(request.method))
    return "it may change something, and only reads are replayed against a service";
  if (callee === "storage") return "the file is not one of this service";
  if (getHeader(request, "user-email") !== undefined) return "it acts as a user, whose address is a stand-in";
  const needed = ["client-id", "x-cluster-key", "authorization"].find(
    (name) => getHeader(request, name) !== undefined && credentials[name] === undefined,
  );
  if (needed !== undefined && response.status !== 401) return `the profile has no ${needed} for it`;
  const isStandIn = unlinked !== undefined && isStandInToken(unlinked);
  return isStandIn && !isMissing(response) ? "its identifier is a stand-in" : undefined;
}

/** Explains why the response of a service is not comparable with the recorded response. Returns undefined if it is. */
export function explainIncomparable(
  recorded: RecordedResponse,
  actual: RecordedResponse,
  unlinked: string | undefined,
): string | undefined {
  if (isUnavailable(actual)) return `the service is not available (${actual.status})`;
  if (actual.status === 401 && recorded.status !== 401) return "the credentials of the profile are rejected (401)";
  if (unlinked !== undefined) {
    if (recorded.status < 300 && [400, 403, 404, 410, 422].includes(actual.status))
      return `${unlinked} is not at this service`;
    if (isMissing(recorded) && actual.status < 300) return `${unlinked} is at this service`;
  }
  const isForbidden = actual.status === 403 && recorded.status < 400;
  return isForbidden ? "the credentials of the profile are not allowed to see it (403)" : undefined;
}

/** Converts a difference to a change since the recording. A field that only the service has counts as added. */
export const toServiceChange = ({ kind, ...difference }: FoundDifference): FoundDifference => ({
  ...difference,
  kind: kind === "added" ? "absent" : kind === "absent" ? "added" : kind,
});

/** Reports whether a service is temporarily unavailable. Such a response reveals nothing about its rules. */
export const isUnavailable = ({ status }: RecordedResponse): boolean =>
  status === 429 || (status >= 500 && status !== 501);

const isMissing = ({ status }: RecordedResponse): boolean => status === 404 || status === 410;

/** Field at one path of a document, such as `results[].id`, in all items of the surrounding lists. */
interface ComparedField {
  /** Path of the surrounding object or list. */
  readonly parent: string;
  /** Types of the values except `null`, because most fields can be `null`. */
  readonly types: Set<string>;
  hasNull: boolean;
  /** Number of occurrences, and how many of them are objects with declared fields. */
  count: number;
  objects: number;
  /** All values except objects, lists and `null`. */
  readonly values: unknown[];
  keys?: readonly string[];
}

/** Names of numbers that depend on the request and not on the data of the service. */
const fixedNumberPattern = /(?:^|\.)(?:limit|offset|page_size|per_page)$/;

/**
 * Compares documents of the same kind with different data: types, fields, the format of enumerations and times, and the
 * order of keys. Missing and `null` values are no difference if the declaration allows them. `incomparable` is called
 * for parts that are not comparable.
 */
export function compareShapes(
  recorded: unknown,
  replayed: unknown,
  schema: JsonSchema | undefined,
  incomparable: (reason: string) => void,
): FoundDifference[] {
  const declaration = createDeclaration(schema ?? {});
  const [was, is] = [collectFields(recorded, declaration), collectFields(replayed, declaration)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((path) => {
    const [item, other] = [was.get(path), is.get(path)];
    const { parent } = (item ?? other)!;
    const around = [was.get(parent), is.get(parent)];
    if (item && other) {
      const [wasInAll, isInAll] = [item, other].map(({ count }, side) => count === around[side]!.objects);
      const isLost = wasInAll && !isInAll && declaration(path).isRequired;
      return isLost
        ? [createDifference("added", path, pickExample(item), undefined)]
        : compareFields(path, item, other, declaration);
    }
    if (path === `${parent}[]`) {
      if (around.every((field) => field?.types.has("array")))
        incomparable(`${parent || "the list"} is empty ${item ? "now" : "in the recording"}`);
      return [];
    }
    const isComparable = around.every((field) => field?.types.has("object")) && !declaration(path).isOptional;
    const kind = item ? "added" : "absent";
    return isComparable ? [createDifference(kind, path, item && pickExample(item), other && pickExample(other))] : [];
  });
}

function compareFields(
  path: string,
  was: ComparedField,
  is: ComparedField,
  declaration: SchemaDeclaration,
): FoundDifference[] {
  const report = (kind: DifferenceKind, recorded = pickExample(was), replayed = pickExample(is)) => [
    createDifference(kind, path, recorded, replayed),
  ];
  if (was.types.size === 0 || is.types.size === 0)
    return was.types.size === is.types.size || declaration(path).isNullable ? [] : report("type");
  if (![...was.types].some((type) => is.types.has(type))) return report("type");
  const { types, isNullable } = declaration(path);
  if (is.hasNull && !was.hasNull && !isNullable) return report("type", pickExample(was), null);
  const otherType = [...is.types].find((type) => !was.types.has(type) && types?.has(type) === false);
  if (otherType !== undefined) return report("type", pickExample(was), pickExample(is, otherType));
  if (was.keys && is.keys) {
    const common = was.keys.filter((key) => is.keys!.includes(key));
    const order = is.keys.filter((key) => common.includes(key));
    return common.join() === order.join() ? [] : report("order", was.keys, is.keys);
  }
  const [[old], [now]] = [was.values, is.values];
  if (old === undefined || now === undefined) return [];
  const declared = declaration(path).values;
  const findUndeclared = ({ values }: ComparedField) => values.find((value) => !declared!.includes(value));
  if (declared && (findUndeclared(was) === undefined) !== (findUndeclared(is) === undefined))
    return report("enumeration", findUndeclared(was) ?? old, findUndeclared(is) ?? now);
  const formats = [was, is].map(({ values }) =>
    values.map((value) => (isIsoTime(String(value)) ? describeTimeFormat(String(value)) : "")),
  );
  if (!formats.flat().includes("") && !formats[0]!.some((format) => formats[1]!.includes(format)))
    return report("time-format");
  return fixedNumberPattern.test(path) && old !== now ? report("value") : [];
}

function pickExample({ types: [first], values }: ComparedField, type = first): unknown {
  if (type === "array" || type === "object") return type === "array" ? [] : {};
  return values.find((value) => typeof value === type) ?? null;
}

/** Lists the fields of a document by path. Keys of a dictionary are data and are omitted. */
function collectFields(document: unknown, declaration: SchemaDeclaration): Map<string, ComparedField> {
  const fields = new Map<string, ComparedField>();
  const walk = (value: unknown, path: string, parent: string): void => {
    const field: ComparedField = fields.get(path) ?? {
      ...{ parent, types: new Set(), hasNull: false, count: 0, objects: 0, values: [] },
    };
    fields.set(path, field);
    field.count += 1;
    field.hasNull ||= value === null;
    if (value === null) return;
    field.types.add(Array.isArray(value) ? "array" : typeof value);
    if (Array.isArray(value)) for (const item of value) walk(item, `${path}[]`, path);
    else if (!isObject(value)) field.values.push(value);
    else if (!declaration(path).isDictionary) {
      field.objects += 1;
      field.keys ??= Object.keys(value);
      for (const [key, inner] of Object.entries(value)) walk(inner, path === "" ? key : `${path}.${key}`, path);
    }
  };
  walk(document, "", "");
  return fields;
}

/** Returns a function that reads the declaration of the field at a path. */
function createDeclaration(root: JsonSchema) {
  return (path: string) => {
    let parents: readonly JsonSchema[] = [];
    let schemas = listAlternatives(root, root);
    const keys = path.match(/\[\]|[^.[\]]+/g) ?? [];
    for (const key of keys) {
      parents = schemas;
      schemas = schemas
        .flatMap(({ items, properties }) => (key === "[]" ? items : toFields(properties)[key]) ?? [])
        .flatMap((schema) => listAlternatives(schema as JsonSchema, root));
    }
    const isDeclared = schemas.length > 0;
    const isRequired = parents.every(({ required = [] }) => (required as readonly unknown[]).includes(keys.at(-1)));
    const values = schemas
      .filter(({ type }) => type !== "null")
      .map(({ enum: all, const: only }) => all ?? (only === undefined ? undefined : [only]));
    return {
      isOptional: isDeclared && !isRequired,
      isRequired: isDeclared && isRequired,
      /** Types in JSON. Undefined if any type is allowed. */
      types: schemas.some(({ type }) => type === undefined)
        ? undefined
        : new Set(schemas.map(({ type }) => (type === "integer" ? "number" : String(type)))),
      isNullable: !isDeclared || schemas.some(({ type }) => type === undefined || type === "null"),
      isDictionary: schemas.some(({ type, properties }) => type === "object" && properties === undefined),
      /** Values of an enumeration. Undefined if any value is allowed. */
      values: values.length === 0 || values.includes(undefined) ? undefined : (values.flat() as unknown[]),
    };
  };
}

/** Lists the types of a schema, whose references are resolved. */
function listAlternatives(schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const union = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined;
  if (union) return union.flatMap((one) => listAlternatives(one, root));
  if (typeof schema.$ref === "string") {
    const steps = schema.$ref.split("/").slice(1);
    return listAlternatives(
      steps.reduce<JsonSchema>((at, step) => toFields(at[step]), root),
      root,
    );
  }
  return [schema.type].flat().map((type) => ({ ...schema, type }));
}

type SchemaDeclaration = ReturnType<typeof createDeclaration>;
