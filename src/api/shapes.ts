import * as z from "zod";
import { isEmailAddress } from "../base/email-address.ts";
import { isObject } from "../base/object.ts";
import { durationPattern, parseDuration } from "../base/quantities.ts";
import { joinWords } from "../base/text.ts";
import { maxRetryDelayMs } from "./webhook-retries.ts";

/** Strings that are described where they are used. */
export const optionalString = z.string().optional();
export const nullableString = z.string().nullable();

/** Documents in JSON Schema that a field is required. */
export const requireField = (name: string) => ({ required: [name] });

/**
 * Documents in JSON Schema that exactly one of the fields is required. The handler reports errors in the framework's
 * wording.
 */
export const oneOf = (...names: readonly string[]) => ({ oneOf: names.map(requireField) });

/** Documents in JSON Schema that at least one of the fields is required. */
export const anyOf = (...names: readonly string[]) => ({ anyOf: names.map(requireField) });

/** Creates the issue of a rule such as `{speed} requires {mode}`. Command lines name the flags of the fields. */
export const createFieldIssue = (rule: string) => ({ message: rule.replace(/[{}]/g, ""), params: { rule } });

/** Requires exactly one of the fields, in validation and in JSON Schema. */
export const requireExactlyOne = <S extends z.ZodObject>(
  schema: S,
  ...names: readonly (keyof S["shape"] & string)[]
): S =>
  schema
    .refine(
      (value: Readonly<Record<string, unknown>>) => names.filter((name) => value[name] !== undefined).length === 1,
      createFieldIssue(`exactly one of ${joinWords(names.map((name) => `{${name}}`))} is required`),
    )
    .meta(oneOf(...names));

/**
 * A time in a response, ISO 8601 with an offset. Responses are not validated, because only the emulator's clock or
 * validated input is ever written there.
 */
export const timestamp = z.string().meta({ format: "date-time" });

/** An e-mail address, by the grammar that all of svc uses. */
export const email = z.stringFormat("email", isEmailAddress).meta({ format: "email" });

/** A duration greater than zero. `like` is the example in the error message. */
export const duration = (like: string) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, `must be a duration (${like.replace(" or ", ", ")})`)
    .refine((text) => parseDuration(text) !== 0, "must be longer than 0")
    .meta({ pattern: durationPattern });

/** The delays before the retries of a webhook. An empty list means no retries. */
export const retrySchedule = z
  .array(
    z
      .string()
      .refine((text) => (parseDuration(text) || Number.POSITIVE_INFINITY) <= maxRetryDelayMs, {
        error: ({ input }) => `must be a duration of at most 365 days (5m, PT5M), got ${JSON.stringify(input)}`,
      })
      .meta({ pattern: durationPattern }),
  )
  .max(100)
  .readonly();

const record: z.core.$constructor<z.ZodRecord> = z.ZodRecord;

/**
 * Zod's record drops the key `__proto__` without a check. This type treats it like any other key (DECISIONS.md, R1).
 */
const Dictionary = z.core.$constructor<z.ZodRecord>("Dictionary", (instance, definition) => {
  record.init(instance, definition);
  const parseOthers = instance._zod.parse;
  instance._zod.parse = (payload, context) => {
    const { value } = payload;
    if (!isObject(value) || !Object.hasOwn(value, "__proto__")) return parseOthers(payload, context);
    const members = Object.entries(value).map(([name, input]) => {
      // No declaration is asynchronous.
      const read = definition.valueType._zod.run({ value: input, issues: [] }, context) as z.core.ParsePayload;
      const key = definition.keyType._zod.run({ value: name, issues: [] }, context) as z.core.ParsePayload;
      payload.issues.push(...z.core.util.prefixIssues(name, [...key.issues, ...read.issues]));
      return [name, read.value] as const;
    });
    // `fromEntries` defines an own property, but an assignment would set the prototype.
    payload.value = Object.fromEntries(members);
    return payload;
  };
});

/** Creates the schema of an object with keys and values of one type each. */
export const dictionary = <Value extends z.ZodType>(
  valueType: Value,
  keyType = z.string(),
): z.ZodRecord<z.ZodString, Value> =>
  new Dictionary({ type: "record", keyType, valueType }) as unknown as z.ZodRecord<z.ZodString, Value>;

const maxListedKeys = 5;
const maxListedLength = 100;

interface ObjectDefinition {
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly catchall?: z.ZodType;
}

/** Rejects undeclared fields at any depth, except where the declaration accepts any field. */
export function rejectUnknownFields<S extends z.ZodType>(schema: S): S {
  const { def } = schema as z.ZodType & { readonly def: ObjectDefinition };
  const { shape, innerType } = def;
  // The copy inherits the description.
  const copy = (parts: object) => z.core.clone(schema, { ...def, ...parts } as never, { parent: true });
  if (innerType) return copy({ innerType: rejectUnknownFields(innerType) });
  if (!shape || def.catchall) return schema;
  const names = Object.keys(shape);
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code !== "unrecognized_keys") return undefined;
    const keys = issue.keys.slice(0, maxListedKeys).map((key) => JSON.stringify(key.slice(0, maxListedLength)));
    return `must not contain ${keys.join(", ")} (allowed: ${names.join(", ") || "none"})`;
  };
  const fields = Object.entries(shape).map(([name, field]) => [name, rejectUnknownFields(field)]);
  return copy({ shape: Object.fromEntries(fields), catchall: z.never(), error });
}

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
