import { systemWallClock } from "../../../../base/clock.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { withSpinner } from "../../../prompt/spinner.ts";
import type { Assessment } from "./assessment.ts";
import type { Check } from "./checks.ts";
import { runScenario, type ScenarioResult } from "./run-scenario.ts";
import { scenarios } from "./scenarios.ts";
import { type ScriptedServer, startScriptedServer } from "./scripted-server.ts";

/** One check with its assessment. */
export interface CheckOutcome extends Assessment, Pick<Check, "scenario" | "basis"> {
  readonly id: string;
  /** Duration of its scenario. */
  readonly seconds: number;
}

/** Results of all checks; and why all have failed, if the client requested no sign-in. */
export interface CheckOutcomes {
  readonly outcomes: readonly CheckOutcome[];
  readonly failure: CommandFailedError | undefined;
}

/** Runs the scenarios of these checks concurrently, and assesses the results. */
export async function runChecks(
  checks: readonly Check[],
  argv: readonly [string, ...string[]],
  maxWaitMs: number,
  context: Context,
): Promise<CheckOutcomes> {
  const names = [...new Set(checks.map(({ scenario }) => scenario))];
  const servers = await startServers(names, context);
  const text = `Running the client in ${pluralize(names.length, "scenario")}, for up to 30 s`;
  await context.output.note(`${text} …`);
  const found = await withSpinner(
    context,
    text,
    () => waitForAll(servers.map((server) => runScenario(server, argv, maxWaitMs, context))),
    { tellsTime: true },
  );
  const results = new Map(names.map((name, i) => [name, found[i]!]));
  const hasAsked = found.some(({ deviceRequests }) => deviceRequests.length > 0);
  const failure = hasAsked ? undefined : createNeverAskedError(found);
  const outcomes = checks.map((check) => {
    const result = results.get(check.scenario)!;
    const assessment = failure
      ? { result: "failed" as const, detail: failure.message, fix: failure.hint }
      : check.assess(result);
    const { id, scenario, basis } = check;
    return { id, ...assessment, scenario, basis, seconds: result.seconds };
  });
  return { outcomes, failure };
}

/** One server per scenario. All are ready before a client starts, so that only the client's times are measured. */
async function startServers(names: readonly string[], context: Context): Promise<readonly ScriptedServer[]> {
  const servers: ScriptedServer[] = [];
  const stopped = new AbortController();
  const heartbeat = new Heartbeat(stopped.signal);
  context.onEnd(async () => {
    stopped.abort();
    await Promise.all(servers.map((server) => server.close()));
  });
  for (const name of names) servers.push(await startScriptedServer(scenarios[name]!, heartbeat));
  return servers;
}

/** Waits for all, so that no client outlives a failure of another one; then throws the first failure. */
async function waitForAll<T>(runs: readonly Promise<T>[]): Promise<readonly T[]> {
  const outcomes = await Promise.allSettled(runs);
  return outcomes.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

function createNeverAskedError(results: readonly ScenarioResult[]): CommandFailedError {
  const { exitCode, output } = results[0]!;
  const ending = exitCode === undefined ? "was still running at the end" : `ended with exit code ${exitCode}`;
  const last = output.trim().split("\n").at(-1)?.slice(0, 300);
  const lastLine = last ? ` Its last line: ${last}` : "";
  return new CommandFailedError(
    "failed",
    "no_sign_in",
    `The client requested no device code, and ${ending}.${lastLine}`,
    {
      hint: "It finds the server by SVC_ROUTER_URL, and its client ID by SVC_OAUTH_CLIENT_ID. Raise --client-timeout if it is slow to start.",
    },
  );
}

const beatMs = 25;

/**
 * Measures how long an event may have waited to be observed. On a busy machine, a request is observed late and the next
 * wait looks shorter than it was, which must not count against the client.
 */
class Heartbeat {
  #last: number;
  #previous: number;

  constructor(signal: AbortSignal) {
    this.#last = systemWallClock.monotonicNow();
    this.#previous = this.#last;
    void this.#run(signal);
  }

  /** The earliest time, in monotonic milliseconds, of an event that is observed now. */
  get earliest(): number {
    // After a delay, the heartbeat runs before the pending events.
    return this.#previous;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemWallClock.sleep(beatMs, signal);
      this.#previous = this.#last;
      this.#last = systemWallClock.monotonicNow();
    }
  }
}
