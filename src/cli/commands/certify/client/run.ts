import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { runAfterDelay, systemWallClock } from "../../../../base/clock.ts";
import { pluralize } from "../../../../base/text.ts";
import { formatSystemError } from "../../../../files/disk.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { withTemporaryFolder } from "../../../process/temporary-folder.ts";
import { withSpinner } from "../../../prompt/terminal.ts";
import { buildChildEnvironment } from "../../emulator/exec.ts";
import { endProcessGroup, killProcessGroup, startProcessGroup } from "../process-group.ts";
import {
  type ClientObservation,
  clientScenarios,
  type ScriptedServer,
  startScriptedServer,
} from "./scripted-server.ts";

export interface ClientRunResult extends ClientObservation {
  readonly output: string;
  /** Undefined if the client was still running at the end. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
}

interface ClientOptions {
  readonly argv: readonly [string, ...string[]];
  readonly maxWaitMs: number;
}

/** Runs the client in these scenarios at once. Returns the results in the same order. */
export async function runScenarios(
  names: readonly string[],
  options: ClientOptions,
  context: Context,
): Promise<readonly ClientRunResult[]> {
  const servers = await startServers(names, context);
  const text = `Running the client in ${pluralize(names.length, "scenario")}, for up to ${Math.ceil(options.maxWaitMs / 1_000)} s`;
  await context.output.note(`${text} …`);
  const runAll = async () => {
    const runs = servers.map((server) =>
      withTemporaryFolder("svc-certify-", context, (folder) => runClient(server, folder, options, context)),
    );
    // No client continues after another one fails.
    await Promise.allSettled(runs);
    return Promise.all(runs);
  };
  return withSpinner(context, text, runAll, { tellsTime: true });
}

/**
 * Starts one server per scenario. All servers are ready before a client starts, so that only the clients are measured.
 */
async function startServers(names: readonly string[], context: Context): Promise<readonly ScriptedServer[]> {
  const servers: ScriptedServer[] = [];
  const heartbeatEnd = new AbortController();
  const getEarliestTime = startHeartbeat(heartbeatEnd.signal);
  context.onEnd(async () => {
    heartbeatEnd.abort();
    await Promise.all(servers.map((server) => server.close()));
  });
  for (const name of names) servers.push(await startScriptedServer(clientScenarios[name]!, getEarliestTime));
  return servers;
}

const defaultHeartbeatMs = 25;

/**
 * Measures the maximum delay of observed events. A busy machine observes requests late, so that the next wait looks too
 * short. This delay must not count against the client. Returns a function that returns the earliest time, in monotonic
 * milliseconds, of an event that is observed now.
 */
function startHeartbeat(signal: AbortSignal): () => number {
  let last = systemWallClock.monotonicNow();
  let previous = last;
  const run = async () => {
    while (!signal.aborted) {
      await systemWallClock.sleep(defaultHeartbeatMs, signal);
      previous = last;
      last = systemWallClock.monotonicNow();
    }
  };
  void run();
  // After a delay, the heartbeat runs before the pending events.
  return () => previous;
}

/** Time after the script without requests after which a client counts as idle. The client runs in real time. */
const maxQuietMs = 8_000;
const defaultCheckIntervalMs = 50;
/** Time for a client to end after SIGTERM. */
const maxTerminationMs = 1_000;
/** Number of polls after the script that prove that the client continues. */
const maxExtraPolls = 2;

async function runClient(
  server: ScriptedServer,
  folder: string,
  { argv, maxWaitMs }: ClientOptions,
  context: Context,
): Promise<ClientRunResult> {
  const { signal } = context;
  const startedAt = systemWallClock.monotonicNow();
  const client = startClient(argv, createEnvironment(server, folder, context), context);
  try {
    let hasEnded = false;
    const clientEnd = client.exited.then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !signal.aborted && !isScriptOver(server.observation, startedAt + maxWaitMs)) {
      await Promise.race([clientEnd, systemWallClock.sleep(defaultCheckIntervalMs, signal)]);
      // No poll follows the tokens.
      if (server.observation.hasTokens && !hasEnded) server.findExposedSecret();
    }
    signal.throwIfAborted();
    const seconds = (systemWallClock.monotonicNow() - startedAt) / 1_000;
    return { ...server.observation, output: client.output(), exitCode: getExitCode(client.child), seconds };
  } finally {
    const exited = client.exited.catch(() => {});
    await endProcessGroup(client.child, exited, { wall: systemWallClock, graceMs: maxTerminationMs });
  }
}

function isScriptOver({ endedAt, lastAt = 0, polls, deviceRequests }: ClientObservation, latest: number): boolean {
  const now = systemWallClock.monotonicNow();
  if (now >= latest || endedAt === undefined) return now >= latest;
  const extraPolls = polls.filter(({ step }) => step === undefined).length;
  return extraPolls >= maxExtraPolls || deviceRequests.length > 1 || now - Math.max(lastAt, endedAt) >= maxQuietMs;
}

/**
 * Creates the environment of the client, with the URL of its server. The control plane token is removed, because it can
 * approve codes for the user.
 */
function createEnvironment({ url, emulator }: ScriptedServer, folder: string, { host }: Context) {
  const access = { ...emulator, routerUrl: url, controlUrl: `${url}/_emulator` };
  const { SVC_EMULATOR_URL: _, SVC_EMULATOR_TOKEN: __, ...variables } = buildChildEnvironment(access, host);
  // The client must not use the sign-ins of the user or of other runs.
  return { ...variables, SVC_OAUTH_CLIENT_ID: "demo-cli", SVC_CONFIG_DIR: folder };
}

/** Limit of stored output. The code and the address are at the beginning of the output. */
const maxOutputCharacters = 1_000_000;
const maxOutputDelayMs = 500;

function startClient(argv: ClientOptions["argv"], env: Record<string, string>, context: Context) {
  const child = startProcessGroup(argv, { cwd: context.host.cwd, env });
  context.shutdown.onForcedExit(() => killProcessGroup(child, "SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      if (output.length < maxOutputCharacters) output += text;
    });
  }
  /** Resolves when the process has ended. Rejects if the program cannot be run. */
  const exited = new Promise<void>((resolve, reject) => {
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "ENOENT" ? "there is no such program" : formatSystemError(cause);
      reject(new CommandFailedError("usage", "cannot_run", `Cannot run ${argv[0]}: ${reason}`, { cause }));
    });
    // The output is complete at "close", which waits for child processes that share the pipes.
    child.once("exit", () => runAfterDelay(maxOutputDelayMs, resolve));
    child.once("close", () => resolve());
  });
  exited.catch(() => {});
  return { child, output: () => output, exited };
}

/** Returns the exit code, or 128 + n after a signal. Returns undefined while the process runs. */
const getExitCode = ({ exitCode, signalCode }: ChildProcess): number | undefined =>
  exitCode ?? (signalCode === null ? undefined : 128 + constants.signals[signalCode]);
