import { didYouMean } from "../base/suggest.ts";

/** Refuses a misspelt name, which would be one that does nothing. Throws a TypeError that names the nearest. */
export function checkNames<T extends object>(
  given: T | undefined,
  known: Readonly<Record<keyof T, true>>,
  place: string,
): void {
  const names = Object.keys(known);
  const wrong = Object.keys(given ?? {}).find((name) => !names.includes(name));
  if (wrong !== undefined) throw new TypeError(`${place}: there is no option "${wrong}". ${didYouMean(wrong, names)}`);
}
