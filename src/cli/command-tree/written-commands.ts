import { lookupTable } from "../../base/object.ts";
import type { CommandSpec } from "../../derive/command-spec.ts";
import type { Command } from "../command.ts";
import type { DeclaredCommand, ListedCommand } from "../parse/declaration.ts";

type CommandLoader = () => Promise<{ readonly commands: readonly Command[] }>;

const loadAppCommands: CommandLoader = () => import("../commands/apps.ts");
const loadDeliveryCommands: CommandLoader = () => import("../commands/webhooks/deliveries.ts");

/** Modules of hand-written commands by group. They replace or extend the derived commands with the same words. */
export const writtenModules = lookupTable<readonly CommandLoader[]>({
  dev: [() => import("../commands/dev.ts")],
  run: [() => import("../commands/run.ts")],
  tour: [() => import("../commands/tour.ts")],
  emulator: [
    () => import("../commands/emulator/start.ts"),
    () => import("../commands/emulator/exec.ts"),
    () => import("../commands/emulator/env.ts"),
    () => import("../commands/emulator/open.ts"),
    () => import("../commands/emulator/status.ts"),
    () => import("../commands/emulator/wait-for.ts"),
    () => import("../commands/emulator/trace.ts"),
    () => import("../commands/emulator/access.ts"),
    () => import("../commands/emulator/requests.ts"),
    loadDeliveryCommands,
    () => import("../commands/emulator/state.ts"),
  ],
  doctor: [() => import("../commands/doctor.ts")],
  contracts: [
    () => import("../commands/contracts/create.ts"),
    () => import("../commands/contracts/reconcile.ts"),
    () => import("../commands/contracts/send.ts"),
  ],
  intake: [() => import("../commands/intake.ts")],
  files: [() => import("../commands/files.ts")],
  webhooks: [
    () => import("../commands/webhooks/listen.ts"),
    () => import("../commands/webhooks/create.ts"),
    () => import("../commands/webhooks/list.ts"),
    () => import("../commands/webhooks/trigger.ts"),
    () => import("../commands/webhooks/replay.ts"),
    () => import("../commands/webhooks/why.ts"),
    loadDeliveryCommands,
    () => import("../commands/webhooks/signatures.ts"),
    () => import("../commands/webhooks/certify.ts"),
  ],
  verify: [() => import("../commands/verify/record.ts"), () => import("../commands/verify/replay.ts")],
  router: [
    () => import("../commands/router/mapping.ts"),
    () => import("../commands/router/offboard.ts"),
    () => import("../commands/router/resolve.ts"),
    () => import("../commands/router/jobs.ts"),
  ],
  auth: [() => import("../commands/auth/sign-ins.ts"), () => import("../commands/auth/certify.ts")],
  "chat-a": [loadAppCommands],
  "chat-b": [loadAppCommands],
  "crm-a": [loadAppCommands],
  "crm-b": [loadAppCommands],
  billing: [loadAppCommands],
  api: [() => import("../commands/api.ts")],
  config: [() => import("../commands/config.ts")],
  openapi: [() => import("../commands/openapi.ts")],
  completion: [() => import("../commands/completion.ts")],
  agent: [() => import("../commands/agent.ts")],
  mcp: [() => import("../commands/mcp.ts")],
});

/** Loads the hand-written commands of a group, with the position of their module in its list. */
export async function loadWrittenCommands(group: string): Promise<readonly (readonly [Command, module: number])[]> {
  const modules = await Promise.all((writtenModules[group] ?? []).map((load) => load()));
  return modules.flatMap(({ commands }, module) =>
    commands.filter(({ words }) => words[0] === group).map((command) => [command, module] as const),
  );
}

/** Loads a command from its module only. */
export async function loadWrittenCommand(words: readonly string[], module: number | undefined): Promise<Command> {
  const line = words.join(" ");
  const commands = (await writtenModules[words[0]!]?.[module ?? -1]?.())?.commands ?? [];
  const match = commands.find((command) => command.words.join(" ") === line);
  if (!match) throw new Error(`Command ${line} not found in this build; rebuild with npm run build`);
  return match;
}

const commandsByGroup = new Map<string, Promise<readonly ListedCommand[]>>();

/** Composes the commands of a group from the registry and the hand-written commands, for development and the build. */
export function composeCommands(group: string): Promise<readonly ListedCommand[]> {
  const commands = commandsByGroup.get(group) ?? composeGroup(group);
  commandsByGroup.set(group, commands);
  return commands;
}

async function composeGroup(group: string): Promise<readonly ListedCommand[]> {
  const { deriveSpecs } = await import("../../derive/specs.ts");
  const specs = deriveSpecs();
  const findSpec = (line: string) => specs[line.split(" ", 1)[0]!]?.find(({ words }) => words.join(" ") === line);
  const written = (await loadWrittenCommands(group)).map(([command, module]) => {
    const line = command.words.join(" ");
    const base = typeof command.extendsDerived === "string" ? command.extendsDerived : line;
    return { line, command: { ...toDeclaredCommand(command, findSpec(base)), module } };
  });
  const replaced = new Set(written.map(({ line }) => line));
  const derived = (specs[group] ?? []).filter(({ words }) => !replaced.has(words.join(" ")));
  return [...written.map(({ command }) => command), ...derived].map((command) => ({
    words: command.words,
    loadDeclaration: () => command,
  }));
}

/** A hand-written command replaces the derived command with the same words. */
function toDeclaredCommand(
  { run: _, readsDerived: __, ...command }: Command,
  spec: CommandSpec | undefined,
): DeclaredCommand {
  const { summary = spec!.summary } = command;
  if (!spec || !command.extendsDerived) return { ...command, summary, spec };
  const flags = new Set(command.flags.map(({ flag }) => flag));
  const positionals = new Set(command.positionals.map(({ name }) => name));
  return {
    ...command,
    summary,
    spec,
    ...(command.description === undefined && spec.description !== undefined ? { description: spec.description } : {}),
    positionals: [...command.positionals, ...spec.positionals.filter(({ name }) => !positionals.has(name))],
    flags: [...command.flags, ...spec.flags.filter(({ flag }) => !flags.has(flag))],
    examples: [
      ...command.examples,
      ...spec.examples.map((example) => ({
        ...example,
        argv: [...command.words, ...example.argv.slice(spec.words.length)],
      })),
    ],
  };
}
