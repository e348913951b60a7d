export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Returns the fields of a JSON object, or none for any other value. */
export const toFields = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** Returns the objects in a list, or none for any other value. */
export const toRows = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Finds a field by its path (`items.0.id`), also with dots in names. Returns undefined if there is none. */
export function findField(value: unknown, path: string): unknown {
  if (path === "") return value;
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, path)) return (value as Record<string, unknown>)[path];
  const [first = "", ...rest] = path.split(".");
  if (rest.length === 0 || !Object.hasOwn(value, first)) return undefined;
  return findField((value as Record<string, unknown>)[first], rest.join("."));
}

/** Returns the value at a path, or undefined if the path does not exist. */
export function getValueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (value instanceof Map) value = value.get(key);
    else if (typeof value === "object" && value !== null && Object.hasOwn(value, key))
      value = (value as Record<PropertyKey, unknown>)[key];
    else return undefined;
  }
  return value;
}

export const omitUndefined = <Value>(
  fields: Readonly<Record<string, Value>>,
): Record<string, Exclude<Value, undefined>> =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, Exclude<Value, undefined>] => entry[1] !== undefined),
  );

/** Parses JSON. Returns undefined for invalid JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Creates a table for names from requests and files. Without a prototype, a look-up of `constructor` or `__proto__`
 * finds only added entries.
 */
export const lookupTable = <Entry>(entries: Readonly<Record<string, Entry>> = {}): Readonly<Record<string, Entry>> =>
  Object.assign(Object.create(null), entries);

export const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  (words as readonly string[]).includes(text);

/** Groups the items by their keys, as `Map.groupBy` of Node 21 does. */
export function groupBy<Item, Key>(items: Iterable<Item>, getKey: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = getKey(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** Returns a function that computes a value for an object on first use and caches it for the lifetime of the object. */
export function memoize<Thing extends object, Made extends object>(make: (key: Thing) => Made): (key: Thing) => Made {
  const all = new WeakMap<Thing, Made>();
  return (key) => {
    let value = all.get(key);
    if (value === undefined) {
      value = make(key);
      all.set(key, value);
    }
    return value;
  };
}
