import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { annotate, formatJUnit, shouldAnnotate } from "../../output/ci.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import {
  type CheckFinding,
  countCheckResults,
  createReportWriter,
  describeCounts,
  isUnchecked,
  nothingChecked,
  selectChecks,
} from "../certify/check.ts";
import { clientChecks } from "../certify/client/checks.ts";
import { type ClientRunResult, runScenarios } from "../certify/client/run.ts";

const authCertify = defineCommand({
  words: ["auth", "certify"],
  summary: "Check a device-flow client against scripted responses",
  description:
    "Runs the command several times at once, each against its own emulator, and checks what it sends and when (RFC 8628): its polling interval, slow_down, expiry, denial, a connection reset, a 503 with an HTML page, and a truncated response. The command must start a new sign-in each time. It reads the server from SVC_ROUTER_URL and its client ID from SVC_OAUTH_CLIENT_ID; /.well-known/openid-configuration names the endpoints. The emulator approves each sign-in. A run takes about 30 s. Exits 1 if a check fails, or none is made. Checks that a run does not show are not_checked; warnings mark allowed but risky behavior.",
  passthrough: true,
  positionals: [
    {
      name: "command",
      description: "Client to run, with its arguments, optionally after --",
      variadic: true,
      optional: true,
    },
  ],
  flags: [
    createTextFlag("only", "CHECK", "Run only this check, or all checks with this prefix: slow-down", {
      repeatable: true,
    }),
    createTextFlag("skip", "CHECK", "Skip this check, or all checks with this prefix", { repeatable: true }),
    createSwitch("list", "List the checks with their basis, and run nothing"),
    createSwitch("strict", "Count warnings as failures"),
    createTextFlag("client-timeout", "DURATION", "Maximum time for one run of the client", { default: "60s" }),
    createTextFlag("report", "FILE", "Write a JUnit XML report to this file"),
  ],
  examples: [
    ["List the checks", "auth certify --list"],
    ["Check a client", "auth certify -- node sign-in.js"],
    ["Write a report in CI", "auth certify --report certify.xml -- python3 sign_in.py"],
    ["Check how it slows down", "auth certify --only slow-down -- node sign-in.js"],
  ],
  async run(input, context) {
    const { only, skip } = input.flags;
    const selectedChecks = selectChecks(clientChecks, { only, skip }, ["auth", "certify", "--list"]);
    if (input.flags.list) {
      const rows = selectedChecks.map(({ id, scenario, summary, basis }) => ({ id, scenario, summary, basis }));
      await context.output.show(rows, { fields: ["id", "scenario", "summary", "basis"] });
      return undefined;
    }
    const [program, ...args] = input.positionals.command ?? [];
    if (program === undefined)
      throw new UsageError("<command> is required", { hint: "For example: svc auth certify -- node sign-in.js" });
    const maxWaitMs = parseDurationFlag(input.flags["client-timeout"] ?? "60s", "--client-timeout");
    const writeReport = await createReportWriter(input.flags.report, context.host);
    const names = [...new Set(selectedChecks.map(({ scenario }) => scenario))];
    const results = await runScenarios(names, { argv: [program, ...args], maxWaitMs }, context);
    const hasRequested = results.some(({ deviceRequests }) => deviceRequests.length > 0);
    const failure = hasRequested ? undefined : createNeverRequestedError(results[0]!);
    const outcomes = selectedChecks.map(({ id, scenario, basis, assess }): CheckOutcome => {
      const result = results[names.indexOf(scenario)]!;
      const assessment = failure
        ? { result: "failed" as const, detail: failure.message, fix: failure.hint }
        : assess(result);
      return { id, ...assessment, scenario, basis, seconds: result.seconds };
    });
    await writeReport(formatJUnitReport(outcomes));
    if (failure) throw failure;
    await showOutcomes(outcomes, context);
    const fails = input.flags.strict ? ["failed", "warning"] : ["failed"];
    if (isUnchecked(outcomes)) await context.output.warn(nothingChecked);
    return isUnchecked(outcomes) || outcomes.some(({ result }) => fails.includes(result)) ? "failed" : undefined;
  },
});

interface CheckOutcome extends CheckFinding, Pick<(typeof clientChecks)[number], "id" | "scenario" | "basis"> {
  /** Duration of the scenario. */
  readonly seconds: number;
}

/** Creates the error of a client that requested no sign-in. All its checks fail with it. */
function createNeverRequestedError({ exitCode, output }: ClientRunResult): CommandFailedError {
  const ending = exitCode === undefined ? "was still running at the end" : `ended with exit code ${exitCode}`;
  const last = output.trim().split("\n").at(-1)?.slice(0, 300);
  const lastLine = last ? ` Its last line: ${last}` : "";
  const message = `The client requested no device code, and ${ending}.${lastLine}`;
  return new CommandFailedError("failed", "no_sign_in", message, {
    hint: "The client must read the server from SVC_ROUTER_URL and its client ID from SVC_OAUTH_CLIENT_ID. Raise --client-timeout if it is slow to start.",
  });
}

/** Formats the JUnit XML report. A warning counts as passed and appears in the output. */
const formatJUnitReport = (outcomes: readonly CheckOutcome[]): string =>
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

async function showOutcomes(outcomes: readonly CheckOutcome[], context: Context): Promise<void> {
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

export const commands: readonly Command[] = [authCertify];
