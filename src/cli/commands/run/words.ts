/**
 * The words of a command line, as a POSIX shell takes quotes and backslashes; undefined where a quote is left open. A
 * reference in braces is never split.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < line.length; i += 1) {
    const char = line[i]!;
    const reference = char === "$" ? /^\$\{[^{}]*\}/.exec(line.slice(i))?.[0] : undefined;
    if (reference !== undefined) {
      word = (word ?? "") + reference;
      i += reference.length - 1;
    } else if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\]/.test(line[i + 1] ?? "")) word += line[++i]!;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + (char === "\\" ? (line[++i] ?? "") : char);
  }
  if (quote !== "") return undefined;
  if (word !== undefined) words.push(word);
  return words;
}
