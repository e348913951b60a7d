import { availableParallelism } from "node:os";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { writeOutput } from "../../output/file.ts";
import { annotateAt, shouldAnnotate } from "../../output/github-actions.ts";
import { formatJUnit } from "../../output/junit.ts";
import { bold, cyan, dim, green, red, type StyledLine } from "../../output/styled.ts";
import { ScenarioEmulators } from "./emulators.ts";
import { formatHtmlReport } from "./html.ts";
import { loadScenarios, WrongScenarios } from "./load.ts";
import type { ParsedScenario } from "./parse.ts";
import { runInProcesses } from "./processes.ts";
import type { ScenarioResult, StepResult } from "./result.ts";
import { runScenario } from "./run-scenario.ts";
import { updateFiles } from "./update.ts";

export interface RunSettings {
  /** Number of processes (default: by cores and files). */
  readonly jobs: number | undefined;
  readonly report?: string | undefined;
  readonly html?: string | undefined;
  readonly update: boolean;
}

/** Number of files that justify another process, whose start takes as long as some of them. */
const filesPerProcess = 12;

/** Runs scenario files and reports the results in the order of the files. Resolves with whether all succeeded. */
export async function runFiles(files: readonly string[], settings: RunSettings, context: Context): Promise<boolean> {
  const { host, output, globals } = context;
  const startedAt = host.wall.monotonicNow();
  const scenarios = await loadScenarios([...new Set(files)], context).catch(async (error: unknown) => {
    if (error instanceof WrongScenarios && shouldAnnotate(host.env, context.argv)) {
      for (const { file, position, sentence } of error.errors) await annotateAt(host, { file, ...position }, sentence);
    }
    throw error;
  });
  const isText = output.format === "table";
  const usefulProcesses = Math.min(availableParallelism(), Math.ceil(scenarios.length / filesPerProcess));
  const jobs = Math.min(settings.jobs ?? usefulProcesses, scenarios.length);
  const results =
    jobs > 1
      ? runInProcesses(scenarios, jobs, settings.update, context)
      : runHere(scenarios, settings, context, isText && !globals.quiet);
  const done: ScenarioResult[] = [];
  for await (const result of results) {
    done.push(result);
    if (isText && (jobs > 1 || globals.quiet) && !(globals.quiet && result.ok)) await printSteps(result, context);
    if (output.format === "ndjson") await output.printDocument(result);
    await annotateFailures(result, context);
  }
  if (settings.update) await updateExpectations(scenarios, done, jobs, context);
  const seconds = (host.wall.monotonicNow() - startedAt) / 1_000;
  const ok = done.every((result) => result.ok);
  if (settings.report !== undefined) await writeText(settings.report, formatJunit(done), context);
  if (settings.html !== undefined) {
    await writeText(settings.html, formatHtmlReport(done, seconds), context);
  }
  if (isText) await output.print(formatSummary(done, seconds.toFixed(1)));
  else if (output.format !== "ndjson")
    await output.show({ ok, seconds, scenarios: done }, { rows: "scenarios", columns });
  return ok;
}

/** Writes observations. Child processes have already written theirs. */
async function updateExpectations(
  scenarios: readonly ParsedScenario[],
  done: readonly ScenarioResult[],
  jobs: number,
  context: Context,
): Promise<void> {
  if (jobs === 1) await updateFiles(scenarios, done, context);
  for (const { file, seen } of done) {
    if (seen.length > 0) await context.output.note(`Wrote ${pluralize(seen.length, "expectation")} into ${file}`);
  }
}

const columns = ["file", "name", "ok", "seconds"];

/** Runs scenarios sequentially in this process, each on a fork. Prints steps as they complete. */
async function* runHere(
  scenarios: readonly ParsedScenario[],
  { update, html }: RunSettings,
  context: Context,
  printsSteps: boolean,
): AsyncGenerator<ScenarioResult> {
  const { output, host } = context;
  const { registry: operations } = await import("../../../api/registry.ts");
  const emulators = new ScenarioEmulators(context);
  context.onEnd(() => emulators.close());
  for (const parsed of scenarios) {
    context.signal.throwIfAborted();
    if (printsSteps) await output.print(formatHeading(parsed.file, parsed.scenario.name ?? ""));
    const result = await emulators.withStage(parsed, (stage) =>
      runScenario(parsed, stage, {
        operations,
        wall: host.wall,
        update,
        traces: html !== undefined || output.format !== "table",
        onStep: async (step) => {
          if (printsSteps) await output.print(...formatStepLines(parsed.file, step));
        },
      }),
    );
    if (printsSteps) await output.print(...endLines(result));
    yield result;
  }
}

async function printSteps(result: ScenarioResult, { output }: Context): Promise<void> {
  const steps = result.steps.flatMap((step) => formatStepLines(result.file, step));
  await output.print(formatHeading(result.file, result.name), ...steps, ...endLines(result));
}

async function annotateFailures({ file, steps }: ScenarioResult, { host, argv }: Context): Promise<void> {
  if (!shouldAnnotate(host.env, argv)) return;
  for (const { title, problems } of steps) {
    for (const { message, line, column } of problems)
      await annotateAt(host, { file, line, column }, `${title}: ${message}`);
  }
}

const formatJunit = (results: readonly ScenarioResult[]): string =>
  formatJUnit(
    "svc run",
    results.map((result) => {
      const problems = result.steps.flatMap(({ number, title, problems }) =>
        problems.map(({ message, line }) => `${result.file}:${line} step ${number} (${title}): ${message}`),
      );
      const hint = result.hint === undefined ? [] : [result.hint];
      return {
        name: result.name || result.file,
        className: result.file,
        seconds: result.seconds,
        ...(result.ok
          ? {}
          : {
              failure: {
                message: problems[0] ?? "failed",
                text: [
                  ...problems,
                  ...hint,
                  ...(result.traced ? ["", `trace of ${result.traced}`] : []),
                  ...result.trace,
                ].join("\n"),
              },
            }),
      };
    }),
  );

const writeText = (path: string, text: string, { host }: Context): Promise<void> =>
  writeOutput(host, path, [Buffer.from(text)]);

const formatHeading = (file: string, name: string): StyledLine =>
  name === "" ? [bold(file)] : [bold(file), `  ${name}`];

function formatStepLines(file: string, { number, title, outcome, ok, problems }: StepResult): StyledLine[] {
  const label = ok ? green("ok    ") : red("failed");
  return [
    ["  ", label, ` ${number.padStart(3)}  `, title, ...(outcome === "" ? [] : [dim(`  ${outcome}`)])],
    ...problems.map(
      ({ message, line, column }): StyledLine => ["              ", red(message), dim(`  (${file}:${line}:${column})`)],
    ),
  ];
}

/** Appended to a failed scenario: the causes of the current state. */
function endLines({ ok, skipped, hint, traced, trace }: ScenarioResult): StyledLine[] {
  if (ok) return [""];
  return [
    ...(hint === undefined ? [] : [`  ${hint}`]),
    ...(skipped > 0 ? [[dim(`  ${pluralize(skipped, "step was", "steps were")} not run`)]] : []),
    ...(traced === undefined ? [] : [["  ", cyan(`trace of ${traced}`)], ...trace.map((line) => `    ${line}`)]),
    "",
  ];
}

function formatSummary(results: readonly ScenarioResult[], seconds: string): StyledLine {
  const failed = results.filter(({ ok }) => !ok).length;
  const counts = `${pluralize(results.length, "scenario")}, ${results.length - failed} passed, ${failed} failed`;
  return [failed === 0 ? green(counts) : red(counts), dim(`, ${seconds} s`)];
}
