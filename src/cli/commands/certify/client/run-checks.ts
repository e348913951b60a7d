import { systemWallClock } from "../../../../base/clock.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { annotate, shouldAnnotate } from "../../../output/github-actions.ts";
import { formatJUnit } from "../../../output/junit.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { withSpinner } from "../../../prompt/spinner.ts";
import { countCheckResults, describeCounts } from "../check.ts";
import type { Assessment } from "./assessments.ts";
import type { ClientCheck } from "./checks.ts";
import { type ClientRunResult, runClient } from "./run-scenario.ts";
import { clientScenarios, type ScriptedServer, startScriptedServer } from "./scripted-server.ts";

interface ClientCheckOutcome extends Assessment, Pick<ClientCheck, "id" | "scenario" | "basis"> {
  /** Duration of the scenario. */
  readonly seconds: number;
}

/**
 * Runs the scenarios of these checks concurrently and assesses the results. All checks fail with `failure` if the
 * client requested no sign-in.
 */
export async function runClientChecks(
  checks: readonly ClientCheck[],
  argv: readonly [string, ...string[]],
  maxWaitMs: number,
  context: Context,
): Promise<{ readonly outcomes: readonly ClientCheckOutcome[]; readonly failure: CommandFailedError | undefined }> {
  const names = [...new Set(checks.map(({ scenario }) => scenario))];
  const servers = await startServers(names, context);
  const text = `Running the client in ${pluralize(names.length, "scenario")}, for up to 30 s`;
  await context.output.note(`${text} …`);
  const runAll = () => waitForAll(servers.map((server) => runClient(server, argv, maxWaitMs, context)));
  const runResults = await withSpinner(context, text, runAll, { tellsTime: true });
  const hasRequested = runResults.some(({ deviceRequests }) => deviceRequests.length > 0);
  const failure = hasRequested ? undefined : createNeverRequestedError(runResults);
  const outcomes = checks.map(({ id, scenario, basis, assess }) => {
    const result = runResults[names.indexOf(scenario)]!;
    const assessment = failure
      ? { result: "failed" as const, detail: failure.message, fix: failure.hint }
      : assess(result);
    return { id, ...assessment, scenario, basis, seconds: result.seconds };
  });
  return { outcomes, failure };
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

/** Waits for all runs, so that no client continues after another one fails. Throws the first failure. */
async function waitForAll<T>(runs: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

function createNeverRequestedError(results: readonly ClientRunResult[]): CommandFailedError {
  const { exitCode, output } = results[0]!;
  const ending = exitCode === undefined ? "was still running at the end" : `ended with exit code ${exitCode}`;
  const last = output.trim().split("\n").at(-1)?.slice(0, 300);
  const lastLine = last ? ` Its last line: ${last}` : "";
  const message = `The client requested no device code, and ${ending}.${lastLine}`;
  return new CommandFailedError("failed", "no_sign_in", message, {
    hint: "The client must read the server from SVC_ROUTER_URL and its client ID from SVC_OAUTH_CLIENT_ID. Raise --client-timeout if it is slow to start.",
  });
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

/** Formats the JUnit XML report. A warning counts as passed and appears in the output. */
export const formatClientJUnitReport = (outcomes: readonly ClientCheckOutcome[]): string =>
  formatJUnit(
    "svc auth certify",
    outcomes.map(({ id, scenario, result, detail, fix, basis, seconds }) => ({
      name: result === "warning" ? `${id} (warning: ${detail})` : id,
      className: `svc.auth.certify.${scenario}`,
      // Checks of the same scenario share its duration.
      seconds: seconds / outcomes.filter((outcome) => outcome.scenario === scenario).length,
      ...(result === "failed" && { failure: { message: detail, text: [fix, `Basis: ${basis}`].join("\n") } }),
      ...(result === "not_checked" && { skipReason: detail }),
    })),
  );

export async function showClientResults(outcomes: readonly ClientCheckOutcome[], context: Context): Promise<void> {
  const { output, host, argv } = context;
  const rows = outcomes.map(({ fix = null, seconds, ...row }) => {
    return { ...row, fix, seconds: Number(seconds.toFixed(1)) };
  });
  await output.show(rows, {
    fields: ["id", "result", "detail", "fix", "basis", "scenario", "seconds"],
    columns: ["id", "result", { name: "detail", shrinkPriority: 1, minWidth: 24, purpose: true }],
  });
  for (const { id, detail, fix, basis, result } of outcomes) {
    if (fix === undefined) continue;
    if (output.format === "table") await output.note(`${id}: ${fix} Basis: ${basis}.`);
    if (result === "failed" && shouldAnnotate(host.env, argv))
      await annotate(host, { code: id, message: `${detail} ${fix}`, hint: undefined });
  }
  await output.note(describeCounts(countCheckResults(outcomes)));
}
