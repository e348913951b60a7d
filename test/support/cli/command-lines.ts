import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loadOperation } from "../../../src/cli/runtime/derived-command.ts";
import type { CommandDeclaration, CommandSpec, FlagSpec } from "../../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../../src/derive/specs.ts";
import { allCommands } from "./all-commands.ts";

export const wordsOf = ({ words }: CommandDeclaration): string => words.join(" ");

/** A command line that is right, with the files that it reads. */
export interface CommandLine {
  readonly command: CommandDeclaration;
  readonly argv: readonly string[];
  /** What is piped in. */
  readonly stdin?: string | undefined;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

/** What stands for the secret in all credentials: nobody must ever see it. */
export const secret = "very-secret";

export const credentials = {
  SVC_CLIENT_ID: "id",
  SVC_CLIENT_SECRET: secret,
  SVC_CLUSTER_KEY: secret,
  SVC_TOKEN: secret,
  SVC_BASIC_AUTH: `user:${secret}`,
  SVC_EMULATOR_TOKEN: secret,
};

/** Flags whose file is written: it need not be there. */
export const writtenBy: ReadonlySet<string> = new Set([
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

/** Every example of every command. What its flags and positionals read is made of the examples of its operation. */
export async function commandLines(): Promise<readonly CommandLine[]> {
  const specs = new Map(
    Object.values(deriveSpecs())
      .flat()
      .map((spec) => [wordsOf(spec), spec]),
  );
  const commands = await allCommands();
  return Promise.all(
    commands.flatMap((command) =>
      command.examples.map(async ({ argv, stdin }) => ({
        command,
        argv,
        stdin,
        files: await filesOf(argv, command.flags, specs.get(wordsOf(command))),
      })),
    ),
  );
}

const state = { svc_state: 1 };

async function filesOf(argv: readonly string[], flags: readonly FlagSpec[], spec: CommandSpec | undefined) {
  const [example] = spec ? ((await loadOperation(spec)).examples as readonly { body?: unknown }[]) : [];
  const body = example?.body;
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body ?? state);
  const isWritten = (word: string | undefined) =>
    flags.some(({ flag, short }) => writtenBy.has(flag) && (word === `--${flag}` || (short && word === `-${short}`)));
  const named = argv.flatMap((word, i) =>
    isWritten(argv[i - 1]) ? [] : (/^@?([\w/-]+\.[a-z]+)$/.exec(word)?.[1] ?? []),
  );
  return Object.fromEntries(
    named.map((name) => [name, name.endsWith(".csv") ? rows : /\.(secret|key|txt)$/.test(name) ? secret : bytes]),
  );
}

export async function write(folder: string, files: CommandLine["files"]): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

/** All files of a folder with their content: what must be as it was. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const pairs = files.sort().map(async (path) => [path.slice(folder.length + 1), await readFile(path, "latin1")]);
  return Object.fromEntries(await Promise.all(pairs));
}

/** Names the files that are not as they were, those left out that may change; undefined when there are none. */
export async function strangers(
  folder: string,
  before: CommandLine["files"],
  mayChange: (path: string) => boolean = () => false,
): Promise<string | undefined> {
  const after = await contentOf(folder);
  const was = (path: string) =>
    before[path] === undefined ? undefined : Buffer.from(before[path] as string).toString("latin1");
  const paths = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  const changed = paths.filter((path) => !mayChange(path) && after[path] !== was(path));
  return changed.length === 0 ? undefined : `changed ${changed.join(", ")}`;
}
