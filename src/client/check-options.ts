import { didYouMean } from "../base/suggest.ts";

/** Each name that there is. */
export type AllOf<T> = Readonly<Record<keyof T, true>>;

/** Refuses a misspelt name, which would be one that does nothing. Throws a TypeError that names the nearest. */
export function checkNames<T extends object>(given: T | undefined, known: AllOf<T>, place: string): void {
  const names = Object.keys(known);
  const wrong = Object.keys(given ?? {}).find((name) => !names.includes(name));
  if (wrong !== undefined) throw new TypeError(`${place}: unknown option "${wrong}". ${didYouMean(wrong, names)}`);
}

/** Refuses base URLs of which none says where a service is. Throws a TypeError. */
export function checkUrls(given: Readonly<Record<string, unknown>>, place: string, names: readonly string[]): void {
  const urls = Object.entries(given).filter(([, url]) => url !== undefined);
  if (urls.length === 0) throw new TypeError(`${place}: at least one of ${names.join(", ")} is required`);
  for (const [name, url] of urls) {
    if (typeof url !== "string" || !/^https?:\/\/./.test(url) || !URL.canParse(url))
      throw new TypeError(`${place}.${name} must be an http:// or https:// URL`);
    const { username, password } = new URL(url);
    if (/[?#\s]/.test(url) || username !== "" || password !== "")
      throw new TypeError(`${place}.${name} must be a URL without credentials, query, fragment and spaces`);
  }
}

/** Refuses what is no amount. Throws a TypeError. */
export function checkAmounts(given: Readonly<Record<string, unknown>>, place: string): void {
  for (const [name, amount] of Object.entries(given)) {
    if (amount !== undefined && !(typeof amount === "number" && amount >= 0))
      throw new TypeError(`${place}: ${name} must be a number, 0 or more`);
  }
}
