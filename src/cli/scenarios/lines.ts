import { counted } from "../../base/counted.ts";
import { bold, cyan, dim, green, type Line, red } from "../output/styled.ts";
import type { ScenarioResult, StepResult } from "./result.ts";

/** The heading of a scenario. */
export const headingLine = (file: string, name: string): Line =>
  name === "" ? [bold(file)] : [bold(file), `  ${name}`];

/** A step, and what is wrong with it. */
export function stepLines(file: string, { number, title, outcome, ok, problems }: StepResult): Line[] {
  const mark = ok ? green("ok    ") : red("failed");
  return [
    ["  ", mark, ` ${number.padStart(3)}  `, title, ...(outcome === "" ? [] : [dim(`  ${outcome}`)])],
    ...problems.map(
      ({ message, line, column }): Line => ["              ", red(message), dim(`  (${file}:${line}:${column})`)],
    ),
  ];
}

/** What follows the steps of a scenario that failed: why things are as they are. */
export function endLines({ ok, skipped, traced, trace }: ScenarioResult): Line[] {
  if (ok) return [""];
  return [
    ...(skipped > 0 ? [[dim(`  ${counted(skipped, "step was", "steps were")} not run`)]] : []),
    ...(traced === undefined ? [] : [["  ", cyan(`trace of ${traced}`)], ...trace.map((line) => `    ${line}`)]),
    "",
  ];
}

/** The last line of a run. */
export function summaryLine(results: readonly ScenarioResult[], seconds: string): Line {
  const failed = results.filter(({ ok }) => !ok).length;
  const counts = `${counted(results.length, "scenario")}, ${results.length - failed} passed, ${failed} failed`;
  return [failed === 0 ? green(counts) : red(counts), dim(`, ${seconds} s`)];
}
