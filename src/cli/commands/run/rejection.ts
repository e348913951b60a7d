import { lookupTable } from "../../../base/object.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { type DeclaredCommand, getUnderlyingOperation, type InterpretedLine } from "../../parse/declaration.ts";
import { explainUserOnly } from "../mcp/operations.ts";
import { fileNamePattern } from "./schema.ts";

/** Commands without an operation that only send requests to the services or compute a result. */
const allowedCommands: ReadonlySet<string> = new Set([
  ...["api", "contracts reconcile", "webhooks why", "webhooks schedule"],
  ...["webhooks verify", "webhooks sign", "webhooks explain", "emulator status"],
  ...["emulator device deny", "router resolve", "router jobs list", "router jobs show", "router jobs resume"],
  ...["router jobs results", "router jobs undo"],
]);

/** Commands that do more than send the request of their operation. */
const rejectedCommands = lookupTable<string>({
  "emulator open": "It starts a browser.",
  "emulator stop": "It ends an emulator that a state file names.",
});

const ownEmulatorReason = "A step runs against the emulator of its scenario.";

const rejectedFlags = lookupTable<string>({
  profile: ownEmulatorReason,
  "base-url": ownEmulatorReason,
  emulator: ownEmulatorReason,
  follow: "It never ends.",
  edit: "It starts an editor.",
});

/**
 * Explains why a step must not run a command line. Returns undefined if the step can run it. A scenario can come from a
 * cloned repository, so it has access only to its own emulator and files.
 */
export function explainRejection({ declaration, input, globals }: InterpretedLine): string | undefined {
  const command = declaration.words.join(" ");
  const rejection = explainCommand(command, declaration);
  if (rejection !== undefined) return `svc ${command} cannot be run by a scenario. ${rejection}`;
  for (const [flag, value] of Object.entries({ ...globals, ...input.flags })) {
    const spec = declaration.flags.find((flagSpec) => flagSpec.flag === flag);
    const reason = rejectedFlags[flag] ?? (spec && isStateFile(spec) ? ownEmulatorReason : undefined);
    if (reason !== undefined) return `--${flag} cannot be used in a scenario. ${reason}`;
    const outside = spec && listFiles(spec, value).find(isOutside);
    if (outside !== undefined) return explainOutside(`--${flag}`, outside);
  }
  for (const [name, value] of Object.entries(input.positionals)) {
    const outside = isFilePositional(name, declaration) ? [value].flat().find(isOutside) : undefined;
    if (outside !== undefined) return explainOutside(`<${name}>`, outside);
  }
  return undefined;
}

function explainCommand(command: string, declaration: DeclaredCommand): string | undefined {
  if (allowedCommands.has(command)) return undefined;
  if ("id" in declaration && declaration.output === "events") return "It never ends.";
  const { id: operation } = getUnderlyingOperation(declaration);
  return rejectedCommands[command] ?? explainUserOnly({ command, operation });
}

/** Reports whether a flag names the state file of another emulator. Files to send have the placeholder PATH. */
const isStateFile = ({ flag, placeholder }: FlagSpec): boolean => flag === "file" && placeholder === "FILE";

function listFiles({ flag, placeholder = "", isBase64 }: FlagSpec, value: unknown): readonly string[] {
  const values = [value].flat().map(String);
  if (isBase64) return values.filter((value) => value.startsWith("@")).map((value) => value.slice(1));
  const isFile = /\b(?:FILE|DIR|FOLDER)\b/.test(placeholder) || flag === "file" || flag === "received";
  return isFile ? values : [];
}

/** Reports whether a positional is a file. Positionals of operations and of `svc api` are parts of the URL. */
const isFilePositional = (name: string, { words, ...declaration }: DeclaredCommand): boolean =>
  ["path", "file", "body"].includes(name) && !("id" in declaration) && words[0] !== "api";

const isOutside = (file: unknown): boolean => file !== "-" && !fileNamePattern.test(String(file));

const explainOutside = (location: string, file: unknown): string =>
  `${location} must be the name of a file of the scenario, without a folder, got "${file}".`;
