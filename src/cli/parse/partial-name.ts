const most = 3;

/**
 * `Did you mean --only-for-activities?` of an unknown `activities`: the flags that have all its words among theirs.
 * Undefined where none has them, or too many.
 */
export function suggestPartialName(unknown: string, flags: readonly string[]): string | undefined {
  const words = unknown.split("-");
  const found = flags.filter((flag) => words.every((word) => flag.split("-").includes(word)));
  if (found.length === 0 || found.length > most) return undefined;
  return `Did you mean ${found.map((flag) => `--${flag}`).join(" or ")}?`;
}
