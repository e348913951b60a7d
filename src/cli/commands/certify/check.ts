import { findNearest, pluralize } from "../../../base/text.ts";
import { checkOutputFile, removeEarlierReport, writeOutput } from "../../output/file.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/**
 * Result of a check. `not_checked` means that the run does not show it. `warning` means allowed but risky; it does not
 * fail the run.
 */
export type CheckResult = "passed" | "failed" | "warning" | "not_checked";

export interface CheckFinding {
  readonly result: CheckResult;
  /** Observation as one sentence, for a receiver without a full stop. */
  readonly detail: string;
  readonly fix?: string | undefined;
}

export const passed = (detail: string): CheckFinding => ({ result: "passed", detail });
export const failed = (detail: string, fix?: string): CheckFinding => ({ result: "failed", detail, fix });
export const warning = (detail: string, fix: string): CheckFinding => ({ result: "warning", detail, fix });
export const notChecked = (detail: string): CheckFinding => ({ result: "not_checked", detail });

/** Selects checks by the comma-separated IDs or ID prefixes (`signature`) of --only and --skip. */
export function selectChecks<C extends { readonly id: string }>(
  all: readonly C[],
  { only, skip }: Readonly<Record<"only" | "skip", readonly string[] | undefined>>,
  listCommand: readonly string[],
): readonly C[] {
  const isNamed = (names: readonly string[], { id }: C) =>
    names.some((name) => id === name || id.startsWith(`${name}.`));
  const parseNames = (flag: string, values: readonly string[] = []) => {
    const names = values.flatMap((text) => text.split(",")).flatMap((text) => text.trim() || []);
    const unknownName = names.find((name) => !all.some((check) => isNamed([name], check)));
    if (unknownName === undefined) return names;
    const knownNames = new Set(all.flatMap(({ id }) => [id, id.split(".")[0]!]));
    // The list of all checks is a page long, and `next` shows it.
    const nearest = findNearest(unknownName, [...knownNames]);
    const hint = nearest === undefined ? {} : { hint: `Did you mean ${nearest}?` };
    throw new UsageError(`${flag} must be a check, got "${unknownName}"`, { next: listCommand, ...hint });
  };
  const selectedNames = parseNames("--only", only);
  const skippedNames = parseNames("--skip", skip);
  const remainingChecks = all.filter(
    (check) => (selectedNames.length === 0 || isNamed(selectedNames, check)) && !isNamed(skippedNames, check),
  );
  if (remainingChecks.length === 0) throw new UsageError("--skip leaves no check to run");
  return remainingChecks;
}

/** Reports whether no check has a result, so that a run proves nothing. */
export const isUnchecked = (checks: readonly { readonly result: CheckResult }[]): boolean =>
  checks.every(({ result }) => result === "not_checked");

export const nothingChecked = "Nothing was checked";

type CheckCounts = Readonly<Record<CheckResult, number>>;

export function countCheckResults(checks: readonly { readonly result: CheckResult }[]): CheckCounts {
  const counts = { passed: 0, failed: 0, warning: 0, not_checked: 0 };
  for (const { result } of checks) counts[result] += 1;
  return counts;
}

/** Formats `9 passed, 1 failed, 2 warnings, 3 not checked`. */
export const describeCounts = ({ passed, failed, warning, not_checked }: CheckCounts): string =>
  `${passed} passed, ${failed} failed, ${pluralize(warning, "warning")}, ${not_checked} not checked`;

/** Checks the file of --report before any check runs. Returns a function that writes the file. */
export async function createReportWriter(
  path: string | undefined,
  host: Host,
): Promise<(xml: string) => Promise<void>> {
  if (path === undefined) return async () => {};
  const isOurs = (text: string) => text.startsWith("<?xml");
  await removeEarlierReport(host, await checkOutputFile(host, path, "--report", { isOurs }));
  return (xml) => writeOutput(host, path, [Buffer.from(xml)]);
}
