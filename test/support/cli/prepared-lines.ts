import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { CommandDeclaration, CommandSpec } from "../../../src/derive/command-spec.ts";
import { createMovedWallClock } from "../clocks/moved-wall-clock.ts";
import { loadAllCommands } from "./all-commands.ts";
import { createTestFolder } from "./cli-emulator.ts";
import {
  type CommandLine,
  createCommandLines,
  credentials,
  getCommandName,
  testSecret,
  writeFiles,
} from "./command-lines.ts";
import type { HostileEndpoint } from "./hostile-service.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

/** Commands that send nothing to a service, with the reason. */
export const localCommands: Readonly<Record<string, string>> = {
  run: "runs an emulator of its own; --record is tested in test/cli/run",
  dev: "runs an emulator of its own",
  tour: "runs an emulator of its own",
  "emulator start": "is the service",
  "emulator exec": "runs an emulator of its own",
  "emulator repair": "mends files",
  "emulator seed-schema": "prints a document of this program",
  "webhooks certify": "sends to a receiver, from an emulator of its own",
  "webhooks verify": "computes",
  "webhooks sign": "computes",
  "webhooks explain": "computes",
  "router jobs list": "reads the jobs of this machine",
  "router jobs show": "reads a job of this machine",
  "router jobs results": "reads a job of this machine",
  "router jobs prune": "removes jobs of this machine",
  "router jobs undo": "has nothing to undo where no job has moved rows: test/cli/bulk/moves.test.ts",
  "auth certify": "runs emulators of its own",
  "auth status": "reads the sign-ins of this machine",
  "config list": "reads settings",
  "config get": "reads settings",
  "config set": "changes settings",
  "config unset": "changes settings",
  "config use": "changes settings",
  "config profiles": "reads settings",
  "config remove": "changes settings",
  "verify proxy": "forwards what others send: test/cli/verify",
  "verify scan": "reads files",
  "verify replay": "runs an emulator of its own",
  completion: "prints a script",
  openapi: "prints a document of this program",
  "agent setup": "writes a file",
  mcp: "serves an agent: test/cli/mcp",
};

/**
 * Returns the flags with which a command fails immediately if it sends a request. Commands that send nothing reject
 * some of the flags.
 */
export const getNoRetryFlags = (argv: readonly string[]): readonly string[] =>
  Object.keys(localCommands).some((words) => `${argv.join(" ")} `.startsWith(`${words} `)) ? [] : ["--retries", "0"];

/** Reports whether a command line of another command sends nothing either, such as lists, rules and plans. */
const isLocal = ({ argv, command }: CommandLine): boolean =>
  getCommandName(command) in localCommands ||
  argv.includes("--plan-out") ||
  argv.includes("--plan") ||
  argv.includes("--rule") ||
  argv.join(" ") === "webhooks trigger" ||
  // These lines use only an emulator (test/cli/bulk/offboard.test.ts).
  argv.includes("--workspace") ||
  // An editor is opened first.
  argv.includes("--edit") ||
  // Replays go to a receiver, not to the service (test/cli/webhooks).
  (getCommandName(command) === "webhooks replay" && !argv.includes("--last"));

/** Replacements for examples that are unsuitable here. `URL` is the service. */
const replacedExamples: Readonly<Record<string, string>> = {
  "--emulator auth device-login --client-id demo-cli": "auth device-login --client-id demo-cli",
  "auth device-login --issuer https://id.example.com --client-id tool --scope openid":
    "auth device-login --issuer URL --client-id tool --scope openid",
  "doctor --profile staging": "doctor",
  "verify record --profile staging --out corpus": "verify record --out corpus --rate 1000",
  "router jobs resume job_20310102T030405Z_7f3ak2 -": "router jobs resume --last",
};

/** Command lines in addition to the examples. */
const further: readonly string[] = [
  "webhooks schedule",
  "router map-emails --email-hash-list 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef --cluster eu-1",
];

/** A command line that sends at least one request, with its preparation. */
export interface PreparedLine {
  readonly line: CommandLine;
  /** The example as it is run. */
  readonly label: string;
}

/** Prepares every example of every command that sends a request to a service. */
export async function prepareSendingLines(): Promise<readonly PreparedLine[]> {
  const commands = await loadAllCommands();
  const more = further.map((text): CommandLine => {
    const argv = text.split(" ");
    const matches = commands.filter(({ words }) => words.every((word, i) => argv[i] === word));
    const command = matches.sort((a, b) => b.words.length - a.words.length)[0]!;
    return { command, argv, files: {} };
  });
  return [...(await createCommandLines()).filter((line) => !isLocal(line)), ...more].map((line) => {
    const name = line.argv.join(" ");
    return { line, label: replacedExamples[name] ?? name };
  });
}

/**
 * Selects all lines of hand-written commands and one of each kind of derived command, because all derived commands
 * share their code.
 */
export function selectOneOfEachKind(lines: readonly PreparedLine[]): readonly PreparedLine[] {
  const seenKinds = new Set<string>();
  return lines.filter(({ line: { command } }) => {
    if (!isDerived(command)) return true;
    const { service, auth, request, output, rows, columns, paging, confirm, schemaChecked, responses } = command;
    const has = [rows, columns, paging, confirm, schemaChecked.length > 0 || undefined].map((one) => one !== undefined);
    const kind = JSON.stringify([
      service,
      auth,
      request,
      output,
      has,
      Object.values(responses).map((response) => response?.kind),
    ]);
    return !seenKinds.has(kind) && seenKinds.add(kind);
  });
}

const isDerived = (command: CommandDeclaration): command is CommandSpec => "id" in command;

/** Removes the format flags of an example if the line requests JSON, because only one format is allowed. */
const removeOtherFormat = (argv: readonly string[], flags: readonly string[]): readonly string[] =>
  flags.includes("--json") ? argv.filter((word, i) => word !== "--format" && argv[i - 1] !== "--format") : argv;

/** Runs a line in a new folder against a service. Returns the folder. */
export async function runPrepared(
  t: Pick<TestContext, "after">,
  { line, label }: PreparedLine,
  { url }: HostileEndpoint | { url: string },
  flags: readonly string[],
  options: Pick<RunOptions, "onStart" | "env" | "tty"> = {},
): Promise<{ result: RunResult; cwd: string; files: CommandLine["files"] }> {
  const cwd = await createTestFolder(t);
  const name = getCommandName(line.command);
  const files = {
    ...line.files,
    ...(name.startsWith("auth ") ? { "config/tokens.json": createSignedInFile(url) } : {}),
    ...(line.argv.includes("--finish") ? { "config/device-login.json": createPendingSignInFile(url) } : {}),
    ...(name === "router jobs resume" ? { "rows.txt": "c0\n" } : {}),
  };
  await writeFiles(cwd, files);
  const env = {
    ...credentials,
    SVC_CONFIG_DIR: join(cwd, "config"),
    SVC_STATE_DIR: join(cwd, "state"),
    ...options.env,
    // A token in the environment has precedence over sign-ins.
    ...(/^auth (device-login|token|refresh|logout|status)$/.test(name) ? { SVC_TOKEN: "" } : {}),
  };
  const run = (argv: readonly string[], options: RunOptions = {}, service = url) =>
    runCli([...removeOtherFormat(argv, flags), "--base-url", service, "--retries", "0", "--yes", ...flags], {
      cwd,
      env,
      wall: createMovedWallClock(),
      stdin: line.stdin ?? "{}",
      ...options,
    });
  const { env: _, ...rest } = options;
  if (name === "router jobs resume") {
    // The sign-in begins at an address without a listener, so it ends immediately. The faulty service is the one under
    // test.
    const nowhere = "http://127.0.0.1:1";
    await run(["router", "map-clients", "rows.txt", "--cluster", "eu-1"], {}, nowhere);
    await moveJobs(join(cwd, "state", "jobs"), nowhere, url);
  }
  const isChanged = replacedExamples[line.argv.join(" ")] !== undefined;
  const argv = isChanged ? label.split(" ").map((word) => (word === "URL" ? url : word)) : line.argv;
  const confirmed = name === "router offboard" && !argv.includes("--confirm") ? ["--confirm", "eu-1"] : [];
  return { result: await run([...argv, ...confirmed], rest), cwd, files };
}

async function moveJobs(folder: string, from: string, to: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const record = join(folder, name, "job.json");
    await writeFile(record, (await readFile(record, "utf8")).replaceAll(from, to));
  }
}

/** Returns a sign-in at this server that must be refreshed. */
const createSignedInFile = (url: string): string =>
  JSON.stringify({
    accounts: {
      [url]: {
        client_id: "tool",
        access_token: testSecret,
        refresh_token: testSecret,
        token_type: "Bearer",
        signed_in_at: "2030-01-01T00:00:00Z",
        expires_at: "2030-01-02T00:00:00Z",
        refresh_url: `${url}/token`,
        revocation_url: `${url}/revoke`,
      },
    },
  });

/** Returns a sign-in at this server that is not yet approved. */
const createPendingSignInFile = (url: string): string =>
  JSON.stringify({
    client_id: "tool",
    device_code: testSecret,
    interval: 5,
    expires_at: "2031-01-02T04:00:00Z",
    server: {
      address: url,
      deviceUrl: `${url}/device`,
      tokenUrl: `${url}/token`,
      refreshUrl: `${url}/token`,
      encoding: "form",
    },
  });
