import { CsvError, Parser } from "csv-parse";
import { toUtf8Error } from "./bytes.ts";
import { detectSeparator, OtherFormatError, splitCells } from "./format.ts";
import { createUnreadableInputError } from "./identifiers.ts";
import type { InputRecord, Notation } from "./records.ts";

const lineEnds: readonly (number | undefined)[] = [undefined, 0x0a, 0x0d];

/** Cells with a delimiter between, some of them in quotes (RFC 4180). */
export const createCsvNotation = (bytes: AsyncIterable<Buffer>, delimiter: string | null): Notation => ({
  records: parseCsvRecords(bytes, delimiter ?? ","),
  decodeCell: (cell) => cell,
  explainError: (cause, line) => explainCsvError(toUtf8Error(cause, line), line),
  findOtherFormat: (first, message) => (delimiter === null ? findOtherDelimiter(first, message) : undefined),
  // Excel writes it, and leaves it out when it reads.
  isDirective: (raw) => raw.trim() === `sep=${delimiter ?? ","}`,
});

/**
 * The records of a CSV stream, in groups: those of each piece at once, so that an error finds none on its way; a
 * partial record is not one.
 */
export async function* parseCsvRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter = ",",
): AsyncGenerator<readonly InputRecord[]> {
  const parser = new RecordParser(delimiter);
  let trouble: { readonly cause: unknown } | undefined;
  let last: number | undefined;
  try {
    for await (const piece of bytes) {
      last = piece.at(-1);
      await parser.parsePiece(piece);
      if (parser.records.length > 0) yield parser.records.splice(0);
    }
    await parser.parsePiece(null);
  } catch (cause) {
    trouble = { cause };
    // It keeps the last line until it sees what follows; and what is no whole line is not a row.
    if (!(cause instanceof CsvError)) {
      const isTaken = await parser.parsePiece(null).then(
        () => true,
        () => false,
      );
      if (isTaken && !lineEnds.includes(last)) parser.records.pop();
    }
  }
  // Whole rows first: the last one shows where the error begins.
  if (parser.records.length > 0) yield parser.records;
  if (trouble) throw trouble.cause;
}

/** Keeps the records itself: to be read of a stream, one by one, each would cost more than to be parsed. */
class RecordParser extends Parser {
  readonly records: InputRecord[] = [];

  constructor(delimiter: string) {
    // Without the raw text an empty line and one that holds an empty quoted field were the same.
    super({ bom: true, relax_column_count: true, raw: true, delimiter });
    // Set by `parsed`.
    this.on("error", () => {});
  }

  override push(record: InputRecord | null): boolean {
    if (record !== null) this.records.push(record);
    return true;
  }

  /** Parses what has come, or the end. */
  parsePiece(piece: Uint8Array | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error | null) => (error ? reject(error) : resolve());
      if (piece) this.write(piece, settle);
      else this.end(settle);
    });
  }
}

const isUnclosed = (error: unknown): boolean => error instanceof CsvError && error.code === "CSV_QUOTE_NOT_CLOSED";

/** Why it cannot be read, in words; `line` is the one after the last whole row, where the row with the trouble begins. */
function explainCsvError(cause: unknown, line: number): unknown {
  if (!(cause instanceof CsvError)) return cause;
  // The parser names the line where the input ends.
  const why = isUnclosed(cause)
    ? `a quote opened at or after line ${line} is not closed`
    : `${quoteTrouble(cause)} in the row that begins at line ${line}`;
  const message = `Invalid CSV: ${why}`;
  const [, found = ""] = /Invalid Closing Quote: got "([;|\t])"/.exec(cause.message) ?? [];
  const flags = getDelimiterFlags(found);
  return flags
    ? new OtherFormatError(message, { flags, hint: delimiterHint, cause })
    : createUnreadableInputError(message, { hint: otherFormats, cause });
}

/** The parser rejects nothing but quotes; its own words are about settings of programs. */
const quoteTrouble = ({ message }: CsvError): string =>
  message.startsWith("Invalid Opening Quote")
    ? "a quote is inside an unquoted cell"
    : "a closing quote is followed by other characters";

const otherFormats = "If the input has another format, use --input-format ndjson, tsv or lines.";

const delimiterHint = "If the cells have another delimiter, set it.";

const names: ReadonlyMap<string, string> = new Map([
  [";", ";"],
  ["|", "|"],
  ["\t", "tab"],
]);

const getDelimiterFlags = (character: string): string[] | undefined =>
  names.has(character) ? ["--delimiter", names.get(character)!] : undefined;

/** Reports a row that was cut at the wrong places. Without a chosen column it may be an identifier with a bar in it. */
function findOtherDelimiter(row: readonly string[], message: string | undefined): OtherFormatError | undefined {
  const line = row.join(",");
  const isWhole = row.filter((cell) => cell.trim() !== "").length === 1;
  const separator = message !== undefined && isWhole && line.includes("|") ? "|" : detectSeparator(line)?.character;
  const flags = getDelimiterFlags(separator ?? "");
  if (!flags) return undefined;
  const shown = separator === "\t" ? "a tab" : `"${separator}"`;
  return new OtherFormatError(message ?? `The delimiter of the input is ${shown}, not a comma.`, {
    flags,
    hint: message === undefined ? "If it is part of an identifier, use --delimiter ','." : delimiterHint,
    columns: { first: splitCells(line, separator!), second: [] },
  });
}
