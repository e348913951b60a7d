import { didYouMean } from "../../base/suggest.ts";
import type { FlagSpec, ValueType } from "../../derive/command-spec.ts";
import { UsageError } from "../failure.ts";

/** A word that does not fit where it stands. Who asked for the value names the place. */
export class InvalidValue extends Error {
  override readonly name = "InvalidValue";
}

type Bounds = Pick<FlagSpec, "least" | "most">;

/** The value of one word; one of those to choose from may be written in any case. Throws InvalidValue. */
export function convert(
  word: string,
  type: ValueType,
  choices: readonly string[] | undefined,
  bounds: Bounds = {},
): unknown {
  const text = choices ? choiceOf(word, choices) : word;
  switch (type) {
    case "integer":
      if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
        throw new InvalidValue("A whole number is needed.");
      }
      return within(Number(text), bounds);
    case "number":
      if (text.trim() === "" || !Number.isFinite(Number(text))) throw new InvalidValue("A number is needed.");
      if (/^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)))
        throw new InvalidValue("It has too many digits.");
      return within(Number(text), bounds);
    case "boolean":
      if (text !== "true" && text !== "false") throw new InvalidValue("true or false is needed.");
      return text === "true";
    case "scalar":
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case "text":
      return text;
  }
}

function choiceOf(word: string, choices: readonly string[]): string {
  if (choices.includes(word)) return word;
  const alike = choices.find((choice) => choice.toLowerCase() === word.toLowerCase());
  if (alike === undefined) throw new InvalidValue(notAmong(word, choices));
  return alike;
}

/** As many as are read at a glance are all named: the nearest need not be the one that is meant. */
const few = 6;

function notAmong(text: string, choices: readonly string[]): string {
  const advice = didYouMean(text, choices);
  const isListed = choices.length > few || advice.startsWith("Known");
  return isListed ? advice : `${advice} Known: ${[...choices].sort().join(", ")}.`;
}

function within(number: number, { least, most }: Bounds): number {
  if ((least ?? number) <= number && number <= (most ?? number)) return number;
  const range = most === undefined ? `at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidValue(`A number ${range} is needed.`);
}

/** Where a contract's number is wanted, its composite id names it as well: T-12 is 12. */
export const numberIn = (name: string, text: string, type: FlagSpec["type"]): string =>
  (type === "integer" && /^contract(?:[_-]ids?)?$/.test(name) && /^[TH]-(\d+)$/.exec(text)?.[1]) || text;

/** The value of a positional. Throws UsageError. */
export function positionalValue(
  name: string,
  text: string,
  type: ValueType,
  choices: readonly string[] | undefined,
): unknown {
  try {
    return convert(numberIn(name, text, type), type, choices);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const [, number] = (name === "intake_id" && /^I-(\d+)$/.exec(text)) || [];
    throw new UsageError(`<${name.replaceAll("_", "-")}>: "${text}" is invalid. ${error.message}`, {
      hint: number && `Intakes are named by their numbers here: did you mean ${Number(number)}?`,
    });
  }
}
