import type { Fields } from "./form.ts";

/** Those that may come several times (RFC 8693, 2.1; RFC 8707, 2). */
const mayRepeat: ReadonlySet<string> = new Set(["audience", "resource"]);

/** The first parameter of an OAuth request that came more than once, which none must (RFC 6749, 3.1 and 3.2). */
export const repeatedParameter = (fields: Fields): string | undefined =>
  Object.keys(fields).find((name) => typeof fields[name] === "object" && !mayRepeat.has(name));
