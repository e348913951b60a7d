import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { CommandDeclaration, CommandSpec } from "../../../src/derive/command-spec.ts";
import { movedWall } from "../walls/moved-wall.ts";
import { allCommands } from "./all-commands.ts";
import { testFolder } from "./cli-emulator.ts";
import { type CommandLine, commandLines, credentials, secret, wordsOf, write } from "./command-lines.ts";
import type { Endpoint } from "./hostile-service.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

/** Commands that send nothing to a service, and why. */
export const sendsNothing: Readonly<Record<string, string>> = {
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

/** The options with which a command fails at once where it sends something; those that send nothing refuse some. */
export const noRetries = (argv: readonly string[]): readonly string[] =>
  Object.keys(sendsNothing).some((words) => `${argv.join(" ")} `.startsWith(`${words} `)) ? [] : ["--retries", "0"];

/** Command lines of other commands that send nothing either: lists, rules and plans. */
const isLocal = ({ argv, command }: CommandLine): boolean =>
  wordsOf(command) in sendsNothing ||
  argv.includes("--plan-out") ||
  argv.includes("--plan") ||
  argv.includes("--rule") ||
  argv.join(" ") === "webhooks trigger" ||
  // Asks an emulator alone: test/cli/bulk/offboard.test.ts.
  argv.includes("--workspace") ||
  // Asks a person first.
  argv.includes("--edit") ||
  // Goes to a receiver, not to the service: test/cli/webhooks.
  (wordsOf(command) === "webhooks replay" && !argv.includes("--last"));

/** Examples that show something else than what is wanted here, by what they become; `URL` is the service. */
const changed: Readonly<Record<string, string>> = {
  "--emulator auth device-login --client-id demo-cli": "auth device-login --client-id demo-cli",
  "auth device-login --issuer https://id.example.com --client-id tool --scope openid":
    "auth device-login --issuer URL --client-id tool --scope openid",
  "doctor --profile staging": "doctor",
  "verify record --profile staging --out corpus": "verify record --out corpus --rate 1000",
  "router jobs resume job_20310102T030405Z_7f3ak2 -": "router jobs resume --last",
};

/** Other ways to run commands than their examples. */
const further: readonly string[] = [
  "webhooks schedule",
  "router map-emails --email-hash-list 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef --cluster eu-1",
];

/** A command line that sends at least one request, and how it is run. */
export interface PreparedLine {
  readonly line: CommandLine;
  /** The example as it is run. */
  readonly shown: string;
}

/** Every example of every command that talks to a service. */
export async function linesThatSend(): Promise<readonly PreparedLine[]> {
  const commands = await allCommands();
  const more = further.map((shown): CommandLine => {
    const argv = shown.split(" ");
    const named = commands.filter(({ words }) => words.every((word, i) => argv[i] === word));
    const command = named.sort((a, b) => b.words.length - a.words.length)[0]!;
    return { command, argv, files: {} };
  });
  return [...(await commandLines()).filter((line) => !isLocal(line)), ...more].map((line) => {
    const name = line.argv.join(" ");
    return { line, shown: changed[name] ?? name };
  });
}

/**
 * Of these, all of commands that are written by hand, and one of each kind of derived ones: what they send and print is
 * the work of one piece of code, which goes by no more than this.
 */
export function oneOfEachKind(lines: readonly PreparedLine[]): readonly PreparedLine[] {
  const seen = new Set<string>();
  return lines.filter(({ line: { command } }) => {
    if (!isDerived(command)) return true;
    const { service, auth, body, output, rows, columns, paged, confirm, needsSchema, answers } = command;
    const has = [rows, columns, paged, confirm, needsSchema.length > 0 || undefined].map((one) => one !== undefined);
    const kind = JSON.stringify([
      service,
      auth,
      body,
      output,
      has,
      Object.values(answers).map((answer) => answer?.kind),
    ]);
    return !seen.has(kind) && seen.add(kind);
  });
}

const isDerived = (command: CommandDeclaration): command is CommandSpec => "operation" in command;

/** One line asks for one format: where JSON is asked for, without that of an example. */
const inOneFormat = (argv: readonly string[], flags: readonly string[]): readonly string[] =>
  flags.includes("--json") ? argv.filter((word, i) => word !== "--format" && argv[i - 1] !== "--format") : argv;

/** Runs it in a folder of its own against a service; gives the folder back. */
export async function runPrepared(
  t: Pick<TestContext, "after">,
  { line, shown }: PreparedLine,
  { url }: Endpoint | { url: string },
  flags: readonly string[],
  options: Pick<RunOptions, "onStart" | "env" | "tty"> = {},
): Promise<{ result: RunResult; cwd: string; files: CommandLine["files"] }> {
  const cwd = await testFolder(t);
  const name = wordsOf(line.command);
  const files = {
    ...line.files,
    ...(name.startsWith("auth ") ? { "config/tokens.json": signedIn(url) } : {}),
    ...(line.argv.includes("--finish") ? { "config/device-login.json": begunSignIn(url) } : {}),
    ...(name === "router jobs resume" ? { "rows.txt": "c0\n" } : {}),
  };
  await write(cwd, files);
  const env = {
    ...credentials,
    SVC_CONFIG_DIR: join(cwd, "config"),
    SVC_STATE_DIR: join(cwd, "state"),
    ...options.env,
    // A token of the environment outranks sign-ins.
    ...(/^auth (device-login|token|refresh|logout|status)$/.test(name) ? { SVC_TOKEN: "" } : {}),
  };
  const run = (argv: readonly string[], more: RunOptions = {}, service = url) =>
    runCli([...inOneFormat(argv, flags), "--base-url", service, "--retries", "0", "--yes", ...flags], {
      cwd,
      env,
      wall: movedWall(),
      stdin: line.stdin ?? "{}",
      ...more,
    });
  const { env: _, ...rest } = options;
  if (name === "router jobs resume") {
    // Begun where nobody listens, and so left at once; what it was begun for is the service of the trouble.
    const nowhere = "http://127.0.0.1:1";
    await run(["router", "map-clients", "rows.txt", "--cluster", "eu-1"], {}, nowhere);
    await moveJobs(join(cwd, "state", "jobs"), nowhere, url);
  }
  const isChanged = changed[line.argv.join(" ")] !== undefined;
  const argv = isChanged ? shown.split(" ").map((word) => (word === "URL" ? url : word)) : line.argv;
  const confirmed = name === "router offboard" && !argv.includes("--confirm") ? ["--confirm", "eu-1"] : [];
  return { result: await run([...argv, ...confirmed], rest), cwd, files };
}

async function moveJobs(folder: string, from: string, to: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const record = join(folder, name, "job.json");
    await writeFile(record, (await readFile(record, "utf8")).replaceAll(from, to));
  }
}

/** A sign-in at this server that has to be refreshed. */
const signedIn = (url: string): string =>
  JSON.stringify({
    accounts: {
      [url]: {
        client_id: "tool",
        access_token: secret,
        refresh_token: secret,
        token_type: "Bearer",
        signed_in_at: "2030-01-01T00:00:00Z",
        expires_at: "2030-01-02T00:00:00Z",
        refresh_url: `${url}/token`,
        revocation_url: `${url}/revoke`,
      },
    },
  });

/** A sign-in at this server that nobody has approved yet. */
const begunSignIn = (url: string): string =>
  JSON.stringify({
    client_id: "tool",
    device_code: secret,
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
