/** Limits for reading one PDF. A larger one is rejected with a message that names the limit. */
export const pdfLimits = {
  /** Wall-clock time since the file was passed to the process. */
  timeMs: 10_000,
  /** For objects, and the same again for bytes, counted as they are allocated: a kilobyte may expand to a gigabyte. */
  memoryMb: 512,
  /** Characters of text. */
  textLength: 5_000_000,
  /** Limits of waiting files: their number, their total size, and their waiting time. */
  waiting: 1_000,
  waitingBytes: 256 * 1024 * 1024,
  waitMs: 30_000,
  startMs: 60_000,
} as const;

export const timeLimitMessage = `reading it takes more than ${pdfLimits.timeMs / 1_000} seconds`;
export const memoryLimitMessage = `reading it takes more than ${pdfLimits.memoryMb} MiB of memory`;
export const textLimitMessage = `its text is longer than ${pdfLimits.textLength / 1_000_000} million characters`;
export const nestingLimitMessage = "it is nested too deeply";

/** Whether a file exceeded a limit. Work on it may still continue. */
export const isLimit = (problem: string | undefined): boolean =>
  problem !== undefined &&
  [timeLimitMessage, memoryLimitMessage, textLimitMessage, nestingLimitMessage].includes(problem);

export const parseFailureMessage = "it cannot be parsed";

/** Request to the process that reads PDFs: whether a file is valid, or also its text. */
export interface PdfTask {
  readonly goal: "check" | "text";
  readonly file: Uint8Array;
}

/** The text of a PDF, line by line (empty if it was not requested), or why it cannot be read. */
export type PdfReadResult =
  | { readonly lines: readonly string[]; readonly problem?: undefined }
  | { readonly problem: string; readonly lines?: undefined };

/** Message of the process: that it is ready, or the result of a file. `broken`: it must not read another one. */
export type WorkerMessage = { readonly up: true } | { readonly reading: PdfReadResult; readonly broken: boolean };
