import { CsvError } from "csv-parse";
import { formatSize } from "../../../../../base/quantities.ts";
import { formatConversionHint } from "../../../../parse/encoding.ts";
import { UsageError } from "../../../../process/failure.ts";
import type { IdentifierKind } from "../identifiers.ts";

export const inputFormats = ["lines", "csv", "tsv", "ndjson"] as const;
export type InputFormat = (typeof inputFormats)[number];

/** Determines the format by the file extension: `.csv`, `.tsv`, `.ndjson` or `.jsonl`, each optionally with `.gz`. */
export function detectFormat(path: string): InputFormat {
  const [, extension] = /\.(csv|tsv|ndjson|jsonl)(?:\.gz)?$/.exec(path.toLowerCase()) ?? [];
  return extension === "jsonl" ? "ndjson" : ((extension as InputFormat | undefined) ?? "lines");
}

/** Error for an input that is unreadable from some row on. The caller adds the completed work. */
export class InputError extends UsageError {
  readonly code: string;

  constructor(code: string, message: string, options: { readonly hint?: string | undefined; cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** Error for bytes that are not UTF-8. `explainReadError` adds the row. */
export class InvalidUtf8Error extends Error {
  readonly encoding: string;

  constructor(encoding: string) {
    super("not UTF-8");
    this.encoding = encoding;
  }
}

/** Cells of the first two rows of a table. */
type FirstRows = readonly [first: readonly string[], second: readonly string[]];

/** Error for input in another format, so nothing may be sent. `flags` read it, with a column of `rows`, if set. */
export class OtherFormatError extends UsageError {
  readonly flags: readonly string[];
  readonly rows: FirstRows | undefined;

  constructor(message: string, hint: string | undefined, flags: readonly string[] = [], rows?: FirstRows) {
    super(message, { hint });
    this.flags = flags;
    this.rows = rows;
  }
}

/** Explains an error of the decoder or of the parser. `line` is the line in which the invalid row begins. */
export function explainReadError(cause: unknown, line: number): unknown {
  if (cause instanceof InvalidUtf8Error) {
    const hint = formatConversionHint(cause.encoding);
    return new InputError("unreadable_input", `Row ${line} is not UTF-8`, { hint, cause });
  }
  if (!(cause instanceof CsvError)) return cause;
  const message = `Invalid CSV: ${explainQuote(cause, line)}`;
  const [, separator = ""] = /Invalid Closing Quote: got "([;|\t])"/.exec(cause.message) ?? [];
  if (separator !== "")
    return new OtherFormatError(message, "If the cells have another delimiter, set it.", getDelimiterFlags(separator));
  const hint = "If the input has another format, use --input-format ndjson, tsv or lines.";
  return new InputError("unreadable_input", message, { hint, cause });
}

/** Maximum size of a row of a CSV table: a quote that is not closed would collect the rest of the input. */
export const maxRecordBytes = 16 * 1_024 * 1_024;

/** The parser rejects only quotes and long rows. Its messages name its settings, and the line where the input ends. */
function explainQuote({ code, message }: CsvError, line: number): string {
  if (code === "CSV_QUOTE_NOT_CLOSED") return `a quote opened at or after line ${line} is not closed`;
  if (code === "CSV_MAX_RECORD_SIZE")
    return `the row that begins at line ${line} is longer than ${formatSize(maxRecordBytes)}, as if a quote were not closed`;
  const problem = message.startsWith("Invalid Opening Quote")
    ? "a quote is inside an unquoted cell"
    : "a closing quote is followed by other characters";
  return `${problem} in the row that begins at line ${line}`;
}

const getDelimiterFlags = (separator: string): string[] => ["--delimiter", separator === "\t" ? "tab" : separator];

const describeSeparator = (separator: string): string => (separator === "\t" ? "a tab" : `"${separator}"`);

const separators = [";", "\t", ","];

/** Finds the most frequent separator of a line. Returns undefined if there is none. */
function detectSeparator(line: string, candidates: readonly string[] = separators): string | undefined {
  const counts = candidates.map((character) => ({ character, count: line.split(character).length - 1 }));
  const [mostFrequent] = counts.sort((a, b) => b.count - a.count);
  return mostFrequent!.count > 0 ? mostFrequent!.character : undefined;
}

const splitCells = (line: string, separator: string): string[] =>
  line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));

/** Rejects lines that look like a JSON array or rows of a table, unless a flag declares plain lines. */
export function rejectTable(line: string, secondLine: string, columns: readonly string[]): void {
  if (/^\[(?:\s*[{"]|$)/.test(line))
    throw new OtherFormatError(
      "The input is a JSON array.",
      "Write one JSON value per line, as --format ndjson does.",
      ["--input-format", "ndjson"],
    );
  const separator = detectSeparator(line);
  if (separator === undefined) return;
  const format = separator === "\t" ? "tsv" : "csv";
  const flags = ["--input-format", format, ...(separator === ";" ? ["--delimiter", separator] : [])];
  const rows = [splitCells(line, separator), splitCells(secondLine, separator)] as const;
  if (columns.length > 0) {
    // Rows with a kind and an identifier can contain separators.
    if (!rows[0].includes("kind") && !rows[0].includes("table")) return;
    throw new OtherFormatError("The input is a table, but would be read as lines.", undefined, flags);
  }
  const table = `a table with ${describeSeparator(separator)} as the delimiter`;
  const hint = "If each line is one identifier, use --input-format lines.";
  throw new OtherFormatError(`The input looks like ${table}, but would be read as lines.`, hint, flags, rows);
}

/** Rejects the first row of a CSV table that was split at the wrong separator, and so has no such column. */
function rejectOtherDelimiter(row: readonly string[], candidates?: readonly string[], column?: string): void {
  const line = row.join(",");
  const separator = detectSeparator(line, candidates);
  if (separator === undefined || separator === ",") return;
  // One of several headings can contain a separator, while the name of the column is misspelled.
  if (column !== undefined && row.length > 1 && !splitCells(line, separator).includes(column)) return;
  const message = `The delimiter of the input is ${describeSeparator(separator)}, not a comma.`;
  const hint = "If it is part of an identifier, use --delimiter ','.";
  throw new OtherFormatError(message, hint, getDelimiterFlags(separator), [splitCells(line, separator), []]);
}

const joinNames = (names: readonly string[]): string => names.slice(0, 40).join(", ");

/** Rejects the implicit use of the first of several columns, and of a whole row as one cell. */
export function rejectUnnamedColumn([first, second]: FirstRows, mayHaveOtherDelimiter: boolean): void {
  if (mayHaveOtherDelimiter) rejectOtherDelimiter(/^sep=.?$/.test(first[0] ?? "") ? second : first);
  if (first.filter((cell) => cell.trim() !== "").length < 2) return;
  const message = `The input has ${first.length} columns: ${joinNames(first)}.`;
  throw new OtherFormatError(message, "Select a column with --column.", [], [first, second]);
}

/** Rejects the implicit use of the first of several fields of a JSON object. */
export function rejectUnnamedField(object: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(object);
  if (names.length < 2) return;
  const message = `The objects of the input have several fields: ${joinNames(names)}.`;
  const values = names.map((name) => String(object[name]));
  throw new OtherFormatError(message, "Select a field with --column.", [], [names, values]);
}

/** Column names of svc router resolve, whose output svc router offboard accepts. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["kind", "table"],
  ["identifier", "key"],
]);

export function matchColumnName(names: readonly string[], column: string, columns: readonly string[]): string {
  return columns.length > 1 && !names.includes(column) ? (otherNames.get(column) ?? column) : column;
}

export function findColumns(columns: readonly string[], header: readonly string[], mayHaveOtherDelimiter: boolean) {
  const names = header.map((name) => name.trim());
  return columns.map((column) => {
    const name = matchColumnName(names, column, columns);
    const index = names.indexOf(name);
    if (index < 0) {
      // An identifier can contain a bar, but hardly a heading.
      if (mayHaveOtherDelimiter) rejectOtherDelimiter(header, [...separators, "|"], name);
      throw new UsageError(`Column "${column}" not found`, { hint: `Columns: ${joinNames(header)}` });
    }
    const duplicate = names.indexOf(name, index + 1);
    if (duplicate < 0) return index;
    const message = `Columns ${index + 1} and ${duplicate + 1} have the same name, "${column}".`;
    const flags = columns.length === 1 ? ["--column", String(index + 1)] : [];
    throw new OtherFormatError(message, "Select one by its number.", flags);
  });
}

/** Guesses the column to select: the one with addresses, or else the one whose heading names the identifier. */
export function guessColumn([first, second]: FirstRows, { noun, findProblem }: IdentifierKind): string {
  const isValid = (cell: string) => cell.trim() !== "" && findProblem(cell.trim()) === undefined;
  const indexInFirst = noun === "e-mail" ? first.findIndex(isValid) : -1;
  if (indexInFirst >= 0) return String(indexInFirst + 1);
  const indexInSecond = noun === "e-mail" ? second.findIndex(isValid) : -1;
  const headings = first.filter((cell) => isHeadingText(cell.trim()));
  const word = noun.split(" ")[0]!.replace("-", "");
  const heading = headings.find((cell) => cell.toLowerCase().includes(word)) ?? headings[0] ?? "NAME";
  return (first[indexInSecond] ?? heading).trim();
}

/** No service uses such words as identifiers. Without this check, the heading would be mapped. */
const heading =
  /^(?:[a-z]{1,20}[ _.-]){0,3}(?:(?:e-?)?mail|address|id|uuid|guid|token|team|tenant|client|user|identifier|key|hash|kind)s?$/i;
const camelHeading = /^[a-z]{1,20}(?:[A-Z][a-z]{1,20}){0,3}(?:Email|Address|Id|ID|Uuid|UUID|Token|Key|Hash)s?$/;

const isHeadingText = (text: string): boolean => heading.test(text) || camelHeading.test(text);

/** Describes why a first row is not an identifier but a heading. Returns undefined for any other text. */
export const findHeadingProblem = (text: string) =>
  isHeadingText(text)
    ? { isHeading: true, problem: `the heading of its column. Select the column with --column "${text}"` }
    : undefined;
