import { didYouMean } from "../../base/suggest.ts";
import { UsageError } from "../failure.ts";
import { type Check, checks } from "./checks.ts";

/** The checks of `--only` without those of `--skip`: by id, or by what stands before its dot. */
export function chooseChecks(only: readonly string[] = [], skip: readonly string[] = []): readonly Check[] {
  const isOf = (names: readonly string[], { id }: Check) =>
    names.some((name) => id === name || id.startsWith(`${name}.`));
  for (const [flag, names] of [
    ["--only", only],
    ["--skip", skip],
  ] as const) {
    for (const name of names) {
      if (checks.some((check) => isOf([name], check))) continue;
      const known = checks.map(({ id }) => id);
      throw new UsageError(`${flag} must be a check, got "${name}"`, {
        hint: `${didYouMean(name, known)} svc auth certify --list shows all.`,
      });
    }
  }
  const chosen = checks.filter((check) => (only.length === 0 || isOf(only, check)) && !isOf(skip, check));
  if (chosen.length > 0) return chosen;
  throw new UsageError("--skip leaves no check to run");
}
