import { dirname } from "node:path";
import { type Disk, type DiskFile, isMissing } from "../../../../../files/disk.ts";
import { formatCsvLine } from "../../../../output/text.ts";
import type { InvalidRow, RowBatch } from "../input/batches.ts";
import type { RejectedRange } from "../send.ts";

/** Row of the results (DECISIONS.md, L17). */
export interface ResultRow {
  readonly row: number;
  readonly input: string;
  readonly status: "ok" | "invalid" | "failed";
  readonly code: string;
  readonly message: string;
  /** Previous cluster of the identifier. Empty without a look-up. */
  readonly moved_from: string;
}

export const resultColumns = ["row", "input", "status", "code", "message", "moved_from"] as const;

export const resultsHeader: string = formatCsvLine(resultColumns);

export const formatResultLine = (result: ResultRow): string =>
  formatCsvLine(resultColumns.map((name) => String(result[name])));

export const isResultsFile = (beginning: string): boolean => beginning.startsWith(resultsHeader);

export const toInvalidResult = ({ number, text, problem }: InvalidRow): ResultRow => ({
  row: number,
  input: text,
  status: "invalid",
  code: "invalid_identifier",
  message: problem,
  moved_from: "",
});

/** Results of the rows of a batch. Positions count valid rows only. */
export interface BatchOutcome {
  readonly rejected: readonly RejectedRange[];
  /** Unexpected results of the later look-up, by position. */
  readonly mismatches: ReadonlyMap<number, string>;
  readonly movedFrom: ReadonlyMap<number, string>;
}

/** Formats the results of one batch as lines of CSV: all rows, or only those with errors. */
export function formatResultLines(
  { getRows, invalid }: RowBatch,
  { rejected, mismatches, movedFrom }: BatchOutcome,
  retention: "errors" | "all",
): string {
  const lines = invalid.map((row) => formatResultLine(toInvalidResult(row)));
  if (rejected.length === 0 && mismatches.size === 0 && retention === "errors") return lines.join("");
  getRows().forEach(({ number, text }, position) => {
    const rejection = rejected.find(({ from, to }) => position >= from && position < to);
    const mismatch = mismatches.get(position);
    const failure = rejection ? getReason(rejection) : mismatch && { code: "not_verified", message: mismatch };
    const row = { row: number, input: text, code: "", message: "", moved_from: "" };
    if (failure) lines.push(formatResultLine({ ...row, status: "failed", ...failure }));
    else if (retention === "all")
      lines.push(formatResultLine({ ...row, status: "ok", moved_from: movedFrom.get(position) ?? "" }));
  });
  return lines.join("");
}

const getReason = ({ error: { status, problem } }: RejectedRange) => ({
  code: problem.code ?? `http_${status}`,
  message: problem.message,
});

export class OpenResults {
  readonly #file: DiskFile;
  #writtenBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;

  private constructor(file: DiskFile, length: number) {
    this.#file = file;
    this.#writtenBytes = length;
  }

  /** Opens or creates the file and truncates it to the length in the log. Reports a shorter file. */
  static async open(
    disk: Disk,
    path: string,
    length: number,
    report: (message: string) => Promise<void>,
  ): Promise<OpenResults> {
    const header = Buffer.from(resultsHeader);
    const file = await openOrCreate(disk, path);
    const size = await file.size();
    if (size < length) await report(`${path} was truncated: earlier failed rows are missing`);
    const keptBytes = Math.min(size, length);
    await file.truncate(keptBytes < header.byteLength ? 0 : keptBytes);
    if (keptBytes < header.byteLength) await file.write(header, 0);
    await file.sync();
    return new OpenResults(file, Math.max(keptBytes, header.byteLength));
  }

  get length(): number {
    return this.#writtenBytes + this.#waitingBytes;
  }

  add(rows: string): void {
    if (rows === "") return;
    this.#waiting.push(rows);
    this.#waitingBytes += Buffer.byteLength(rows);
  }

  async write(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.splice(0).join(""));
    if (bytes.byteLength === 0) return;
    await this.#file.write(bytes, this.#writtenBytes);
    await this.#file.datasync();
    this.#writtenBytes += bytes.byteLength;
    this.#waitingBytes -= bytes.byteLength;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function openOrCreate(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await disk.open(path, "write");
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const file = await disk.create(path);
  await disk.syncFolder(dirname(path));
  return file;
}
