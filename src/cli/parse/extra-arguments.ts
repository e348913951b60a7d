import type { Command as Commander } from "commander";
import { parseDuration } from "../../base/duration.ts";
import type { FlagSpec } from "../../derive/command-spec.ts";
import { UsageError } from "../failure.ts";

/** The parser counts arguments; which word is one too many, and which option takes it, is said here. */
export function explainExtraArguments(
  error: UsageError,
  declared: readonly (readonly [Commander, readonly FlagSpec[]])[],
  argv: readonly string[],
): UsageError {
  const deepest = declared.toSorted(([a], [b]) => wordsOf(b).length - wordsOf(a).length);
  const [command, flags = []] = deepest.find(([one]) => one.args.length > one.registeredArguments.length) ?? [];
  const extra = command?.args[command.registeredArguments.length];
  if (command === undefined || extra === undefined) return error;
  const taken = command.registeredArguments.map((one) => `<${one.name().replaceAll("_", "-")}>`);
  const takes = taken.length === 0 ? "options alone" : `${taken.join(" ")} and options`;
  const isFields = argv[argv.indexOf(extra) - 1] === "--json";
  const flag = flagFor(extra, flags);
  const option = isFields ? `--json=${extra}` : flag && `--${flag} ${extra}`;
  const hint = option === undefined ? undefined : `Did you mean ${option}?`;
  const message = `too many arguments: svc ${wordsOf(command).join(" ")} takes ${takes}, not "${extra}" as well`;
  return new UsageError(message, { hint, cause: error });
}

function wordsOf(command: Commander): string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : [];
}

/** The option that takes what looks like this: a duration, a moment, a contract. */
function flagFor(word: string, flags: readonly FlagSpec[]): string | undefined {
  const looks = [
    { is: parseDuration(word) !== undefined, names: ["by", "within"] },
    { is: /^\d{4}-\d\d-\d\d/.test(word), names: ["to", "since"] },
    { is: /^[TH]-\d+$/.test(word), names: ["contract", "contract-ids"] },
  ];
  const names = looks.find(({ is }) => is)?.names ?? [];
  return names.find((name) => flags.some(({ flag }) => flag === name));
}
