/** Whether a value that was read is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a JSON object; none if a value is something else. */
export const toFields = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** The value of a JSON text; undefined for any other string. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Entries by name, for names of foreign origin. Such a table has no prototype, so that `constructor` or `__proto__`
 * names nothing in it that was not put there.
 */
export const lookupTable = <Entry>(entries: Readonly<Record<string, Entry>> = {}): Readonly<Record<string, Entry>> =>
  Object.assign(Object.create(null), entries);

/** Whether a string is one of the words of a list: then it has their type. */
export const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  (words as readonly string[]).includes(text);

/** Computes a value from an object on first use, and caches it for as long as the object lives. */
export function memoize<Thing extends object, Made extends object>(
  make: (thing: Thing) => Made,
): (thing: Thing) => Made {
  const all = new WeakMap<Thing, Made>();
  return (thing) => {
    let made = all.get(thing);
    if (made === undefined) {
      made = make(thing);
      all.set(thing, made);
    }
    return made;
  };
}
