import type { CommandDeclaration } from "../../derive/command-spec.ts";
import type { Context, Input } from "../command.ts";
import { mayAsk } from "../context.ts";
import { UsageError } from "../failure.ts";
import { missingFrom } from "./missing.ts";

/**
 * The input with everything that the command needs: a person at a terminal is asked for it, anybody else refused with
 * exit 2, before credentials or addresses are looked at (DECISIONS.md, L6, L7).
 */
export async function completed(declaration: CommandDeclaration, input: Input, context: Context): Promise<Input> {
  const missing = missingFrom(declaration, input);
  const refused = [
    ...missing.positionals.map(({ name }) => `<${name.replaceAll("_", "-")}>`),
    ...missing.flags.map(({ flag }) => `--${flag}`),
  ];
  if (refused.length + missing.body.length === 0) return input;
  if (mayAsk(context.host, context.globals)) {
    const { askFor } = await import("./ask-required.ts");
    return askFor(missing, input, context, declaration.words.join(" "));
  }
  if (refused.length === 0) return input;
  throw new UsageError(`${refused.join(", ")} required`, { hint: `See svc ${declaration.words.join(" ")} --help.` });
}
