import { isObject } from "../../base/object.ts";
import { getHeader, type HttpMessage } from "../exchange.ts";
import { compareText, type TextDifference } from "./compare-text.ts";
import { getIdScope, isIdKey, type ReplayLinks } from "./links.ts";

export type DifferenceKind =
  | "status"
  | "added"
  | "absent"
  | "type"
  | "order"
  | "item-order"
  | "items"
  | "header"
  | "signature-form"
  | "spelling"
  | "missing-activity"
  | "other-activity"
  | "retry-time"
  | "attempts"
  | TextDifference;

/** A position at which a replay differs from the recording. */
export interface FoundDifference {
  readonly kind: DifferenceKind;
  /** Examples: `contract_status`, `results[].id`, `header location`. Empty for the whole document. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

export const createDifference = (
  kind: DifferenceKind,
  path: string,
  recorded: unknown,
  replayed: unknown,
): FoundDifference => ({ kind, path, recorded, replayed });

export interface ComparisonContext {
  readonly links: ReplayLinks;
  /** Resource of the operation, which is the scope of a top-level `id`. */
  readonly resource: string;
  readonly isFailure: boolean;
  /** Called with the reason why a part of a response cannot be compared. */
  readonly onIncomparable: (reason: string) => void;
  /** Whether the replayed responses come from a service, whose lists can have other items. */
  readonly isService: boolean;
  /** Reports whether an identifier existed before the recording. */
  readonly isOlder: (id: string) => boolean;
}

const joinPath = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);
const getType = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const getKey = (path: string): string => path.replace(/\[\]/g, "").split(".").at(-1) ?? "";

/** Compares two documents. Identifiers and times that can differ become links. */
export function compareValues(
  recorded: unknown,
  actual: unknown,
  path: string,
  context: ComparisonContext,
): FoundDifference[] {
  const [type, other] = [getType(recorded), getType(actual)];
  if (type !== other) return [createDifference("type", path, recorded, actual)];
  if (Array.isArray(recorded)) return compareArrays(recorded, actual as unknown[], path, context);
  if (isObject(recorded)) return compareObjects(recorded, actual as Record<string, unknown>, path, context);
  if (recorded === actual) {
    if (typeof recorded === "number" && isIdKey(getKey(path)))
      context.links.linkNumber(findScope(path, context.resource), recorded, recorded);
    return [];
  }
  if (typeof recorded === "string") {
    const kind = compareText(recorded, actual as string, context.links, context.isFailure);
    return kind === undefined ? [] : [createDifference(kind, path, recorded, actual)];
  }
  if (typeof recorded === "number") return compareNumbers(recorded, actual as number, path, context);
  return [createDifference("value", path, recorded, actual)];
}

/** Finds the scope of the identifier at a path. An `id` belongs to its parent object if that has a name. */
function findScope(path: string, resource: string): string {
  const [key = "", parent = ""] = path.replace(/\[\]/g, "").split(".").reverse();
  const isOwn = key !== "id" || parent === "" || /^(?:results|items|data|files)$/.test(parent);
  return isOwn ? getIdScope(key, resource) : getIdScope(parent, resource);
}

function compareNumbers(
  recorded: number,
  actual: number,
  path: string,
  { links, resource }: ComparisonContext,
): FoundDifference[] {
  const key = getKey(path);
  const difference = createDifference("value", path, recorded, actual);
  if (isIdKey(key)) {
    const scope = findScope(path, resource);
    const known = links.findExactNumber(scope, recorded);
    links.linkNumber(scope, recorded, actual);
    return known === undefined || known === actual ? [] : [difference];
  }
  // The value is in seconds or milliseconds since 1970.
  const isClock = /(?:_at|_on|time|timestamp|ts|exp|iat|nbf)$/.test(key) && recorded > 1e9;
  if (isClock)
    return Math.abs(recorded - actual) <= (recorded > 1e11 ? 5_000 : 5) ? [] : [{ ...difference, kind: "time" }];
  return [difference];
}

function compareObjects(
  recorded: Record<string, unknown>,
  actual: Record<string, unknown>,
  path: string,
  context: ComparisonContext,
): FoundDifference[] {
  const findKey = (key: string): string => (Object.hasOwn(actual, key) ? key : (context.links.findText(key) ?? key));
  const keys = Object.keys(recorded);
  const common = keys.filter((key) => Object.hasOwn(actual, findKey(key)));
  const used = new Set(common.map(findKey));
  const added = keys.filter((key) => !Object.hasOwn(actual, findKey(key)));
  const absent = Object.keys(actual).filter((key) => !used.has(key));
  const order = Object.keys(actual).filter((key) => used.has(key));
  const isReordered = common.some((key, at) => findKey(key) !== order[at]);
  return [
    ...added.map((key) => createDifference("added", joinPath(path, key), recorded[key], undefined)),
    ...absent.map((key) => createDifference("absent", joinPath(path, key), undefined, actual[key])),
    ...(isReordered ? [createDifference("order", path, keys, Object.keys(actual))] : []),
    ...common.flatMap((key) => compareValues(recorded[key], actual[findKey(key)], joinPath(path, key), context)),
  ];
}

function getId(item: unknown): string | undefined {
  if (!isObject(item)) return undefined;
  const id = item.id ?? Object.entries(item).find(([key]) => isIdKey(key))?.[1];
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

function compareArrays(
  recorded: readonly unknown[],
  actual: readonly unknown[],
  path: string,
  context: ComparisonContext,
): FoundDifference[] {
  const { links, resource, onIncomparable, isOlder } = context;
  // Only a top-level list can have items from before the recording.
  const isWhole = !/[.[]/.test(path);
  const older = new Set(isWhole ? recorded.filter((item) => isOlder(getId(item) ?? "")) : []);
  if (older.size > 0) onIncomparable(`${path || "the list"} contains items from before the recording`);
  const own = recorded.filter((item) => !older.has(item));
  const mapped = own.map((item) => {
    const id = getId(item);
    return id && links.translateNamed("id", id, resource);
  });
  // Of items with the same identifier, the first one counts.
  const positionsById = new Map(actual.map((item, at) => [getId(item), at] as const).reverse());
  const positions = mapped.map((id) => (id === undefined ? -1 : (positionsById.get(id) ?? -1)));
  const isMatched =
    own.length > 0 && positions.every((position) => position >= 0) && new Set(positions).size === positions.length;
  if (older.size === 0 && own.length !== actual.length && !context.isService)
    return [createDifference("items", path, own.length, actual.length)];
  if (!isMatched && isScalarPermutation(own, actual)) return [createDifference("item-order", path, own, actual)];
  const isReordered = isMatched && positions.some((position, at) => at > 0 && position < positions[at - 1]!);
  const found = isReordered ? [createDifference("item-order", path, mapped, actual.map(getId))] : [];
  for (const [at, item] of own.entries()) {
    const other = isMatched ? actual[positions[at]!] : actual[at];
    if (other !== undefined) found.push(...compareValues(item, other, `${path}[]`, context));
  }
  return found;
}

const isScalarPermutation = (recorded: readonly unknown[], actual: readonly unknown[]): boolean => {
  if (recorded.length < 2 || recorded.some((item) => typeof item === "object")) return false;
  const sortStrings = (list: readonly unknown[]) => JSON.stringify(list.map(String).sort());
  return JSON.stringify(recorded) !== JSON.stringify(actual) && sortStrings(recorded) === sortStrings(actual);
};

/** Headers that clients evaluate. */
const comparedHeaders = [
  "content-type",
  "location",
  "allow",
  "retry-after",
  "www-authenticate",
  "cache-control",
  "pragma",
  "content-disposition",
  "deprecation",
  "sunset",
  "link",
] as const;

export function compareHeaders(
  recorded: Pick<HttpMessage, "headers">,
  actual: Pick<HttpMessage, "headers">,
  context: ComparisonContext,
  names: readonly string[] = comparedHeaders,
): FoundDifference[] {
  return names.flatMap((name) => {
    const [was, is] = [getHeader(recorded, name), getHeader(actual, name)];
    if (was === is) return [];
    if (was !== undefined && is !== undefined && compareText(was, is, context.links, false) === undefined) return [];
    return [createDifference("header", `header ${name}`, was, is)];
  });
}
