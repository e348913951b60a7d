/** Limits for reading one PDF. A larger one is rejected, in words that name the limit. */
export const pdfLimits = {
  /** Wall-clock time, from when the file is handed over. */
  timeMs: 10_000,
  /** For objects; and once more for bytes, counted as they are asked for: a gigabyte may come of a kilobyte. */
  memoryMb: 512,
  /** Characters of text. */
  textLength: 5_000_000,
  /** Waiting files: how many, with how many bytes in all, and how long. */
  waiting: 1_000,
  waitingBytes: 256 * 1024 * 1024,
  waitMs: 30_000,
  /** Until the process that reads is up. */
  startMs: 60_000,
} as const;

export const timeLimitMessage = `reading it takes more than ${pdfLimits.timeMs / 1_000} seconds`;
export const memoryLimitMessage = `reading it takes more than ${pdfLimits.memoryMb} MiB of memory`;
export const textLimitMessage = `its text is longer than ${pdfLimits.textLength / 1_000_000} million characters`;
export const nestingLimitMessage = "it is nested too deeply";

/** Whether a file met a limit: work on it may still be continuing. */
export const isLimit = (problem: string | undefined): boolean =>
  problem !== undefined &&
  [timeLimitMessage, memoryLimitMessage, textLimitMessage, nestingLimitMessage].includes(problem);

export const parseFailureMessage = "it cannot be parsed";
