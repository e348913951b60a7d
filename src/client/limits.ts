import { formatSize } from "../base/quantities.ts";

/**
 * Read mode of a response. The mode decides the limits. `whole`: in memory, with limits on bytes and total time.
 * `stream`: forwarded as it arrives, for example to a file, with a limit on bytes and a minimum speed. `export`: in
 * memory like `whole`, with the minimum speed of `stream`. `events`: can be silent for long and continue forever, with
 * a limit on each event (src/client/body.ts).
 */
export type ReadMode = "whole" | "stream" | "export" | "events";

const defaultMaxBufferedBytes = 256 * 2 ** 20;

/**
 * Maximum size of a response in memory, just below V8's limit for the length of a string. The caller cannot raise it.
 * An export is not larger (src/api/emulator/state.ts).
 */
const maxBufferedBytes = 500 * 2 ** 20;

const defaultMaxStreamedBytes = 16 * 2 ** 30;

/** Minimum average speed within each window. A window is as long as the time limit. */
export const minStreamedBytesPerSecond = 1_024;

/** Any number of interim responses can precede the response (RFC 9110, 15.2), but servers send fewer in practice. */
export const maxInterimResponses = 100;

/** Returns the limit of a response in bytes. `requestedBytes` is the caller's limit. */
export function resolveMaxBytes(reading: ReadMode, requestedBytes: number | undefined): number {
  if (reading === "events") return Number.POSITIVE_INFINITY;
  if (reading === "stream") return requestedBytes ?? defaultMaxStreamedBytes;
  return Math.min(
    requestedBytes ?? (reading === "export" ? maxBufferedBytes : defaultMaxBufferedBytes),
    maxBufferedBytes,
  );
}

export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
  readonly code = "ETIMEDOUT";
}

/** Thrown when a response exceeds a size limit. `adjustable` is true if the caller can raise the limit. */
export class SizeLimitError extends Error {
  override readonly name = "SizeLimitError";
  readonly code = "EMSGSIZE";
  readonly adjustable: boolean;

  constructor(message: string, adjustable: boolean) {
    super(message);
    this.adjustable = adjustable;
  }
}

export const createSizeLimitError = (maxBytes: number): SizeLimitError =>
  new SizeLimitError(`the response is larger than ${formatSize(maxBytes)}`, true);

export const formatTime = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`);
