import type { FlagSpec } from "../../derive/command-spec.ts";
import type { TreeGroup } from "../command-tree/tree.ts";
import { type DescribedCommand, getUnderlyingOperation } from "../parse/declaration.ts";
import { globalFlags } from "../parse/globals.ts";
import { environmentVariables } from "../process/environment.ts";
import { exitCodes } from "../process/exit.ts";

/** Formats the whole command line as data for programs: `svc help --json`. Fields are only added. */
export const buildManifest = (tree: readonly TreeGroup[], version: string) => ({
  name: "svc",
  version,
  global_flags: globalFlags.map(toFlagEntry),
  groups: tree.map(({ name, summary }) => ({ name, summary })),
  commands: tree.flatMap(({ commands }) => commands.map(toCommandEntry)),
  exit_codes: exitCodes,
  environment: environmentVariables.map(([names, description]) => ({ names: names.split(", "), description })),
});

function toCommandEntry(command: DescribedCommand) {
  const { words, summary, description, positionals, flags, examples } = command;
  const { operation, service, method, path, fields, body, output, confirm } = getUnderlyingOperation(command);
  return {
    command: words.join(" "),
    summary,
    ...(description === undefined ? {} : { description }),
    positionals: positionals.map(({ name, ...rest }) => ({ name: name.replaceAll("_", "-"), ...rest })),
    flags: flags.map(toFlagEntry),
    examples: examples.map(({ title, argv, stdin }) => ({
      title,
      argv: ["svc", ...argv],
      ...(stdin === undefined ? {} : { stdin }),
    })),
    ...(operation === undefined ? {} : { operation, service, method, path, fields, body, response: output, confirm }),
  };
}

/** `in` is the position of the value in the request. */
function toFlagEntry({ target, ...flag }: FlagSpec) {
  return { ...flag, ...(target && { in: target.in }) };
}
