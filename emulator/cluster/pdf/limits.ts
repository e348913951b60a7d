/** Limits for reading one PDF. The error message of a larger file names the exceeded limit. */
export const pdfLimits = {
  /** Wall-clock time after the process gets the file. */
  timeMs: 10_000,
  /** Limit for the process. A kilobyte can expand to a gigabyte. */
  memoryMb: 512,
  textLength: 5_000_000,
  /** Limits for waiting files: number, total size, and waiting time. */
  waitingFiles: 1_000,
  waitingBytes: 256 * 1024 * 1024,
  waitMs: 30_000,
  startMs: 60_000,
} as const;

export const timeLimitMessage = `reading it takes more than ${pdfLimits.timeMs / 1_000} seconds`;
export const memoryLimitMessage = `reading it takes more than ${pdfLimits.memoryMb} MiB of memory`;
export const textLimitMessage = `its text is longer than ${pdfLimits.textLength / 1_000_000} million characters`;
export const nestingLimitMessage = "it is nested too deeply";

/** Reports whether a file exceeded a limit in a process that may still be working on it. */
export const isLimitMessage = (problem: string | undefined): boolean =>
  problem !== undefined && [textLimitMessage, nestingLimitMessage].includes(problem);

export const parseFailureMessage = "it cannot be parsed";

export interface PdfTask {
  readonly goal: "check" | "text";
  readonly file: Uint8Array;
}

/** The text of a PDF, line by line (empty if it was not requested), or the reason why it cannot be read. */
export type PdfReadResult =
  | { readonly lines: readonly string[]; readonly problem?: undefined }
  | { readonly problem: string; readonly lines?: undefined };

/** If `broken` is set, the process must not read another file. */
export type WorkerMessage = { readonly started: true } | { readonly reading: PdfReadResult; readonly broken: boolean };
