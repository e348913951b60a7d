import * as z from "zod";
import { email } from "./shapes.ts";

/**
 * Expected form of a string. The emulator accepts any string, but reports a finding for a different form, because the
 * real service can reject it.
 */
export interface Expectation {
  /** Code of the finding. */
  readonly code: string;
  /** Text that follows the location of the string in the finding's detail. */
  readonly problem: string;
  matches(text: string): boolean;
}

const expectations = new WeakMap<z.ZodType, Expectation>();

/** Returns the expectation of a schema or of the schema that it wraps. */
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

/** Any string, with a finding if it is not an e-mail address. */
export const expectedEmail = createTextSchema({
  code: "not-an-email",
  problem: "is not an e-mail address",
  matches: (text) => email.safeParse(text.trim()).success,
});

/** Any string, with a finding if it is not the hash of an e-mail address (DECISIONS.md, R11). */
export const expectedEmailHash = createTextSchema({
  code: "not-an-email-hash",
  problem: "is not a SHA-256 in 64 lower-case hexadecimal digits",
  matches: (text) => /^[0-9a-f]{64}$/.test(text),
});

/** Any string, with a finding if it is not a country code. */
export const expectedCountry = createTextSchema(
  {
    code: "unknown-country",
    problem: "is not the code of a country (ISO 3166-1, two letters)",
    matches: isCountryCode,
  },
  z.string().min(1),
);

/** Regions that have a code but are not countries. */
const otherRegions = ["EU", "EZ", "UN", "QO", "XA", "XB", "ZZ"];
let regionNames: Intl.DisplayNames | undefined;

function isCountryCode(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || otherRegions.includes(code)) return false;
  regionNames ??= new Intl.DisplayNames("en", { type: "region", fallback: "none" });
  // Withdrawn codes are aliases of current ones, such as UK of GB.
  return regionNames.of(code) !== undefined && Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`;
}
