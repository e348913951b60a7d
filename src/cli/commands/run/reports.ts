import { pluralize } from "../../../base/text.ts";
import { escapeMarkup, formatJUnit } from "../../output/ci.ts";
import { bold, cyan, dim, green, red, type StyledLine } from "../../output/styled.ts";
import type { ScenarioResult, StepResult } from "./run-scenario.ts";

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

function countScenarioResults(results: readonly ScenarioResult[]) {
  const failed = results.filter(({ ok }) => !ok).length;
  const counts = `${pluralize(results.length, "scenario")}, ${results.length - failed} passed, ${failed} failed`;
  return { ok: failed === 0, counts };
}

export const formatJUnitReport = (results: readonly ScenarioResult[]): string =>
  formatJUnit(
    "svc run",
    results.map(({ file, name, ok, seconds, steps, hint, traced, trace }) => {
      const problems = steps.flatMap(({ number, title, problems: mismatches }) =>
        mismatches.map(({ message, line }) => `${file}:${line} step ${number} (${title}): ${message}`),
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

const pageStyle = `
:root { color-scheme: light dark; --line: #8884; --ok: #1a7f37; --failed: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ok: #4ac26b; --failed: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
section { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; padding: 0 1rem 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-top: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
pre { overflow-x: auto; font-size: 13px; }
.ok { color: var(--ok); } .failed { color: var(--failed); }
p.failed { margin: .2rem 0; }
`;

/** Formats a page with the results, output and traces of scenarios. The page loads no resources. */
export function formatHtmlReport(results: readonly ScenarioResult[], seconds: number): string {
  const { ok, counts } = countScenarioResults(results);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeMarkup(counts)}</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>svc run</h1>
<p class="${formatVerdict(ok)}">${escapeMarkup(counts)}, ${seconds.toFixed(1)} s</p>
${results.map(formatSection).join("\n")}
</body>
</html>
`;
}

function formatSection({ file, name, ok, seconds, steps, skipped, hint, traced, trace }: ScenarioResult): string {
  const lines = escapeMarkup(trace.join("\n"));
  return `<section>
<h2><span class="${formatVerdict(ok)}">${formatVerdict(ok)}</span> ${escapeMarkup(name || file)}</h2>
<p><code>${escapeMarkup(file)}</code>, ${seconds.toFixed(2)} s</p>
<table>
<thead><tr><th>Step</th><th>Result</th><th>Description</th><th>Virtual time</th></tr></thead>
<tbody>
${steps.map(formatRow).join("\n")}
</tbody>
</table>
${hint === undefined ? "" : `<p>${escapeMarkup(hint)}</p>`}
${skipped > 0 ? `<p>${pluralize(skipped, "step was", "steps were")} not run.</p>` : ""}
${traced === undefined ? "" : `<details${ok ? "" : " open"}><summary>Trace of ${escapeMarkup(traced)}</summary><pre>${lines}</pre></details>`}
</section>`;
}

const formatRow = ({ number, title, outcome, ok, problems, at, line, output, notes }: StepResult): string => `<tr>
<td>${escapeMarkup(number)}</td>
<td class="${formatVerdict(ok)}">${formatVerdict(ok)}</td>
<td>${escapeMarkup(title)} <small>${escapeMarkup(outcome)}</small>
${problems.map(({ message }) => `<p class="failed">${escapeMarkup(message)}</p>`).join("")}
${formatOutput(`${output}${notes}`)}<small>line ${line}</small></td>
<td>${escapeMarkup(at)}</td>
</tr>`;

const formatOutput = (text: string): string =>
  text.trim() === "" ? "" : `<details><summary>Output</summary><pre>${escapeMarkup(text.trim())}</pre></details>`;

const formatVerdict = (ok: boolean): string => (ok ? "ok" : "failed");
