import type { Context } from "../../../command.ts";
import { annotate, shouldAnnotate } from "../../../output/github-actions.ts";
import { formatJUnit } from "../../../output/junit.ts";
import { countResults, describeCounts } from "../check.ts";
import type { CheckOutcome } from "./run-checks.ts";

/** Formats the JUnit XML report. A warning counts as passed and appears in the output. */
export const formatReport = (outcomes: readonly CheckOutcome[]): string =>
  formatJUnit(
    "svc auth certify",
    outcomes.map(({ id, scenario, result, detail, fix, basis, seconds }) => ({
      name: result === "warning" ? `${id} (warning: ${detail})` : id,
      className: `svc.auth.certify.${scenario}`,
      // The checks of a scenario share its time.
      seconds: seconds / outcomes.filter((one) => one.scenario === scenario).length,
      ...(result === "failed" && { failure: { message: detail, text: [fix, `Basis: ${basis}`].join("\n") } }),
      ...(result === "not_checked" && { skipped: detail }),
    })),
  );

/** Prints all outcomes as rows. Users also get the fixes and the counts. */
export async function showResults(outcomes: readonly CheckOutcome[], context: Context): Promise<void> {
  const { output, host, argv } = context;
  const rows = outcomes.map(({ fix = null, seconds, ...row }) => ({
    ...row,
    fix,
    seconds: Number(seconds.toFixed(1)),
  }));
  await output.show(rows, {
    fields: ["id", "result", "detail", "fix", "basis", "scenario", "seconds"],
    columns: ["id", "result", { name: "detail", cut: 1, least: 24, purpose: true }],
  });
  for (const { id, detail, fix, basis, result } of outcomes) {
    if (fix === undefined) continue;
    if (output.format === "table") await output.note(`${id}: ${fix} Basis: ${basis}.`);
    if (result === "failed" && shouldAnnotate(host.env, argv))
      await annotate(host, { code: id, message: `${detail} ${fix}`, hint: undefined });
  }
  await output.note(describeCounts(countResults(outcomes)));
}
