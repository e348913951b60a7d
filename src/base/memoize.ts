/** Makes of each thing what follows from it alone, when it is first asked for, and keeps it for as long as the thing lives. */
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
