import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import spawn from "cross-spawn";
import type { Emulator } from "../../../../emulator/index.ts";
import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import { listRequests } from "../../../api/emulator/requests.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { pluralize } from "../../../base/text.ts";
import { createClient } from "../../../client/client.ts";
import { createTransport } from "../../../client/transport.ts";
import { createEmulatorFlags } from "../../../derive/emulator-options.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import type { EmulatorAccess } from "../../connection/emulator/emulator-access.ts";
import { collectSecrets, createEmulatorVariables } from "../../connection/emulator/emulator-variables.ts";
import {
  addSummary,
  formatMarkdownCell,
  maskSecrets,
  printGroup,
  printInGroup,
  shouldAnnotate,
} from "../../output/github-actions.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { quoteShellWord } from "../../process/shell-words.ts";
import { openEmulator } from "./open.ts";
import { readEmulatorOptions } from "./options.ts";

// On Windows, npm is a batch file, which Node's own spawn does not start.

const emulatorExec = defineCommand({
  words: ["emulator", "exec"],
  summary: "Run a command with its own emulator",
  description:
    "Starts an emulator on free ports and in memory, sets SVC_BASE_URL, SVC_CLIENT_ID and the other SVC_ variables, and runs the command without a shell. Stops the emulator when the command ends, and exits with its code. SIGINT, SIGTERM and SIGHUP are forwarded to the command; a second one kills it.",
  passthrough: true,
  positionals: [
    {
      name: "command",
      description: "Command to run, with its arguments, optionally after --",
      variadic: true,
    },
  ],
  flags: createEmulatorFlags(0),
  alsoTakes: {
    command: "emulator start",
    except: ["store", "detach", "trust-state", "ready-file", "log"],
    shown: ["seed", "from", "file", "clock", "auto-sign", "port"],
  },
  examples: [
    { title: "Run a test suite in CI", argv: ["emulator", "exec", "--", "npm", "test"] },
    {
      title: "With a clock that jumps to the next due entry",
      argv: ["emulator", "exec", "--clock", "auto", "--", "pytest", "-q"],
    },
    {
      title: "With a copy of a snapshot in each run",
      argv: ["emulator", "exec", "--from", "prepared", "--", "npm", "test"],
    },
  ],
  async run(input, context) {
    const [program, ...args] = input.positionals.command;
    if (program === undefined) throw new UsageError("<command> is required after --");
    const options = await readEmulatorOptions(input, context.host);
    const ephemeral = options.file === undefined;
    const emulator = await openEmulator({ port: 0, ...options, ephemeral }, context, { runFileState: options.file });
    const { host } = context;
    await maskSecrets(host, collectSecrets(emulator));
    const run = () =>
      context.waitForProgram(() => runChild(program, args, buildChildEnvironment(emulator, host), context));
    const code = await printInGroup(host, [program, ...args].join(" "), run);
    // A failed report must not hide the exit code of the command.
    await reportRun(emulator, code, host).catch((error: Error) => context.output.warn(`no report: ${error.message}`));
    return { exit: code };
  },
});

/** Creates the environment of the child: that of this run plus the variables of the emulator (DECISIONS.md, L21). */
export function buildChildEnvironment(emulator: EmulatorAccess, host: Host): Record<string, string> {
  const all = { ...host.env, ...createEmulatorVariables(emulator) };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/**
 * Runs a program and resolves with its exit code, or 128 + n after a signal. Forwards a signal to the child. A second
 * signal kills the child.
 */
async function runChild(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  { host, output, signal, onForcedEnd }: Context,
): Promise<number> {
  const stdio = host.inherits ? "inherit" : "pipe";
  const child = spawn(program, args, { cwd: host.cwd, env, stdio, shell: false });
  pipeStreams(child, host);
  const forwardSignal = () => {
    // The terminal has already sent Ctrl-C to the child. A second one would force the child to exit.
    if (signal.reason === "SIGINT" && host.inherits && host.stdin.isTTY) return;
    child.kill(signal.reason ?? "SIGINT");
  };
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", forwardSignal, { once: true });
  onForcedEnd(kill);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", (error: NodeJS.ErrnoException) => reject(new CommandNotRunnableError(program, args, error)));
      child.once("close", (code, name) => {
        resolve(code ?? 128 + (name ? constants.signals[name] : 0));
      });
    }).catch((error: unknown) => {
      if (error instanceof CommandNotRunnableError) return reportCannotRun(error, output);
      throw error;
    });
  } finally {
    signal.removeEventListener("abort", forwardSignal);
  }
}

function pipeStreams(child: ChildProcess, host: Host): void {
  child.stdout?.pipe(host.stdout, { end: false });
  child.stderr?.pipe(host.stderr, { end: false });
  if (child.stdin) {
    child.stdin.on("error", () => {});
    host.stdin.pipe(child.stdin);
  }
}

class CommandNotRunnableError extends CommandFailedError {
  readonly exit: number;
  constructor(program: string, args: readonly string[], error: NodeJS.ErrnoException) {
    const reason = error.code === "ENOENT" ? "no such program" : (error.code ?? error.message);
    const isLine = error.code === "ENOENT" && args.length === 0 && /\S\s+\S/.test(program);
    const hint = isLine
      ? `The command runs without a shell. Separate its arguments, or run sh -c ${quoteShellWord(program)}.`
      : undefined;
    super("failed", "cannot_run", `Cannot run ${program}: ${reason}`, { cause: error, hint });
    this.exit = error.code === "ENOENT" ? 127 : 126;
  }
}

/** Exit codes as in shells: 127 if the program does not exist, 126 if it cannot be run. */
async function reportCannotRun(error: CommandNotRunnableError, output: Context["output"]): Promise<number> {
  await output.warn(`error: ${error.message}`);
  if (error.hint !== undefined) await output.warn(`  ${error.hint}`);
  return error.exit;
}

type LoggedRequest = ResultOf<typeof listRequests>["items"][number];

/**
 * Formats a summary of an emulator that served a command: operations, rejections and findings. Returns nothing outside
 * of GitHub Actions.
 */
async function reportRun(emulator: Emulator, exit: number, host: Host): Promise<void> {
  if (!shouldAnnotate(host.env)) return;
  const client = createClient({
    baseUrls: { emulator: emulator.routerUrl },
    credentials: { controlToken: emulator.token },
    transport: createTransport(),
  });
  try {
    const { items } = await client.call(listRequests, { query: { limit: 10_000 } });
    const requests = items.filter(({ service }) => service !== "emulator");
    const { items: deliveries } = await client.call(listDeliveries, { query: { limit: 500 } });
    const notableRequests = requests.filter(
      ({ status, findings }) => status >= 400 || status === 0 || findings.length > 0,
    );
    const title = `svc emulator: ${pluralize(requests.length, "request")}, ${notableRequests.length} rejected or with warnings`;
    await printGroup(host, title, notableRequests.slice(-200).map(formatRequestLine));
    await addSummary(
      host,
      formatSummary(
        requests,
        deliveries.map(({ outcome }) => outcome),
        exit,
      ),
    );
  } finally {
    await client.close();
  }
}

const formatRequestLine = ({ method, target, status, failure, findings }: LoggedRequest): string =>
  [status, method, target, failure, ...findings.map(({ code }) => code)].filter(Boolean).join(" ");

function formatSummary(requests: readonly LoggedRequest[], outcomes: readonly string[], exit: number): string {
  const byOperation = new Map<string, readonly LoggedRequest[]>();
  for (const request of requests) {
    const name = request.operation ?? "not declared";
    byOperation.set(name, [...(byOperation.get(name) ?? []), request]);
  }
  const rows = [...byOperation].map(([name, all]) => {
    const refused = all.filter(({ status }) => status >= 400 || status === 0).length;
    const findings = [...new Set(all.flatMap((one) => one.findings.map(({ code }) => code)))].join(", ");
    return `| ${[name, String(all.length), String(refused), findings].map(formatMarkdownCell).join(" | ")} |\n`;
  });
  const delivered = outcomes.filter((outcome) => outcome === "delivered").length;
  return [
    `### svc emulator exec: exit ${exit}\n\n`,
    `${pluralize(requests.length, "request")}, ${pluralize(outcomes.length, "webhook delivery", "webhook deliveries")} (${delivered} delivered)\n\n`,
    "| Operation | Requests | Refused | Findings |\n| --- | ---: | ---: | --- |\n",
    ...rows,
    "\n",
  ].join("");
}

export const commands: readonly Command[] = [emulatorExec];
