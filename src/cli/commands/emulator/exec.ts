import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
// On Windows, npm is a batch file, which Node's own spawn does not start.
import spawn from "cross-spawn";
import type { Emulator } from "../../../../emulator/index.ts";
import type { listRequests } from "../../../api/emulator/requests.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { groupBy, omitUndefined } from "../../../base/object.ts";
import { pluralize, quoteShellWord } from "../../../base/text.ts";
import { createEmulatorFlags } from "../../../derive/emulator-options.ts";
import { formatSystemError } from "../../../files/disk.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { collectSecrets, type EmulatorAccess, withControlClient } from "../../connection/emulator/emulator-access.ts";
import { createEmulatorVariables } from "../../connection/emulator/emulator-variables.ts";
import {
  addSummary,
  formatMarkdownCell,
  maskSecrets,
  printGroup,
  printInGroup,
  shouldAnnotate,
} from "../../output/ci.ts";
import { formatExplanation, toExplanationJson } from "../../process/exit.ts";
import type { Host } from "../../process/host.ts";
import { openEmulator } from "./open.ts";
import { readEmulatorOptions } from "./options.ts";

const emulatorExec = defineCommand({
  words: ["emulator", "exec"],
  summary: "Run a command with its own emulator",
  description:
    "Starts an emulator on free ports and in memory, sets SVC_BASE_URL, SVC_CLIENT_ID and the other SVC_ variables, and runs the command without a shell. Stops the emulator when the command ends, and exits with its code. SIGINT, SIGTERM and SIGHUP are forwarded to the command; a second one kills it.",
  passthrough: true,
  positionals: [
    { name: "command", description: "Command to run, with its arguments, optionally after --", variadic: true },
  ],
  flags: createEmulatorFlags(0),
  alsoTakes: {
    command: "emulator start",
    except: ["store", "detach", "trust-state", "ready-file", "log"],
    shown: ["seed", "from", "file", "clock", "auto-sign", "port"],
  },
  examples: [
    ["Run a test suite in CI", "emulator exec -- npm test"],
    ["Use a clock that jumps to the next due entry", "emulator exec --clock auto -- pytest -q"],
    ["Use a copy of a snapshot in each run", "emulator exec --from prepared -- npm test"],
  ],
  async run(input, context) {
    const [program, ...args] = input.positionals.command as readonly [string, ...string[]];
    const options = await readEmulatorOptions(input, context.host);
    const ephemeral = options.file === undefined;
    const emulator = await openEmulator({ port: 0, ...options, ephemeral }, context, { runFileState: options.file });
    const { host } = context;
    await maskSecrets(host, collectSecrets(emulator));
    const run = () =>
      context.shutdown.waitForProgram(() => runChild(program, args, buildChildEnvironment(emulator, host), context));
    const code = await printInGroup(host, [program, ...args].join(" "), run);
    // A failed report must not hide the exit code of the command.
    await reportRun(emulator, code, host).catch((error: Error) => context.output.warn(`no report: ${error.message}`));
    return { exit: code };
  },
});

/** Creates the child's environment: that of this run plus the variables of the emulator (DECISIONS.md, L21). */
export function buildChildEnvironment(emulator: EmulatorAccess, host: Host): Record<string, string> {
  return omitUndefined({ ...host.env, ...createEmulatorVariables(emulator) });
}

/** Resolves with the exit code, or 128 + n after a signal. Forwards a first signal. A second one kills the child. */
async function runChild(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  { host, output, shutdown }: Context,
): Promise<number> {
  const stdio = host.inherits ? "inherit" : "pipe";
  const child = spawn(program, args, { cwd: host.cwd, env, stdio, shell: false });
  pipeStreams(child, host);
  const forwardSignal = () => {
    // The terminal has already sent Ctrl-C to the child. A second one would force the child to exit.
    if (shutdown.name === "SIGINT" && host.inherits && host.stdin.isTTY) return;
    child.kill(shutdown.name ?? "SIGTERM");
  };
  const unlink = shutdown.linkChild(child, forwardSignal);
  try {
    return await new Promise<number>((resolve) => {
      child.once("error", (error) => resolve(reportCannotRun(program, args, error, output)));
      child.once("close", (code, name) => resolve(code ?? 128 + (name ? constants.signals[name] : 0)));
    });
  } finally {
    unlink();
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

/** Exit codes as in shells: 127 if the program does not exist, 126 if it cannot be run. */
async function reportCannotRun(
  program: string,
  args: readonly string[],
  cause: NodeJS.ErrnoException,
  output: Context["output"],
): Promise<number> {
  const isMissing = cause.code === "ENOENT";
  const message = `Cannot run ${program}: ${isMissing ? "no such program or interpreter" : formatSystemError(cause)}`;
  const line = isMissing && args.length === 0 && /\S\s+\S/.test(program) && `sh -c ${quoteShellWord(program)}`;
  const hint = line ? `The command runs without a shell. Separate its arguments, or run ${line}.` : undefined;
  const explanation = { code: "cannot_run", message, hint, exitCode: isMissing ? 127 : 126 };
  if (output.format === "json") await output.printDiagnosticDocument(toExplanationJson(explanation));
  else for (const text of formatExplanation(explanation)) await output.warn(text);
  return explanation.exitCode;
}

type LoggedRequest = ResultOf<typeof listRequests>["items"][number];

async function reportRun(emulator: Emulator, exit: number, host: Host): Promise<void> {
  if (!shouldAnnotate(host.env)) return;
  const [{ listDeliveries }, { listRequests }] = await Promise.all([
    import("../../../api/emulator/deliveries.ts"),
    import("../../../api/emulator/requests.ts"),
  ]);
  await withControlClient(emulator.routerUrl, emulator.token, async (client) => {
    const { items } = await client.call(listRequests, { query: { limit: 10_000 } });
    const requests = items.filter(({ service }) => service !== "emulator");
    const { total: deliveryCount } = await client.call(listDeliveries, { query: { limit: 1 } });
    const { total: deliveredCount } = await client.call(listDeliveries, { query: { limit: 1, outcome: "delivered" } });
    const notableRequests = requests.filter(
      ({ status, findings }) => status >= 400 || status === 0 || findings.length > 0,
    );
    const title = `svc emulator: ${pluralize(requests.length, "request")}, ${notableRequests.length} rejected or with warnings`;
    await printGroup(host, title, notableRequests.slice(-200).map(formatRequestLine));
    const deliveries = pluralize(deliveryCount, "webhook delivery", "webhook deliveries");
    await addSummary(host, formatSummary(requests, `${deliveries} (${deliveredCount} delivered)`, exit));
  });
}

const formatRequestLine = ({ method, target, status, failure, findings }: LoggedRequest): string =>
  [status, method, target, failure, ...findings.map(({ code }) => code)].filter(Boolean).join(" ");

function formatSummary(requests: readonly LoggedRequest[], deliveries: string, exit: number): string {
  const rows = [...groupBy(requests, ({ operation }) => operation)].map(([operation, all]) => {
    const name = operation ?? "not declared";
    const rejectedCount = all.filter(({ status }) => status >= 400 || status === 0).length;
    const findings = [...new Set(all.flatMap((request) => request.findings.map(({ code }) => code)))].join(", ");
    return `| ${[name, String(all.length), String(rejectedCount), findings].map(formatMarkdownCell).join(" | ")} |\n`;
  });
  return [
    `### svc emulator exec: exit ${exit}\n\n`,
    `${pluralize(requests.length, "request")}, ${deliveries}\n\n`,
    "| Operation | Requests | Rejected | Findings |\n| --- | ---: | ---: | --- |\n",
    ...rows,
    "\n",
  ].join("");
}

export const commands: readonly Command[] = [emulatorExec];
