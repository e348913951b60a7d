import { svcVersion } from "../../base/version.ts";
import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { environmentVariables } from "../process/environment.ts";
import { exitCodes } from "../process/exit.ts";
import { type DescribedCommand, getUnderlyingOperation } from "./declaration.ts";
import { globalFlags } from "./globals.ts";

export interface CommandTreeGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDeclaration[];
}

/** Formats the whole command line as data for programs: `svc help --json`. Later versions only add fields. */
export const buildManifest = (tree: readonly CommandTreeGroup[]) => ({
  name: "svc",
  version: svcVersion,
  global_flags: globalFlags.map(toFlagEntry),
  groups: tree.map(({ name, summary }) => ({ name, summary })),
  commands: tree.flatMap(({ commands }) => commands.map(toCommandEntry)),
  exit_codes: exitCodes,
  environment: environmentVariables.map(([names, description]) => ({ names: names.split(", "), description })),
});

export type Manifest = ReturnType<typeof buildManifest>;

function toCommandEntry(command: DescribedCommand) {
  const { words, summary, description, positionals, flags, examples } = command;
  const { id, service, method, path, fields, request, output, confirm } = getUnderlyingOperation(command);
  const operation = { operation: id, service: service?.name, method, path, fields, body: request?.body?.kind };
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
    ...(id === undefined ? {} : { ...operation, response: output, confirm }),
  };
}

function toFlagEntry({ target, ...flag }: FlagSpec) {
  return { ...flag, ...(target && { in: target.in }) };
}
