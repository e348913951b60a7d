import { EventEmitter, once } from "node:events";
import { watch } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import spawn from "cross-spawn";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { annotateAt, shouldAnnotate } from "../../output/ci.ts";
import { writeOutput } from "../../output/file.ts";
import { explainError, formatExplanation } from "../../process/exit.ts";
import { UsageError } from "../../process/failure.ts";
import { inputVariable } from "../../process/host.ts";
import { readScenarioSeed, withScenarioEnvironment } from "./environment.ts";
import {
  formatHtmlReport,
  formatJUnitReport,
  formatRunSummary,
  formatScenarioEndLines,
  formatScenarioHeading,
  formatStepLines,
} from "./reports.ts";
import { runScenario, type ScenarioResult } from "./run-scenario.ts";
import { InvalidScenarioError, insertObservations, loadScenarios, type ParsedScenario } from "./scenario-file.ts";

interface RunFilesOptions {
  /** Number of processes. The default depends on the CPU cores and files. */
  readonly jobs: number | undefined;
  readonly report?: string | undefined;
  readonly html?: string | undefined;
  readonly update: boolean;
}

/** Minimum number of files per process, because starting a process takes as long as several files. */
const minFilesPerProcess = 12;

/** Runs scenario files and reports the results in their order. Resolves with true if all scenarios succeeded. */
export async function runFiles(
  files: readonly string[],
  { jobs: givenJobs, report, html, update }: RunFilesOptions,
  context: Context,
): Promise<boolean> {
  const { host, output, globals } = context;
  const annotate = async (...args: [position: Parameters<typeof annotateAt>[1], message: string]) => {
    if (shouldAnnotate(host.env, context.argv)) await annotateAt(host, ...args);
  };
  const startedAt = host.wall.monotonicNow();
  const load = async () => {
    const scenarios = await loadScenarios(files, context);
    for (const scenario of scenarios) await readScenarioSeed(scenario, host);
    return scenarios;
  };
  const scenarios = await load().catch(async (error: unknown) => {
    if (error instanceof InvalidScenarioError) {
      for (const problem of error.problems) await annotate(problem, problem.sentence);
    }
    throw error;
  });
  const isText = output.format === "table";
  const usefulProcesses = Math.min(availableParallelism(), Math.ceil(scenarios.length / minFilesPerProcess));
  const jobs = Math.min(givenJobs ?? usefulProcesses, scenarios.length);
  const printsSteps = isText && jobs === 1 && !globals.quiet;
  const run =
    jobs > 1
      ? runInProcesses(scenarios, jobs, update, context)
      : runInThisProcess(scenarios, { update, traces: html !== undefined || !isText, printsSteps }, context);
  const results: ScenarioResult[] = [];
  for await (const result of run) {
    results.push(result);
    const { file, name, ok, steps } = result;
    if (isText && !printsSteps && !(globals.quiet && ok)) {
      await output.print(formatScenarioHeading(file, name), ...steps.flatMap((step) => formatStepLines(file, step)));
    }
    if (isText && !(globals.quiet && ok)) await output.print(...formatScenarioEndLines(result));
    if (output.format === "ndjson") await output.printDocument(result);
    for (const { title, problems } of steps) {
      for (const problem of problems) await annotate({ file, ...problem }, `${title}: ${problem.message}`);
    }
  }
  const isUpdated = !update || (await updateExpectations(scenarios, results, context));
  const seconds = (host.wall.monotonicNow() - startedAt) / 1_000;
  const ok = isUpdated && results.every((result) => result.ok);
  if (report !== undefined) await writeOutput(host, report, [Buffer.from(formatJUnitReport(results))]);
  if (html !== undefined) await writeOutput(host, html, [Buffer.from(formatHtmlReport(results, seconds))]);
  if (isText) await output.print(formatRunSummary(results, seconds));
  else if (output.format !== "ndjson") {
    const layout = { rows: "scenarios", columns: ["file", "name", "ok", "seconds"] };
    await output.show({ ok, seconds, scenarios: results }, layout);
  }
  return ok;
}

/** Delay after a change, because editors write a file in several steps. */
const minQuietMs = 50;

/** Runs the files, and repeats the run after each change until it is interrupted. */
export async function watchFiles(
  files: readonly string[],
  options: RunFilesOptions,
  context: Context,
): Promise<undefined> {
  const { host, output, signal } = context;
  const changes = new EventEmitter();
  const waitForChange = () => once(changes, "change", { signal }).catch(() => {});
  const paths = files.map((file) => resolve(host.cwd, file));
  // An editor can replace a file, so the folders are watched.
  const watchers = [...new Set(paths.map(dirname))].map((folder) =>
    watch(folder, (_, name) => {
      if (name === null || paths.includes(join(folder, name))) changes.emit("change");
    }),
  );
  context.onEnd(async () => {
    for (const watcher of watchers) watcher.close();
  });
  while (true) {
    const changeDuringRun = waitForChange();
    try {
      await runFiles(files, options, context);
    } catch (error) {
      // The user is probably still editing an invalid file.
      if (!(error instanceof UsageError)) throw error;
      for (const line of formatExplanation(explainError(error))) await output.warn(line);
    }
    await output.note(`Watching ${pluralize(files.length, "file")} (press Ctrl-C to stop)`);
    // With --update, the run itself has changed the files.
    await (options.update ? waitForChange() : changeDuringRun);
    await host.wall.sleep(minQuietMs, signal);
    signal.throwIfAborted();
  }
}

/** Resolves with true if all observed values are written. */
async function updateExpectations(
  scenarios: readonly ParsedScenario[],
  results: readonly ScenarioResult[],
  { host, output }: Context,
): Promise<boolean> {
  let isComplete = true;
  for (const { file, seen } of results) {
    const parsed = scenarios.find((scenario) => scenario.file === file);
    if (!parsed) continue;
    const written = seen.filter(({ path }) => parsed.document.hasIn(path));
    if (written.length > 0) {
      await writeOutput(host, resolve(host.cwd, file), [Buffer.from(insertObservations(parsed, written))]);
      await output.note(`Wrote ${pluralize(written.length, "expectation")} into ${file}`);
    }
    for (const { path } of seen.filter((value) => !written.includes(value))) {
      const { line, column } = parsed.locate(path);
      const name = path.slice(path.lastIndexOf("expect") + 1).join(".");
      await output.warn(
        `warning: ${file}:${line}:${column}: ${name} is behind an alias or a merge key and cannot be written.`,
      );
      isComplete = false;
    }
  }
  return isComplete;
}

async function* runInThisProcess(
  scenarios: readonly ParsedScenario[],
  { update, traces, printsSteps }: { update: boolean; traces: boolean; printsSteps: boolean },
  context: Context,
): AsyncGenerator<ScenarioResult> {
  const { output, signal } = context;
  for (const parsed of scenarios) {
    signal.throwIfAborted();
    const { file, scenario } = parsed;
    if (printsSteps) await output.print(formatScenarioHeading(file, scenario.name ?? ""));
    yield await withScenarioEnvironment(parsed, context, (environment) =>
      runScenario(parsed, environment, {
        update,
        traces,
        onStep: async (step) => {
          if (printsSteps) await output.print(...formatStepLines(file, step));
        },
      }),
    );
  }
}

/** Runs scenarios in several processes of this program, and yields the results in the order of the files. */
async function* runInProcesses(
  scenarios: readonly ParsedScenario[],
  jobs: number,
  isUpdate: boolean,
  context: Context,
): AsyncGenerator<ScenarioResult> {
  const workers = Array.from({ length: jobs }, (_, job) => {
    const files = scenarios.filter((_, i) => i % jobs === job).map(({ file }) => file);
    return startWorker(files, isUpdate, context);
  });
  const kill = (signal: NodeJS.Signals) => {
    for (const { child } of workers) child.kill(signal);
  };
  const stop = () => kill(context.shutdown.name ?? "SIGTERM");
  context.signal.addEventListener("abort", stop, { once: true });
  context.shutdown.onForcedExit(() => kill("SIGKILL"));
  try {
    for (const [i, parsed] of scenarios.entries()) {
      const { lines, readNotes } = workers[i % jobs]!;
      const { done, value } = await lines.next();
      context.signal.throwIfAborted();
      yield done ? createEndedResult(parsed, readNotes()) : (JSON.parse(value) as ScenarioResult);
    }
  } finally {
    context.signal.removeEventListener("abort", stop);
    for (const { child } of workers) if (child.exitCode === null) child.kill();
  }
}

/** Creates the result of a scenario whose process was killed or failed. The other processes continue. */
function createEndedResult({ file, scenario }: ParsedScenario, notes: string): ScenarioResult {
  const [line = ""] = notes.trim().split("\n");
  const hint = `The process that runs this file has ended: ${line.replace(/^error: /, "") || "it printed nothing"}`;
  const { name = "", steps } = scenario;
  return { file, name, ok: false, seconds: 0, steps: [], skipped: steps.length, hint, trace: [], seen: [] };
}

/** Starts a process that prints the result of each of these files as a line. */
function startWorker(files: readonly string[], isUpdate: boolean, { host, globals }: Context) {
  const [program, ...first] = host.program;
  const flags = ["--format", "ndjson", "--jobs", "1", "--no-annotations", ...(isUpdate ? ["--update"] : [])];
  const paths = files.map((file) => (file.startsWith("-") ? `./${file}` : file));
  const child = spawn(program, [...first, "run", ...paths, ...flags, ...(globals.quiet ? ["--quiet"] : [])], {
    cwd: host.cwd,
    env: { ...host.env, [inputVariable]: "1" } as NodeJS.ProcessEnv,
    stdio: "pipe",
  });
  let notes = "";
  const addNote = (text: string) => {
    notes += text;
  };
  child.stderr!.setEncoding("utf8").on("data", addNote);
  child.on("error", (error) => addNote(error.message));
  return { child, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator](), readNotes: () => notes };
}
