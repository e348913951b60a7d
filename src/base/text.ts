/**
 * Finds the candidate that was probably meant. It has at most two typing mistakes and differs in less than half of the
 * word. The argument parser corrects only names of commands and flags (ARCHITECTURE.md, Written by hand).
 */
export function findNearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.floor(word.length / 2) + 1);
  for (const candidate of candidates) {
    const distance = computeEditDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns `Did you mean "x"?`, or the whole list if no candidate is similar. */
export function formatSuggestion(word: string, candidates: readonly string[]): string {
  const near = findNearest(word, candidates);
  return near === undefined ? `Known: ${[...candidates].sort().join(", ")}.` : `Did you mean ${near}?`;
}

/**
 * Counts the insertions, deletions, replacements and swaps of neighbors that turn one list into the other. `replace` is
 * the cost of a replacement.
 */
export function computeEditDistance(
  a: ArrayLike<string>,
  b: ArrayLike<string>,
  replace = (one: string, other: string): number => (one === other ? 0 : 1),
): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + replace(a[i - 1]!, b[j - 1]!));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(isSwapped ? Math.min(least, before[j - 2]! + 1) : least);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}

export const toNonEmptyString = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the text with its first letter in upper case. */
export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Lowercases the first letter of a sentence for use after a colon, unless the first word is an acronym. */
export const lowercaseFirst = (text: string): string =>
  text.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase());

/** Formats a count with its noun: `1 row`, `2 rows`, `3 retries`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** Lists words: `a`, `a and b`, `a, b and c`. */
export const joinWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** Removes these characters from the end of a string. A regular expression such as `/=+$/` takes quadratic time. */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end -= 1;
  return text.slice(0, end);
}

/** Converts a title or a field name to lower-case words: `find-the-cluster`, `filter-priority-eq`. */
export const slugify = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/** Quotes a word for a POSIX shell if it contains special characters. */
export const quoteShellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
