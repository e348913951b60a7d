import { pluralize } from "../../../base/text.ts";
import { formatJUnit } from "../../output/junit.ts";
import { bold, cyan, dim, green, red, type StyledLine } from "../../output/styled.ts";
import type { ScenarioResult, StepResult } from "./result.ts";

export const formatScenarioHeading = (file: string, name: string): StyledLine =>
  name === "" ? [bold(file)] : [bold(file), `  ${name}`];

export function formatStepLines(file: string, { number, title, outcome, ok, problems }: StepResult): StyledLine[] {
  const label = ok ? green("ok    ") : red("failed");
  return [
    ["  ", label, ` ${number.padStart(3)}  `, title, ...(outcome === "" ? [] : [dim(`  ${outcome}`)])],
    ...problems.map(
      ({ message, line, column }): StyledLine => ["              ", red(message), dim(`  (${file}:${line}:${column})`)],
    ),
  ];
}

/** Formats the end of a failed scenario: the hint, the number of skipped steps, and the trace. */
export function formatScenarioEndLines({ ok, skipped, hint, traced, trace }: ScenarioResult): StyledLine[] {
  if (ok) return [""];
  return [
    ...(hint === undefined ? [] : [`  ${hint}`]),
    ...(skipped > 0 ? [[dim(`  ${pluralize(skipped, "step was", "steps were")} not run`)]] : []),
    ...(traced === undefined ? [] : [["  ", cyan(`trace of ${traced}`)], ...trace.map((line) => `    ${line}`)]),
    "",
  ];
}

export function formatRunSummary(results: readonly ScenarioResult[], seconds: number): StyledLine {
  const { ok, counts } = countScenarioResults(results);
  return [(ok ? green : red)(counts), dim(`, ${seconds.toFixed(1)} s`)];
}

export function countScenarioResults(results: readonly ScenarioResult[]) {
  const failed = results.filter(({ ok }) => !ok).length;
  const counts = `${pluralize(results.length, "scenario")}, ${results.length - failed} passed, ${failed} failed`;
  return { ok: failed === 0, counts };
}

/** Formats one case per scenario for CI servers. */
export const formatJUnitReport = (results: readonly ScenarioResult[]): string =>
  formatJUnit(
    "svc run",
    results.map(({ file, name, ok, seconds, steps, hint, traced, trace }) => {
      const problems = steps.flatMap(({ number, title, problems: found }) =>
        found.map(({ message, line }) => `${file}:${line} step ${number} (${title}): ${message}`),
      );
      const text = [
        ...problems,
        ...(hint === undefined ? [] : [hint]),
        ...(traced ? ["", `trace of ${traced}`] : []),
        ...trace,
      ].join("\n");
      const failure = { message: problems[0] ?? "failed", text };
      return { name: name || file, className: file, seconds, ...(ok ? {} : { failure }) };
    }),
  );
