import { pluralize } from "../../base/pluralize.ts";
import { bold, cyan, dim, green, red, type StyledLine } from "../output/styled.ts";
import type { ScenarioResult, StepResult } from "./result.ts";

/** The heading of a scenario. */
export const headingLine = (file: string, name: string): StyledLine =>
  name === "" ? [bold(file)] : [bold(file), `  ${name}`];

/** A step, and what is wrong with it. */
export function stepLines(file: string, { number, title, outcome, ok, problems }: StepResult): StyledLine[] {
  const mark = ok ? green("ok    ") : red("failed");
  return [
    ["  ", mark, ` ${number.padStart(3)}  `, title, ...(outcome === "" ? [] : [dim(`  ${outcome}`)])],
    ...problems.map(
      ({ message, line, column }): StyledLine => ["              ", red(message), dim(`  (${file}:${line}:${column})`)],
    ),
  ];
}

/** What follows the steps of a scenario that failed: why things are as they are. */
export function endLines({ ok, skipped, traced, trace }: ScenarioResult): StyledLine[] {
  if (ok) return [""];
  return [
    ...(skipped > 0 ? [[dim(`  ${pluralize(skipped, "step was", "steps were")} not run`)]] : []),
    ...(traced === undefined ? [] : [["  ", cyan(`trace of ${traced}`)], ...trace.map((line) => `    ${line}`)]),
    "",
  ];
}

/** The last line of a run. */
export function summaryLine(results: readonly ScenarioResult[], seconds: string): StyledLine {
  const failed = results.filter(({ ok }) => !ok).length;
  const counts = `${pluralize(results.length, "scenario")}, ${results.length - failed} passed, ${failed} failed`;
  return [failed === 0 ? green(counts) : red(counts), dim(`, ${seconds} s`)];
}
