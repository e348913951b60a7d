import type { FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import type { Context } from "../command.ts";
import type { CommandInput, MissingInput } from "../parse/declaration.ts";
import { convertValue, findAddressProblem } from "../parse/values.ts";
import { askChoice, askSecret, askSeveral, askText, askYesNo, type PromptValidator } from "../prompt/ask.ts";
import { findChoices } from "../prompt/choices.ts";

/**
 * Prompts the user for the missing input of `command`, one value at a time. Callers check first that prompts are
 * allowed.
 */
export async function askForMissing(
  missing: MissingInput,
  input: CommandInput,
  context: Context,
  command: string,
): Promise<CommandInput> {
  const positionals: Record<string, string | readonly string[] | undefined> = { ...input.positionals };
  for (const one of missing.positionals) {
    const answer = String(await promptForInput(one.name, one, context, command));
    positionals[one.name] = one.variadic ? answer.split(/\s+/).filter(Boolean) : answer;
  }
  const flags: Record<string, unknown> = { ...input.flags };
  for (const one of [...missing.flags, ...missing.body]) {
    const answer = await promptForInput(one.target?.name ?? one.flag, one, context, command);
    if (typeof answer === "object") {
      flags[one.flag] = answer.map((each) =>
        one.type === "switch" ? each : convertValue(each, one.type, one.choices),
      );
      continue;
    }
    const value =
      typeof answer === "string" && one.type !== "switch" ? convertValue(answer, one.type, one.choices) : answer;
    flags[one.flag] = one.repeatable ? [value] : value;
  }
  return { ...input, positionals, flags };
}

type InputSpec = PositionalSpec | FlagSpec;

async function promptForInput(
  field: string,
  spec: InputSpec,
  context: Context,
  command: string,
): Promise<string | boolean | readonly string[]> {
  const { host, signal } = context;
  const question = formatQuestion(field, spec);
  const type = spec.type ?? "text";
  if (type === "boolean" || type === "switch") return askYesNo(question, host, signal);
  const choices = await findChoices(field, spec.choices, context, command);
  if (choices && choices.length > 0) {
    return "repeatable" in spec && spec.repeatable && choices.length > 1
      ? askSeveral(question, choices, true, host, signal)
      : askChoice(question, choices, host, signal);
  }
  if (/secret|password/.test(field) && !/file$/.test(field)) return askSecret(question, host, signal);
  return askText(question, host, signal, createPromptValidator(field, type, spec.choices));
}

const formatQuestion = (field: string, { description }: InputSpec): string => {
  const name = field.replaceAll("_", " ").replaceAll("-", " ");
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return description && description.toLowerCase() !== name ? `${title} (${description}):` : `${title}:`;
};

/** The prompt rejects values that the command would reject later. */
const createPromptValidator =
  (field: string, type: Exclude<FlagSpec["type"], "switch">, choices: readonly string[] | undefined): PromptValidator =>
  (text) => {
    if (text.trim() === "") return "A value is required (press Ctrl-C to cancel).";
    try {
      convertValue(text, type, choices);
      return (field === "url" && findAddressProblem(text)) || true;
    } catch (error) {
      return `This ${(error as Error).message}.`;
    }
  };
