import { lookupTable } from "../../../base/object.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import type { DeclaredCommand, InterpretedLine } from "../../parse/declaration.ts";
import { getUnderlyingOperation } from "../../parse/declaration.ts";
import { explainPersonal } from "../mcp/operations.ts";
import { fileNamePattern } from "./schema.ts";

/** Commands without an operation of their own that only call the services, or only compute. */
const harmless: ReadonlySet<string> = new Set([
  "api",
  "contracts reconcile",
  "webhooks list",
  "webhooks why",
  "webhooks schedule",
  "webhooks verify",
  "webhooks sign",
  "webhooks explain",
  "emulator status",
  "emulator clock show",
  "emulator device deny",
  "router resolve",
  "router jobs list",
  "router jobs show",
  "router jobs resume",
  "router jobs results",
  "router jobs undo",
]);

/** Commands that do more than call their operation. */
const rejectedCommands = lookupTable<string>({
  "emulator open": "It starts a browser.",
  "emulator stop": "It ends an emulator that a state file names.",
});

const ownEmulatorOnly = "A step runs against the emulator of its scenario.";

const rejectedFlags = lookupTable<string>({
  profile: ownEmulatorOnly,
  "base-url": ownEmulatorOnly,
  emulator: ownEmulatorOnly,
  follow: "It never ends.",
  edit: "It starts an editor.",
});

/**
 * Why a step does not run a command line; undefined if it does. A scenario may come with a cloned repository: it
 * reaches its own emulator and its own files, and nothing else of the user who runs it.
 */
export function explainRejection({ declaration, input, globals }: InterpretedLine): string | undefined {
  const command = declaration.words.join(" ");
  const why = explainCommand(command, declaration);
  if (why !== undefined) return `svc ${command} cannot be run by a scenario. ${why}`;
  for (const [flag, value] of Object.entries({ ...globals, ...input.flags })) {
    const spec = declaration.flags.find((one) => one.flag === flag);
    const reason = rejectedFlags[flag] ?? (spec && isStateFile(spec) ? ownEmulatorOnly : undefined);
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
  if (harmless.has(command)) return undefined;
  if ("operation" in declaration && declaration.output === "events") return "It never ends.";
  const { operation } = getUnderlyingOperation(declaration);
  return rejectedCommands[command] ?? explainPersonal({ command, operation });
}

/** That of another emulator. Files to send are called PATH. */
const isStateFile = ({ flag, placeholder }: FlagSpec): boolean => flag === "file" && placeholder === "FILE";

/** The files that the value of a flag names. */
function listFiles({ flag, placeholder = "", isBase64 }: FlagSpec, value: unknown): readonly unknown[] {
  if (isBase64) return [value].flat().flatMap((one) => (/^@/.test(String(one)) ? [String(one).slice(1)] : []));
  const isFile = /\b(?:FILE|DIR|FOLDER)\b/.test(placeholder) || flag === "file" || flag === "received";
  return isFile ? [value].flat() : [];
}

/** Those of operations are parts of the URL, as is that of `svc api`. */
const isFilePositional = (name: string, { words, ...declaration }: DeclaredCommand): boolean =>
  ["path", "file", "body"].includes(name) && !("operation" in declaration) && words[0] !== "api";

const isOutside = (file: unknown): boolean => file !== "-" && !fileNamePattern.test(String(file));

const explainOutside = (place: string, file: unknown): string =>
  `${place} must be the name of a file of the scenario, without a folder, got "${file}".`;
