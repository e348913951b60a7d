import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loadOperation } from "../../../src/cli/runtime/derived-command.ts";
import type { CommandDeclaration, CommandSpec, FlagSpec } from "../../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../../src/derive/specs.ts";
import { loadAllCommands } from "./all-commands.ts";

export const getCommandName = ({ words }: CommandDeclaration): string => words.join(" ");

/** A valid command line with its input files. */
export interface CommandLine {
  readonly command: CommandDeclaration;
  readonly argv: readonly string[];
  /** Standard input. */
  readonly stdin?: string | undefined;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

/** Secret in all credentials of the tests, which must never be printed. */
export const testSecret = "very-secret";

export const credentials = {
  SVC_CLIENT_ID: "id",
  SVC_CLIENT_SECRET: testSecret,
  SVC_CLUSTER_KEY: testSecret,
  SVC_TOKEN: testSecret,
  SVC_BASIC_AUTH: `user:${testSecret}`,
  SVC_EMULATOR_TOKEN: testSecret,
};

/** Flags whose file is written and need not exist. */
export const outputFileFlags: ReadonlySet<string> = new Set([
  "reference",
  "junit",
  "markdown",
  "output",
  "errors-out",
  "html",
  "plan-out",
  "ready-file",
  "record",
  "report",
  "run-file",
  "save",
]);

const rows = "id,email,kind,identifier\nada@example.com,ada@example.com,email,ada@example.com\n";

/** Creates a command line for each example of each command. Input files are made from the examples of the operation. */
export async function createCommandLines(): Promise<readonly CommandLine[]> {
  const specs = new Map(
    Object.values(deriveSpecs())
      .flat()
      .map((spec) => [getCommandName(spec), spec]),
  );
  const commands = await loadAllCommands();
  return Promise.all(
    commands.flatMap((command) =>
      command.examples.map(async ({ argv, stdin }) => ({
        command,
        argv,
        stdin,
        files: await createFiles(argv, command.flags, specs.get(getCommandName(command))),
      })),
    ),
  );
}

const state = { svc_state: 1 };

async function createFiles(argv: readonly string[], flags: readonly FlagSpec[], spec: CommandSpec | undefined) {
  const [example] = spec ? ((await loadOperation(spec)).examples as readonly { body?: unknown }[]) : [];
  const body = example?.body;
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body ?? state);
  const isWritten = (word: string | undefined) =>
    flags.some(
      ({ flag, short }) => outputFileFlags.has(flag) && (word === `--${flag}` || (short && word === `-${short}`)),
    );
  const fileNames = argv.flatMap((word, i) =>
    isWritten(argv[i - 1]) ? [] : (/^@?([\w/-]+\.[a-z]+)$/.exec(word)?.[1] ?? []),
  );
  return Object.fromEntries(
    fileNames.map((name) => [
      name,
      name.endsWith(".csv") ? rows : /\.(secret|key|txt)$/.test(name) ? testSecret : bytes,
    ]),
  );
}

export async function writeFiles(folder: string, files: CommandLine["files"]): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

/** Returns all files of a folder with their content. */
async function readContents(folder: string): Promise<Record<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const pairs = files.sort().map(async (path) => [path.slice(folder.length + 1), await readFile(path, "latin1")]);
  return Object.fromEntries(await Promise.all(pairs));
}

/** Lists the files that changed, except those that may change. Returns undefined if there are none. */
export async function findChangedFiles(
  folder: string,
  before: CommandLine["files"],
  mayChange: (path: string) => boolean = () => false,
): Promise<string | undefined> {
  const after = await readContents(folder);
  const was = (path: string) =>
    before[path] === undefined ? undefined : Buffer.from(before[path] as string).toString("latin1");
  const paths = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  const changed = paths.filter((path) => !mayChange(path) && after[path] !== was(path));
  return changed.length === 0 ? undefined : `changed ${changed.join(", ")}`;
}
