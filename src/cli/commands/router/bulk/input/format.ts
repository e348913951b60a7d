import { UsageError } from "../../../../process/failure.ts";

interface InputOptions {
  readonly flags: readonly string[];
  /** Cells of the first two rows, which are used to choose a column. */
  readonly columns?: { readonly first: readonly string[]; readonly secondRow: readonly string[] } | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Error for an input in another format than expected, so nothing may be sent. */
export class OtherFormatError extends UsageError {
  readonly reading: InputOptions;

  constructor(message: string, reading: InputOptions) {
    super(message, { hint: reading.hint, cause: reading.cause });
    this.reading = reading;
  }
}

/** Finds the most frequent separator of a line: semicolon, tab or comma. Returns undefined if there is none. */
export function detectSeparator(line: string): string | undefined {
  const counts = [";", "\t", ","].map((character) => ({ character, count: line.split(character).length - 1 }));
  const [mostFrequent] = counts.sort((a, b) => b.count - a.count);
  return mostFrequent!.count > 0 ? mostFrequent!.character : undefined;
}

/** Returns the value of --delimiter that selects the character. */
export const toDelimiterValue = (character: string): string => (character === "\t" ? "tab" : character);

export const describeDelimiter = (character: string): string => (character === "\t" ? "a tab" : `"${character}"`);

export const splitCells = (line: string, separator: string): string[] =>
  line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));

/** Rejects lines that look like rows of a table, unless a flag declares plain lines. */
export function rejectTable(line: string, secondLine: string, columns: readonly string[]): void {
  const separator = detectSeparator(line);
  if (separator === undefined) return;
  const isTab = separator === "\t";
  const delimiter = separator === "," || isTab ? [] : ["--delimiter", separator];
  const flags = ["--input-format", isTab ? "tsv" : "csv", ...delimiter];
  const [first, secondRow] = [splitCells(line, separator), splitCells(secondLine, separator)];
  if (columns.length > 0) {
    // Rows with a kind and an identifier can contain separators.
    if (!first.includes("kind") && !first.includes("table")) return;
    throw new OtherFormatError("The input is a table, but would be read as lines.", { flags });
  }
  const table = `a table with ${describeDelimiter(separator)} as the delimiter`;
  throw new OtherFormatError(`The input looks like ${table}, but would be read as lines.`, {
    flags,
    columns: { first, secondRow },
    hint: "If each line is one identifier, use --input-format lines.",
  });
}

export const inputFormats = ["lines", "csv", "tsv", "ndjson"] as const;
export type InputFormat = (typeof inputFormats)[number];

const byExtension: readonly (readonly [RegExp, InputFormat])[] = [
  [/\.csv$/, "csv"],
  [/\.tsv$/, "tsv"],
  [/\.(ndjson|jsonl)$/, "ndjson"],
];

/** Determines the format by the file extension: `.csv`, `.tsv`, `.ndjson` or `.jsonl`, each optionally with `.gz`. */
export function detectFormat(path: string): InputFormat {
  const name = path.toLowerCase().replace(/\.gz$/, "");
  return byExtension.find(([extension]) => extension.test(name))?.[1] ?? "lines";
}

/** No service uses such words as identifiers. Without this check, the heading would be mapped. */
const heading =
  /^(?:[a-z]{1,20}[ _.-]){0,3}(?:(?:e-?)?mail|address|id|uuid|guid|token|team|tenant|client|user|identifier|key|hash|kind)s?$/i;
const camelHeading = /^[a-z]{1,20}(?:[A-Z][a-z]{1,20}){0,3}(?:Email|Address|Id|ID|Uuid|UUID|Token|Key|Hash)s?$/;

export const isHeadingText = (text: string): boolean => heading.test(text) || camelHeading.test(text);

export const describeHeading = (text: string): string =>
  `the heading of its column. Select the column with --column "${text}"`;

/**
 * Reports whether the row was rejected as a heading. Without a column flag, the first column is used regardless of its
 * content.
 */
export const isHeading = (problem: string): boolean => problem.includes("with --column");
