import * as z from "zod";
import { durationPattern, parseDuration } from "../base/duration.ts";
import { isEmailAddress } from "../base/email-address.ts";
import { isObject } from "../base/object.ts";
import { maxRetryDelayMs } from "./webhook-retries.ts";

const countGiven = (value: object, names: readonly string[]): number =>
  names.filter((name) => (value as Readonly<Record<string, unknown>>)[name] !== undefined).length;
const requireField = (name: string) => ({ required: [name] });

/** For readers alone, where the handler rejects in the words of the framework: one of these fields, and only one. */
export const oneOf = (...names: readonly string[]) => ({ oneOf: names.map(requireField) });

/** As oneOf, but several will do. */
export const anyOf = (...names: readonly string[]) => ({ anyOf: names.map(requireField) });

/** Of these fields one must be there, and only one; the documents say so too. */
export const exactlyOne = <S extends z.ZodObject>(schema: S, ...names: readonly (keyof S["shape"] & string)[]): S =>
  schema
    .refine((value) => countGiven(value, names) === 1, `exactly one of ${joinNames(names)} is required`)
    .meta(oneOf(...names));

/** Of these fields one must be there, or several. */
export const atLeastOne = <S extends z.ZodObject>(schema: S, ...names: readonly (keyof S["shape"] & string)[]): S =>
  schema.refine((value) => countGiven(value, names) > 0, `${names.join(" or ")} is required`).meta(anyOf(...names));

/** These two fields cannot be there at once. */
export const mutuallyExclusive = <S extends z.ZodObject>(
  schema: S,
  one: keyof S["shape"] & string,
  other: keyof S["shape"] & string,
): S =>
  schema
    .refine((value) => countGiven(value, [one, other]) < 2, `${other} cannot be used with ${one}`)
    .meta({ not: { required: [one, other] } });

const joinNames = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/**
 * A moment in a response, ISO 8601 with an offset. The documents say so; it is not checked again on its way out, since
 * nothing but the emulator's clock, or a moment that was checked on its way in, is ever written there.
 */
export const timestamp = z.string().meta({ format: "date-time" });

/** An e-mail address, by the grammar that every part of svc has. */
export const email = z.stringFormat("email", isEmailAddress).meta({ format: "email" });

/** A length of time that is more than none; the rejection shows such as `like`. */
export const duration = (like: string) =>
  z
    .string()
    .refine((text) => (parseDuration(text) ?? 0) > 0, `must be a duration (${like.replace(" or ", ", ")})`)
    .meta({ pattern: durationPattern });

/** The delays before the retries of a webhook. An empty list: none. */
export const retrySchedule = z
  .array(
    duration("5m or PT5M").refine((text) => (parseDuration(text) ?? 0) <= maxRetryDelayMs, "must be at most 365 days"),
  )
  .max(100)
  .readonly();

const record: z.core.$constructor<z.ZodRecord> = z.ZodRecord;

/** Zod's own record leaves the key `__proto__` out, unchecked: here it is a key like any other (DECISIONS.md, R1). */
const Dictionary = z.core.$constructor<z.ZodRecord>("Dictionary", (instance, definition) => {
  record.init(instance, definition);
  const parseOthers = instance._zod.parse;
  instance._zod.parse = (payload, context) => {
    const { value } = payload;
    if (!isObject(value) || !Object.hasOwn(value, "__proto__")) return parseOthers(payload, context);
    const members = Object.entries(value).map(([name, input]) => {
      // Nothing in a declaration is asynchronous.
      const read = definition.valueType._zod.run({ value: input, issues: [] }, context) as z.core.ParsePayload;
      payload.issues.push(...z.core.util.prefixIssues(name, read.issues));
      return [name, read.value] as const;
    });
    // `fromEntries` defines the key as its own, where an assignment would set the prototype.
    payload.value = Object.fromEntries(members);
    return payload;
  };
});

/** An object with arbitrary keys, and values of one kind. */
export const dictionary = <Value extends z.ZodType>(valueType: Value): z.ZodRecord<z.ZodString, Value> =>
  new Dictionary({ type: "record", keyType: z.string(), valueType }) as unknown as z.ZodRecord<z.ZodString, Value>;
