import type * as z from "zod";

const given = (value: object, names: readonly string[]): number =>
  names.filter((name) => (value as Readonly<Record<string, unknown>>)[name] !== undefined).length;
const required = (name: string) => ({ required: [name] });

/** For readers alone, where the handler refuses in the words of the framework: one of these fields, and only one. */
export const oneOf = (...names: readonly string[]) => ({ oneOf: names.map(required) });

/** As oneOf, but several will do. */
export const anyOf = (...names: readonly string[]) => ({ anyOf: names.map(required) });

/** Of these fields one must be there, and only one; the documents say so too. */
export const exactlyOne = <S extends z.ZodObject>(schema: S, ...names: readonly (keyof S["shape"] & string)[]): S =>
  schema
    .refine((value) => given(value, names) === 1, `exactly one of ${listed(names)} is required`)
    .meta(oneOf(...names));

/** Of these fields one must be there, or several. */
export const atLeastOne = <S extends z.ZodObject>(schema: S, ...names: readonly (keyof S["shape"] & string)[]): S =>
  schema.refine((value) => given(value, names) > 0, `${names.join(" or ")} is required`).meta(anyOf(...names));

/** These two fields cannot be there at once. */
export const mutuallyExclusive = <S extends z.ZodObject>(
  schema: S,
  one: keyof S["shape"] & string,
  other: keyof S["shape"] & string,
): S =>
  schema
    .refine((value) => given(value, [one, other]) < 2, `${other} cannot be used with ${one}`)
    .meta({ not: { required: [one, other] } });

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
