import { lookupTable } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { escapeMultilineText } from "../../output/control-characters.ts";
import { countScenarioResults } from "./reports.ts";
import type { ScenarioResult, StepResult } from "./result.ts";

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
<title>${escapeHtml(counts)}</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>svc run</h1>
<p class="${formatVerdict(ok)}">${escapeHtml(counts)}, ${seconds.toFixed(1)} s</p>
${results.map(formatSection).join("\n")}
</body>
</html>
`;
}

const formatSection = ({
  file,
  name,
  ok,
  seconds,
  steps,
  skipped,
  hint,
  traced,
  trace,
}: ScenarioResult): string => `<section>
<h2><span class="${formatVerdict(ok)}">${formatVerdict(ok)}</span> ${escapeHtml(name || file)}</h2>
<p><code>${escapeHtml(file)}</code>, ${seconds.toFixed(2)} s</p>
<table>
<thead><tr><th>Step</th><th>Verdict</th><th>What</th><th>Virtual time</th></tr></thead>
<tbody>
${steps.map(formatRow).join("\n")}
</tbody>
</table>
${hint === undefined ? "" : `<p>${escapeHtml(hint)}</p>`}
${skipped > 0 ? `<p>${pluralize(skipped, "step was", "steps were")} not run.</p>` : ""}
${traced === undefined ? "" : `<details${ok ? "" : " open"}><summary>Trace of ${escapeHtml(traced)}</summary><pre>${escapeHtml(trace.join("\n"))}</pre></details>`}
</section>`;

const formatRow = ({ number, title, outcome, ok, problems, at, line, output, notes }: StepResult): string => `<tr>
<td>${escapeHtml(number)}</td>
<td class="${formatVerdict(ok)}">${formatVerdict(ok)}</td>
<td>${escapeHtml(title)} <small>${escapeHtml(outcome)}</small>
${problems.map(({ message }) => `<p class="failed">${escapeHtml(message)}</p>`).join("")}
${formatOutput(`${output}${notes}`)}<small>line ${line}</small></td>
<td>${escapeHtml(at)}</td>
</tr>`;

const formatOutput = (text: string): string =>
  text.trim() === "" ? "" : `<details><summary>Output</summary><pre>${escapeHtml(text.trim())}</pre></details>`;

const formatVerdict = (ok: boolean): string => (ok ? "ok" : "failed");

const htmlEntities = lookupTable({
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
});

/** Escapes untrusted text in a page. Control characters become visible escapes. */
const escapeHtml = (text: string): string =>
  escapeMultilineText(text).replace(/[&<>"']/g, (char) => htmlEntities[char]!);
