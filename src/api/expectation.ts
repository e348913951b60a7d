import * as z from "zod";
import { email } from "./shapes.ts";

/**
 * The expected form of a string if any is accepted: the real service may reject another one, so it becomes a finding.
 */
export interface Expectation {
  /** Code of the finding. */
  readonly code: string;
  /** Follows the place of the text in its detail. */
  readonly problem: string;
  matches(text: string): boolean;
}

const expectations = new WeakMap<z.ZodType, Expectation>();

/** The expectation of a schema, or of the one that it describes otherwise. */
export function getExpectation(schema: z.ZodType): Expectation | undefined {
  for (let at: z.ZodType | undefined = schema; at; at = at._zod.parent as z.ZodType | undefined) {
    const found = expectations.get(at);
    if (found) return found;
  }
  return undefined;
}

function createTextSchema(expectation: Expectation, schema = z.string()): z.ZodString {
  expectations.set(schema, expectation);
  return schema;
}

/** Any text, which should be an e-mail address. */
export const expectedEmail = createTextSchema({
  code: "not-an-email",
  problem: "is not an e-mail address",
  matches: (text) => email.safeParse(text.trim()).success,
});

/** Any text, which should be the hash of an e-mail address (DECISIONS.md, R11). */
export const expectedEmailHash = createTextSchema({
  code: "not-an-email-hash",
  problem: "is not a SHA-256 in 64 lower-case hexadecimal digits",
  matches: (text) => /^[0-9a-f]{64}$/.test(text),
});

/** Any text, which should be the code of a country. */
export const expectedCountry = createTextSchema(
  {
    code: "unknown-country",
    problem: "is not the code of a country (ISO 3166-1, two letters)",
    matches: isCountryCode,
  },
  z.string().min(1),
);

/** Regions that have a code and are no country. */
const otherRegions = ["EU", "EZ", "UN", "QO", "XA", "XB", "ZZ"];
let regionNames: Intl.DisplayNames | undefined;

function isCountryCode(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || otherRegions.includes(code)) return false;
  regionNames ??= new Intl.DisplayNames("en", { type: "region", fallback: "none" });
  // Codes that were withdrawn stand for others: UK for GB.
  return regionNames.of(code) !== undefined && Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`;
}
