import { pluralize } from "../../base/pluralize.ts";
import type { Context } from "../command.ts";
import { annotate, shouldAnnotate } from "../output/github-actions.ts";
import { formatJUnit } from "../output/junit.ts";
import type { CheckOutcome } from "./run-checks.ts";

/** The report in JUnit's XML. A warning passes, and stands among what was printed. */
export const formatReport = (outcomes: readonly CheckOutcome[]): string =>
  formatJUnit(
    "svc auth certify",
    outcomes.map(({ check, scenario, verdict, detail, fix, basis, seconds }) => ({
      name: verdict === "warning" ? `${check} (warning: ${detail})` : check,
      className: `svc.auth.certify.${scenario}`,
      // The checks of a scenario share its time.
      seconds: seconds / outcomes.filter((one) => one.scenario === scenario).length,
      ...(verdict === "failed" && { failure: { message: detail, text: [fix, `Basis: ${basis}`].join("\n") } }),
      ...(verdict === "not_checked" && { skipped: detail }),
    })),
  );

/** All outcomes as rows; to people also what to fix, and the counts. */
export async function showResults(outcomes: readonly CheckOutcome[], context: Context): Promise<void> {
  const { output, host, argv } = context;
  const rows = outcomes.map(({ check, verdict, detail, fix, basis, scenario, seconds }) => ({
    check,
    verdict,
    detail,
    fix: fix ?? null,
    basis,
    scenario,
    seconds: Number(seconds.toFixed(1)),
  }));
  await output.show(rows, {
    fields: ["check", "verdict", "detail", "fix", "basis", "scenario", "seconds"],
    columns: ["check", "verdict", { name: "detail", cut: 1, least: 24, purpose: true }],
  });
  for (const { check, detail, fix, basis, verdict } of outcomes) {
    if (fix === undefined) continue;
    if (output.format === "table") await output.note(`${check}: ${fix} Basis: ${basis}.`);
    if (verdict === "failed" && shouldAnnotate(host.env, argv))
      await annotateFailure(check, `${detail} ${fix}`, context);
  }
  await output.note(describeCounts(outcomes));
}

const annotateFailure = (check: string, message: string, { host }: Context): Promise<void> =>
  annotate(host, {
    code: check,
    message,
    hint: undefined,
  });

/** `9 passed, 1 failed, 2 warnings, 3 not checked`. */
function describeCounts(outcomes: readonly CheckOutcome[]): string {
  const count = (verdict: CheckOutcome["verdict"]) => outcomes.filter((one) => one.verdict === verdict).length;
  const [warnings, failed, unchecked] = [count("warning"), count("failed"), count("not_checked")];
  return [
    `${count("passed")} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warnings > 0 ? [pluralize(warnings, "warning")] : []),
    ...(unchecked > 0 ? [`${unchecked} not checked`] : []),
  ].join(", ");
}
