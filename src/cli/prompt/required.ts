import type { CommandDeclaration } from "../../derive/command-spec.ts";
import type { Context, Input } from "../command.ts";
import { mayAsk } from "../context.ts";
import type { Declared } from "../declared.ts";
import { type InputRequired, missingFields } from "../failure.ts";
import { missingFrom } from "./missing.ts";

/**
 * The input with everything that the command needs: a person at a terminal is asked for it, anybody else refused with
 * exit 2, before credentials or addresses are looked at (DECISIONS.md, L6, L7).
 */
export async function completed(declaration: Declared, input: Input, context: Context): Promise<Input> {
  const missing = missingFrom(declaration, input);
  const refused = [
    ...missing.positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`),
    ...missing.flags.map(({ flag }) => `--${flag}`),
  ];
  if (refused.length + missing.body.length === 0) return input;
  if (mayAsk(context.host, context.globals)) {
    await knowWhere(declaration, input, context);
    const { askFor } = await import("./ask-required.ts");
    return askFor(missing, input, context, declaration.words.join(" "));
  }
  if (refused.length === 0) return input;
  throw missingFields(refused, { hint: `See svc ${declaration.words.join(" ")} --help.` });
}

/** Nobody answers questions for a service of which it is not known where it is. */
async function knowWhere(declaration: Declared, { flags }: Input, context: Context): Promise<void> {
  const service = ("operation" in declaration ? declaration : declaration.spec)?.service;
  if (flags["dry-run"] === true) return;
  if (service === "router" || service === "contracts") await context.target(service);
}

/** The input with what a command found missing while it looked at it, asked for in the same way. */
export async function supplemented(
  declaration: CommandDeclaration,
  input: Input,
  required: InputRequired,
  context: Context,
): Promise<Input> {
  const positionals = declaration.positionals.filter(({ name }) => name === required.input);
  const flags = declaration.flags.filter(({ flag }) => flag === required.input);
  if (positionals.length + flags.length === 0 || !mayAsk(context.host, context.globals)) throw required;
  const { askFor } = await import("./ask-required.ts");
  return askFor({ positionals, flags, body: [] }, input, context, declaration.words.join(" "));
}
