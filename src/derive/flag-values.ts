import type { FlagSpec, PositionalSpec, ValueType } from "./command-spec.ts";

/** What the text of one value becomes (src/cli/parse/values.ts). */
type ValueOf<Type extends ValueType | "switch"> = Type extends "integer" | "number"
  ? number
  : Type extends "boolean" | "switch"
    ? boolean
    : Type extends "scalar"
      ? string | number
      : string;

type OneOf<Spec extends { readonly type: ValueType | "switch" }> = Spec extends {
  readonly choices: readonly (infer Choice)[];
}
  ? Choice
  : ValueOf<Spec["type"]>;

/** The part of a flag's declaration that its type follows from. */
export type TypedFlag = Pick<FlagSpec, "flag" | "type" | "repeatable" | "optionalValue" | "choices">;

/** The values of declared flags, by their names. Any may be missing: a default is for help alone. */
export type FlagValues<Flags extends readonly TypedFlag[]> = {
  readonly [Spec in Flags[number] as Spec["flag"]]?: Spec extends { readonly repeatable: true }
    ? readonly OneOf<Spec>[]
    : Spec extends { readonly optionalValue: true }
      ? OneOf<Spec> | true
      : OneOf<Spec>;
};

/** The same of a positional. */
export type TypedPositional = Pick<PositionalSpec, "name" | "optional" | "variadic" | "choices">;

type WordOf<Spec extends TypedPositional> = Spec extends { readonly variadic: true }
  ? readonly string[]
  : Spec extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : string;

/** The values of declared positionals, by their names. Who does not call one optional gets it, or is not run. */
export type PositionalValues<Positionals extends readonly TypedPositional[]> = {
  readonly [Spec in Positionals[number] as Spec["name"]]:
    | WordOf<Spec>
    | (Spec extends { readonly optional: true } ? undefined : never);
};
