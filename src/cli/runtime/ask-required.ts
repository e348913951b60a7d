import type { FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import type { Context } from "../command.ts";
import type { CommandInput, MissingInput } from "../parse/declaration.ts";
import { convertValue, findAddressProblem } from "../parse/values.ts";
import { askChoice, askSecret, askSeveral, askText, askYesNo, type PromptValidator } from "../prompt/ask.ts";
import { findChoices } from "../prompt/choices.ts";

/** Prompts for the missing input of `command`. Callers check first that prompts are allowed. */
export async function askForMissing(
  missing: MissingInput,
  input: CommandInput,
  context: Context,
  command: string,
): Promise<CommandInput> {
  const positionals: Record<string, string | readonly string[] | undefined> = { ...input.positionals };
  for (const positional of missing.positionals) {
    const answer = String(await promptForInput(positional.name, positional, context, command));
    positionals[positional.name] = positional.variadic ? answer.split(/\s+/).filter(Boolean) : answer;
  }
  const flags: Record<string, unknown> = { ...input.flags };
  for (const spec of [...missing.flags, ...missing.body]) {
    const { flag, type, choices, repeatable } = spec;
    const answer = await promptForInput(spec.target?.name ?? flag, spec, context, command);
    const values = [answer].flat().map((value) => {
      return typeof value === "string" && type !== "switch" ? convertValue(value, type, choices) : value;
    });
    flags[flag] = repeatable || typeof answer === "object" ? values : values[0];
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
  const question = formatQuestion(field, spec);
  const type = spec.type ?? "text";
  if (type === "boolean" || type === "switch") return askYesNo(question, context);
  const choices = await findChoices(field, spec.choices, context, command);
  if (choices && choices.length > 0) {
    return "repeatable" in spec && spec.repeatable && choices.length > 1
      ? askSeveral(question, choices, true, context)
      : askChoice(question, choices, context);
  }
  if (/secret|password/.test(field) && !/file$/.test(field)) return askSecret(question, context);
  return askText(question, context, createPromptValidator(field, type, spec.choices));
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
