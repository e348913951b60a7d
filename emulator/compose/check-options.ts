import * as z from "zod";
import { dictionary, retrySchedule } from "../../src/api/shapes.ts";
import { formatSuggestion } from "../../src/base/text.ts";
import {
  emulatorOptions,
  type OptionCheck,
  type OptionDeclaration,
  type OptionName,
} from "../../src/derive/emulator-options.ts";
import { isAddressRange } from "../http/trusted-proxies.ts";
import type { EmulatorOptions } from "../published.d.ts";
import { InvalidOptionsError } from "./options.ts";

const checkEach = (findProblems: (value: unknown) => readonly string[]): z.ZodType =>
  z.unknown().check((context) => {
    for (const message of findProblems(context.value))
      context.issues.push({ code: "custom", input: context.value, message });
  });

const addressRange = checkEach((text) =>
  isAddressRange(String(text)) ? [] : ["must be an address or a range (10.0.0.0/8)"],
);

const schemas = {
  boolean: z.boolean(),
  function: checkEach((value) => (typeof value === "function" ? [] : ["must be a function"])),
  signal: z.instanceof(AbortSignal),
  url: z.url(),
  ranges: z.array(addressRange),
  "retry schedule": retrySchedule,
};

/** Returns the schema of a declared check. */
function toSchema(check: OptionCheck): z.ZodType {
  switch (check.is) {
    case "text":
      return z.string().min(check.min ?? 0);
    case "integer":
    case "number": {
      const { is, min, above, max } = check;
      let schema: z.ZodNumber = is === "integer" ? z.int() : z.number();
      if (min !== undefined) schema = schema.min(min);
      if (above !== undefined) schema = schema.gt(above);
      return max === undefined ? schema : schema.max(max);
    }
    case "choice":
      return z.enum(check.names);
    case "list":
      return z.array(toSchema(check.of));
    case "dictionary":
      return dictionary(toSchema(check.of));
    case "object":
      return z.strictObject(mapValues(check.of, toSchema)).partial();
    case "custom":
      return checkEach(check.findProblems);
    default:
      return schemas[check.is];
  }
}

const mapValues = <Value, Result>(object: Readonly<Record<string, Value>>, map: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));

/** The type of the values that pass a check. A custom check accepts any type. */
type CheckedValue<Check> = Check extends { readonly is: "boolean" }
  ? boolean
  : Check extends { readonly is: "text" | "url" }
    ? string
    : Check extends { readonly is: "number" | "integer" }
      ? number
      : Check extends { readonly is: "choice"; readonly names: readonly (infer Name)[] }
        ? Name
        : Check extends { readonly is: "list"; readonly of: infer Item }
          ? readonly CheckedValue<Item>[]
          : Check extends { readonly is: "object"; readonly of: infer Members }
            ? { readonly [Name in keyof Members]?: CheckedValue<Members[Name]> }
            : // biome-ignore lint/suspicious/noExplicitAny: neither more nor less than the published type.
              any;

type IsSame<A, B> = [A, B] extends [B, A] ? true : false;

/** Names of the options that are not published, not declared, or published with another type. */
type UnmatchedOption = {
  [Name in OptionName | keyof EmulatorOptions]: Name extends OptionName & keyof EmulatorOptions
    ? IsSame<CheckedValue<(typeof emulatorOptions)[Name]["check"]>, NonNullable<EmulatorOptions[Name]>> extends true
      ? never
      : Name
    : Name;
}[OptionName | keyof EmulatorOptions];

/** An option that differs from the published types is a compile error here. */
const declaredOptions: [UnmatchedOption] extends [never] ? typeof emulatorOptions : UnmatchedOption = emulatorOptions;

const Options = z
  .strictObject(
    mapValues(declaredOptions as Readonly<Record<string, OptionDeclaration>>, ({ check }) => toSchema(check)),
  )
  .partial();

/** Throws InvalidOptionsError, which lists all problems, because a misspelled option would have no effect. */
export function checkOptions(options: EmulatorOptions): void {
  const { error } = Options.safeParse(options, { jitless: true });
  if (error) throw new InvalidOptionsError(`startEmulator: ${error.issues.flatMap(describeIssue).join("; ")}`);
  const { store, schema, file, ephemeral } = options;
  if (store !== undefined && (file !== undefined || ephemeral))
    throw new InvalidOptionsError(`startEmulator: store cannot be used with ${ephemeral ? "ephemeral" : "file"}`);
  if (schema !== undefined && store === undefined)
    throw new InvalidOptionsError("startEmulator: schema requires store");
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const { path, message } = issue;
  if (issue.code !== "unrecognized_keys")
    return [`${path.join(".")}${message.startsWith("must ") ? "" : ":"} ${message}`];
  const knownNames = Object.keys(issue.path[0] === "clock" ? declaredOptions.clock.check.of : declaredOptions);
  return issue.keys.map(
    (key) => `unknown option "${[...issue.path, key].join(".")}". ${formatSuggestion(key, knownNames)}`,
  );
}
