import { didYouMean } from "../../base/suggest.ts";
import { UsageError } from "../failure.ts";
import { behaviorChecks, responseTimeCheck } from "./behavior-checks.ts";
import type { Check } from "./check.ts";
import { genuineCheck, genuineChecks } from "./genuine-checks.ts";
import { probeCheck, probeChecks } from "./probe-checks.ts";
import { signatureChecks } from "./signature-checks.ts";

/** All checks, in the order in which they are made. Their positions number their events. */
export const allChecks: readonly Check[] = [
  genuineCheck,
  responseTimeCheck,
  probeCheck,
  ...genuineChecks,
  ...signatureChecks,
  ...behaviorChecks,
  ...probeChecks,
];

/** The checks that --only and --skip leave: by ID, or by what their IDs begin with (`signature`). */
export function selectChecks({ only, skip }: { readonly only: readonly string[]; readonly skip: readonly string[] }) {
  const isNamed = (names: readonly string[]) => (check: Check) =>
    names.some((name) => check.id === name || check.id.startsWith(`${name}.`));
  for (const [flag, names] of [["--only", only] as const, ["--skip", skip] as const]) {
    const unknown = names.find((name) => !allChecks.some(isNamed([name])));
    if (unknown === undefined) continue;
    const groups = new Set(allChecks.flatMap(({ id }) => [id, id.split(".")[0]!]));
    throw new UsageError(`${flag}: unknown check "${unknown}". ${didYouMean(unknown, [...groups])}`, {
      next: ["webhooks", "certify", "--list"],
    });
  }
  const chosen = only.length === 0 ? allChecks : allChecks.filter(isNamed(only));
  const selected = chosen.filter((check) => !isNamed(skip)(check));
  if (selected.length === 0) throw new UsageError("--skip leaves no check");
  return selected;
}
