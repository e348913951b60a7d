/**
 * Entries by name, for names that somebody else may choose. Such a table has no prototype, so that `constructor` or
 * `__proto__` names nothing in it that was not put there.
 */
export const lookupTable = <Entry>(entries: Readonly<Record<string, Entry>> = {}): Readonly<Record<string, Entry>> =>
  Object.assign(Object.create(null), entries);
