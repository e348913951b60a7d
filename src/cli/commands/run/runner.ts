import { EventEmitter, once } from "node:events";
import { watch } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Document, isCollection, isMap, isNode, isScalar, isSeq } from "yaml";
import { isObject } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { writeOutput } from "../../output/file.ts";
import { annotateAt, shouldAnnotate } from "../../output/github-actions.ts";
import { UsageError } from "../../process/failure.ts";
import { ScenarioEmulators } from "./emulators.ts";
import { InvalidScenariosError, loadScenarios } from "./load.ts";
import type { ParsedScenario } from "./parse.ts";
import { runInProcesses } from "./processes.ts";
import {
  formatHtmlReport,
  formatJUnitReport,
  formatRunSummary,
  formatScenarioEndLines,
  formatScenarioHeading,
  formatStepLines,
} from "./reports.ts";
import type { ObservedValue, ScenarioResult } from "./result.ts";
import { runScenario } from "./run-scenario.ts";

interface RunFilesOptions {
  /** Number of processes. The default depends on the CPU cores and files. */
  readonly jobs: number | undefined;
  readonly report?: string | undefined;
  readonly html?: string | undefined;
  readonly update: boolean;
}

/** Minimum number of files per process, because starting a process takes as long as several files. */
const minFilesPerProcess = 12;

/**
 * Runs scenario files and reports the results in the order of the files. Resolves with true if all scenarios succeeded.
 */
export async function runFiles(
  files: readonly string[],
  settings: RunFilesOptions,
  context: Context,
): Promise<boolean> {
  const { host, output, globals } = context;
  const startedAt = host.wall.monotonicNow();
  const scenarios = await loadScenarios([...new Set(files)], context).catch(async (error: unknown) => {
    if (error instanceof InvalidScenariosError && shouldAnnotate(host.env, context.argv)) {
      for (const { file, position, sentence } of error.errors) await annotateAt(host, { file, ...position }, sentence);
    }
    throw error;
  });
  const isText = output.format === "table";
  const usefulProcesses = Math.min(availableParallelism(), Math.ceil(scenarios.length / minFilesPerProcess));
  const jobs = Math.min(settings.jobs ?? usefulProcesses, scenarios.length);
  const results =
    jobs > 1
      ? runInProcesses(scenarios, jobs, settings.update, context)
      : runInThisProcess(scenarios, settings, context, isText && !globals.quiet);
  const finished: ScenarioResult[] = [];
  for await (const result of results) {
    finished.push(result);
    if (isText && (globals.quiet ? !result.ok : jobs > 1)) {
      const steps = result.steps.flatMap((step) => formatStepLines(result.file, step));
      await output.print(formatScenarioHeading(result.file, result.name), ...steps, ...formatScenarioEndLines(result));
    }
    if (output.format === "ndjson") await output.printDocument(result);
    await annotateFailures(result, context);
  }
  if (settings.update) await updateExpectations(scenarios, finished, jobs, context);
  const seconds = (host.wall.monotonicNow() - startedAt) / 1_000;
  const ok = finished.every((result) => result.ok);
  const { report, html } = settings;
  if (report !== undefined) await writeOutput(host, report, [Buffer.from(formatJUnitReport(finished))]);
  if (html !== undefined) await writeOutput(host, html, [Buffer.from(formatHtmlReport(finished, seconds))]);
  const layout = { rows: "scenarios", columns: ["file", "name", "ok", "seconds"] };
  if (isText) await output.print(formatRunSummary(finished, seconds));
  else if (output.format !== "ndjson") await output.show({ ok, seconds, scenarios: finished }, layout);
  return ok;
}

/** Delay after a change, because editors write a file in several steps. */
const minQuietMs = 50;

/** Runs the files, and repeats the run after each change until it is interrupted. */
export async function watchFiles(
  files: readonly string[],
  settings: RunFilesOptions,
  context: Context,
): Promise<undefined> {
  const { host, output, signal } = context;
  const changes = new EventEmitter();
  let hasChanged = false;
  changes.on("change", () => {
    hasChanged = true;
  });
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
    hasChanged = false;
    try {
      await runFiles(files, settings, context);
    } catch (error) {
      // The user is probably still editing an invalid file.
      if (!(error instanceof UsageError)) throw error;
      await output.warn(`error: ${error.message}`);
    }
    await output.note(`Watching ${pluralize(files.length, "file")} (press Ctrl-C to stop)`);
    // With --update, the run itself has changed the files.
    if (!hasChanged || settings.update) await once(changes, "change", { signal }).catch(() => {});
    await host.wall.sleep(minQuietMs, signal);
    signal.throwIfAborted();
  }
}

/** Writes observed values into the expectations of the files. Preserves comments and all other content. */
async function updateExpectations(
  scenarios: readonly ParsedScenario[],
  results: readonly ScenarioResult[],
  jobs: number,
  { host, output }: Context,
): Promise<void> {
  for (const { file, seen: actualValues } of results) {
    const parsed = scenarios.find((scenario) => scenario.file === file);
    if (!parsed || actualValues.length === 0) continue;
    // Child processes have already written their files.
    if (jobs === 1)
      await writeOutput(host, resolve(host.cwd, file), [
        Buffer.from(parsed.mark + insertObservations(parsed, actualValues)),
      ]);
    await output.note(`Wrote ${pluralize(actualValues.length, "expectation")} into ${file}`);
  }
}

function insertObservations({ text, document }: ParsedScenario, actualValues: readonly ObservedValue[]): string {
  const edits = actualValues.flatMap(({ path, value }) => findEdits(document.getIn(path, true), value));
  // The positions stay valid from the end of the text to its beginning.
  return edits
    .sort((a, b) => b.start - a.start)
    .reduce((now, { start, end, value }) => {
      const before = now.slice(start, end);
      const blanks = before.slice(before.trimEnd().length);
      // An omitted value has no space after the colon.
      const space = now[start - 1] === ":" ? " " : "";
      return now.slice(0, start) + space + formatYaml(value) + blanks + now.slice(end);
    }, text);
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
}

/** Finds the smallest parts of a node whose values change, so that the layout and comments around them stay. */
function findEdits(node: unknown, value: unknown): readonly Edit[] {
  if (isSeq(node) && Array.isArray(value) && node.items.length === value.length) {
    return node.items.flatMap((item, i) => findEdits(item, value[i]));
  }
  if (isMap(node) && isObject(value) && node.items.length === Object.keys(value).length) {
    const keys = node.items.map(({ key }) => (isScalar(key) ? String(key.value) : undefined));
    if (keys.every((key) => key !== undefined && Object.hasOwn(value, key))) {
      return node.items.flatMap((pair, i) => findEdits(pair.value, value[keys[i]!]));
    }
  }
  if (!isNode(node) || !node.range || (isScalar(node) && node.value === value && value !== null)) return [];
  return [{ start: node.range[0], end: node.range[1], value }];
}

/** Formats a value on one line for any position in a file, spaced as in the pages for users. */
function formatYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatYaml).join(", ")}]`;
  if (isObject(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).map(([key, member]) => `${formatYaml(key)}: ${formatYaml(member)}`);
    return `{ ${members.join(", ")} }`;
  }
  const document = new Document([value]);
  if (isCollection(document.contents)) document.contents.flow = true;
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trim().slice(1, -1);
}

/** Runs scenarios sequentially in this process, each on a fork. Prints steps as they complete. */
async function* runInThisProcess(
  scenarios: readonly ParsedScenario[],
  { update, html }: RunFilesOptions,
  context: Context,
  printsSteps: boolean,
): AsyncGenerator<ScenarioResult> {
  const { output, host } = context;
  const { registry: operations } = await import("../../../api/registry.ts");
  const emulators = new ScenarioEmulators(context);
  context.onEnd(() => emulators.close());
  for (const parsed of scenarios) {
    context.signal.throwIfAborted();
    if (printsSteps) await output.print(formatScenarioHeading(parsed.file, parsed.scenario.name ?? ""));
    const result = await emulators.withEnvironment(parsed, (environment) =>
      runScenario(parsed, environment, {
        operations,
        wall: host.wall,
        update,
        traces: html !== undefined || output.format !== "table",
        onStep: async (step) => {
          if (printsSteps) await output.print(...formatStepLines(parsed.file, step));
        },
      }),
    );
    if (printsSteps) await output.print(...formatScenarioEndLines(result));
    yield result;
  }
}

async function annotateFailures({ file, steps }: ScenarioResult, { host, argv }: Context): Promise<void> {
  if (!shouldAnnotate(host.env, argv)) return;
  for (const { title, problems } of steps) {
    for (const { message, line, column } of problems)
      await annotateAt(host, { file, line, column }, `${title}: ${message}`);
  }
}
