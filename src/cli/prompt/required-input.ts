import type { CommandDeclaration } from "../../derive/command-spec.ts";
import type { CommandInput, Context } from "../command.ts";
import { canPrompt } from "../context.ts";
import type { DeclaredCommand } from "../declared-command.ts";
import { createMissingFieldsError, type InputRequiredError } from "../failure.ts";
import { findMissingInput } from "./missing-input.ts";

/**
 * The input with everything that the command needs: a person at a terminal is asked for it, anybody else refused with
 * exit 2, before credentials or addresses are looked at (DECISIONS.md, L6, L7).
 */
export async function completeInput(
  declaration: DeclaredCommand,
  input: CommandInput,
  context: Context,
): Promise<CommandInput> {
  const missing = findMissingInput(declaration, input);
  const refused = [
    ...missing.positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`),
    ...missing.flags.map(({ flag }) => `--${flag}`),
  ];
  if (refused.length + missing.body.length === 0) return input;
  if (canPrompt(context.host, context.globals)) {
    await knowWhere(declaration, input, context);
    const { askForMissing } = await import("./ask-required.ts");
    return askForMissing(missing, input, context, declaration.words.join(" "));
  }
  if (refused.length === 0) return input;
  throw createMissingFieldsError(refused, { hint: `See svc ${declaration.words.join(" ")} --help.` });
}

/** Nobody answers questions for a service of which it is not known where it is. */
async function knowWhere(declaration: DeclaredCommand, { flags }: CommandInput, context: Context): Promise<void> {
  const service = ("operation" in declaration ? declaration : declaration.spec)?.service;
  if (flags["dry-run"] === true) return;
  if (service === "router" || service === "contracts") await context.target(service);
}

/** The input with what a command found missing while it looked at it, asked for in the same way. */
export async function supplementInput(
  declaration: CommandDeclaration,
  input: CommandInput,
  required: InputRequiredError,
  context: Context,
): Promise<CommandInput> {
  const positionals = declaration.positionals.filter(({ name }) => name === required.input);
  const flags = declaration.flags.filter(({ flag }) => flag === required.input);
  if (positionals.length + flags.length === 0 || !canPrompt(context.host, context.globals)) throw required;
  const { askForMissing } = await import("./ask-required.ts");
  return askForMissing({ positionals, flags, body: [] }, input, context, declaration.words.join(" "));
}
