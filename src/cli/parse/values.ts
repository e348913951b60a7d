import { findNearest, formatSuggestion } from "../../base/text.ts";
import type { FlagSpec, PositionalSpec, ValueType } from "../../derive/command-spec.ts";
import { UsageError } from "../process/failure.ts";

const createValueError = (label: string, rule: string, value: string, hint?: string): UsageError =>
  new UsageError(`${label} must be ${rule}, got "${value}"`, { hint });

type NumberBounds = Pick<FlagSpec, "min" | "max">;

/** Parses the value of one word. A choice can be in any case. Throws a UsageError that begins with the label. */
export function convertValue(
  label: string,
  word: string,
  type: ValueType,
  choices: readonly string[] | undefined,
  bounds: NumberBounds = {},
): unknown {
  const text = choices ? parseChoice(label, word, choices) : word;
  switch (type) {
    case "integer":
      if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
        throw createValueError(label, "a whole number", text);
      }
      return requireInRange(label, Number(text), bounds);
    case "number":
      if (text.trim() === "" || !Number.isFinite(Number(text))) throw createValueError(label, "a number", text);
      if (/^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)))
        throw createValueError(label, "a number of at most 15 digits", text);
      return requireInRange(label, Number(text), bounds);
    default:
      return text;
  }
}

function parseChoice(label: string, word: string, choices: readonly string[]): string {
  if (choices.includes(word)) return word;
  const match = choices.find((choice) => choice.toLowerCase() === word.toLowerCase());
  if (match === undefined) {
    const isLong = choices.length > maxShownChoices;
    const rule = isLong
      ? `one of ${choices.length} values`
      : new Intl.ListFormat("en-GB", { type: "disjunction" }).format([...choices].sort());
    // A short list of choices is printed completely, because the nearest choice may not be the intended one.
    const hasHint = isLong || findNearest(word, choices) !== undefined;
    throw createValueError(label, rule, word, hasHint ? formatSuggestion(word, choices) : undefined);
  }
  return match;
}

const maxShownChoices = 6;

function requireInRange(label: string, number: number, { min, max }: NumberBounds): number {
  if ((min ?? number) <= number && number <= (max ?? number)) return number;
  const rule = max === undefined ? `at least ${min}` : `a number from ${min} to ${max}`;
  throw createValueError(label, rule, String(number));
}

/** Returns the contract number of a composite ID, so that T-12 is accepted as 12. */
export const extractContractNumber = (name: string, text: string, type: FlagSpec["type"]): string =>
  (type === "integer" && /^contract(?:[_-]ids?)?$/.test(name) && /^[TH]-(\d+)$/.exec(text)?.[1]) || text;

/** Converts the word of a positional, or all words of a variadic one. Throws UsageError. */
export const parsePositional = (spec: PositionalSpec, words: string | readonly string[] | undefined): unknown =>
  typeof words === "string" ? parseWord(spec, words) : words?.map((word, index) => parseWord(spec, word, index));

function parseWord({ name, type = "text", choices }: PositionalSpec, text: string, index = 0): unknown {
  const label = `<${name.replaceAll("_", "-")}>`;
  if (text.trim() === "" && type === "text" && index === 0 && name !== "value") {
    throw new UsageError(`${label} must not be empty`);
  }
  const [, number] = (name === "intake_id" && /^I-(\d+)$/.exec(text)) || [];
  if (number) throw createValueError(label, "a whole number", text, `Did you mean ${Number(number)}?`);
  return convertValue(label, extractContractNumber(name, text, type), type, choices);
}

/** Selects the given values of the named flags, for flags that are also fields of a query. */
export const pickGiven = <Values extends object, Name extends keyof Values & string>(
  values: Values,
  names: readonly Name[],
): { readonly [Given in Name]?: Values[Given] } =>
  Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))) as {
    [Given in Name]?: Values[Given];
  };

/** Explains why a string is not a valid receiver address. Returns undefined for a valid one. */
export function findAddressProblem(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return "The address has no scheme. Begin it with https://, or with http:// on this machine.";
  }
  const port = Number(/^[^/]*\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(text)?.[1] ?? 0);
  if (port > 65_535) return `Port ${port} is too large. The maximum is 65535.`;
  if (!URL.canParse(text)) return "The address is not a valid URL (https://hooks.example/contracts).";
  if (/[\s\p{Cc}]/u.test(text)) return "The address must not contain a blank or a control character.";
  const { protocol, username, password } = new URL(text);
  if (username || password) return "The address must not contain a user name or a password.";
  return protocol === "http:" || protocol === "https:" ? undefined : `Webhooks require https://, not ${protocol}//.`;
}

/** Explains a rejected address if the service only reports that https is required. */
export function explainRejectedAddress(text: string): string | undefined {
  const problem = findAddressProblem(text);
  if (problem !== undefined || !text.toLowerCase().startsWith("http:")) return problem;
  const { hostname } = new URL(text);
  return `http:// is allowed only for a receiver on the emulator's machine. Use https://, or restart the emulator with --webhook-allow ${hostname}.`;
}
