/** Whether a parsed value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a JSON object; none if the value is something else. */
export const toFields = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** Parses JSON; undefined if it is invalid. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A table for names of foreign origin. It has no prototype, so that `constructor` or `__proto__` is only found if it
 * was added.
 */
export const lookupTable = <Entry>(entries: Readonly<Record<string, Entry>> = {}): Readonly<Record<string, Entry>> =>
  Object.assign(Object.create(null), entries);

/** Type guard: whether a string is in a list of literals. */
export const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  (words as readonly string[]).includes(text);

/** Computes a value from an object on first use, and caches it for the lifetime of the object. */
export function memoize<Thing extends object, Made extends object>(make: (key: Thing) => Made): (key: Thing) => Made {
  const all = new WeakMap<Thing, Made>();
  return (key) => {
    let made = all.get(key);
    if (made === undefined) {
      made = make(key);
      all.set(key, made);
    }
    return made;
  };
}
