import { CsvError, Parser } from "csv-parse";
import { describeDelimiter, detectSeparator, OtherFormatError, splitCells, toDelimiterValue } from "./format.ts";
import { createUnreadableInputError } from "./identifiers.ts";
import type { InputRecord, TableNotation } from "./records.ts";

const lineEnds: readonly (number | undefined)[] = [undefined, 0x0a, 0x0d];

/** Creates the notation for delimiter-separated, optionally quoted cells (RFC 4180). */
export const createCsvNotation = (bytes: AsyncIterable<Buffer>, delimiter: string | null): TableNotation => ({
  records: parseCsvRecords(bytes, delimiter ?? ","),
  decodeCell: (cell) => cell,
  explainError: explainCsvError,
  findOtherFormat: (first, message) => (delimiter === null ? findOtherDelimiter(first, message) : undefined),
  // Excel writes this line and skips it when reading.
  isDirective: (raw) => raw.trim() === `sep=${delimiter ?? ","}`,
});

/**
 * Parses the records of a CSV stream in groups, one per piece, so that records before an error are complete. A partial
 * record is not yielded.
 */
export async function* parseCsvRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter = ",",
): AsyncGenerator<readonly InputRecord[]> {
  const parser = new RecordParser(delimiter);
  let failure: { readonly cause: unknown } | undefined;
  let last: number | undefined;
  try {
    for await (const piece of bytes) {
      last = piece.at(-1);
      await parser.parsePiece(piece);
      if (parser.records.length > 0) yield parser.records.splice(0);
    }
    await parser.parsePiece(null);
  } catch (cause) {
    failure = { cause };
    // The parser stores the last line until it sees the next one. An incomplete line is not a row.
    if (!(cause instanceof CsvError)) {
      const isParsed = await parser.parsePiece(null).then(
        () => true,
        () => false,
      );
      if (isParsed && !lineEnds.includes(last)) parser.records.pop();
    }
  }
  // Complete rows come first, because the last one shows where the error begins.
  if (parser.records.length > 0) yield parser.records;
  if (failure) throw failure.cause;
}

/** Parser that collects the records, because reading them one by one from a stream costs more than parsing. */
class RecordParser extends Parser {
  readonly records: InputRecord[] = [];

  constructor(delimiter: string) {
    // The raw text distinguishes an empty line from a line with an empty quoted field.
    super({ bom: true, relax_column_count: true, raw: true, delimiter });
    // `parsePiece` handles the error.
    this.on("error", () => {});
  }

  override push(record: InputRecord | null): boolean {
    if (record !== null) this.records.push(record);
    return true;
  }

  parsePiece(piece: Uint8Array | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error | null) => (error ? reject(error) : resolve());
      if (piece) this.write(piece, settle);
      else this.end(settle);
    });
  }
}

const isUnclosed = (error: unknown): boolean => error instanceof CsvError && error.code === "CSV_QUOTE_NOT_CLOSED";

/** Explains the error. `line` is the line after the last complete row, where the invalid row begins. */
function explainCsvError(cause: unknown, line: number): unknown {
  if (!(cause instanceof CsvError)) return cause;
  // The parser reports the line at the end of the input.
  const reason = isUnclosed(cause)
    ? `a quote opened at or after line ${line} is not closed`
    : `${explainQuoteError(cause)} in the row that begins at line ${line}`;
  const message = `Invalid CSV: ${reason}`;
  const [, separator = ""] = /Invalid Closing Quote: got "([;|\t])"/.exec(cause.message) ?? [];
  const flags = getDelimiterFlags(separator);
  return flags
    ? new OtherFormatError(message, { flags, hint: delimiterHint, cause })
    : createUnreadableInputError(message, { hint: otherFormats, cause });
}

/** The parser rejects only quotes, and its messages are about settings of a program. */
const explainQuoteError = ({ message }: CsvError): string =>
  message.startsWith("Invalid Opening Quote")
    ? "a quote is inside an unquoted cell"
    : "a closing quote is followed by other characters";

const otherFormats = "If the input has another format, use --input-format ndjson, tsv or lines.";

const delimiterHint = "If the cells have another delimiter, set it.";

/** Returns undefined for a comma and for characters that separate no cells. */
const getDelimiterFlags = (character: string): string[] | undefined =>
  [";", "|", "\t"].includes(character) ? ["--delimiter", toDelimiterValue(character)] : undefined;

/**
 * Finds a row that was split at the wrong separator. Without a selected column, the row can be an identifier that
 * contains a bar.
 */
function findOtherDelimiter(row: readonly string[], message: string | undefined): OtherFormatError | undefined {
  const line = row.join(",");
  const isWhole = row.filter((cell) => cell.trim() !== "").length === 1;
  const separator = message !== undefined && isWhole && line.includes("|") ? "|" : (detectSeparator(line) ?? "");
  const flags = getDelimiterFlags(separator);
  if (!flags) return undefined;
  return new OtherFormatError(
    message ?? `The delimiter of the input is ${describeDelimiter(separator)}, not a comma.`,
    {
      flags,
      hint: message === undefined ? "If it is part of an identifier, use --delimiter ','." : delimiterHint,
      columns: { first: splitCells(line, separator), secondRow: [] },
    },
  );
}
