import { formatSize } from "../base/size.ts";

/**
 * How a response is read, which decides its limits. `whole`: held in memory; bytes and total time are limited.
 * `stream`: handed on as it comes, such as to a file; bytes are limited, and it must not become slower than a crawl.
 * `export`: held in memory like the first, as long as it comes like the second. `events`: may be silent for long and
 * continue forever; each event is limited (src/client/events.ts).
 */
export type ReadMode = "whole" | "stream" | "export" | "events";

const heldBytes = 256 * 2 ** 20;

/** Text of more characters cannot be made of it, whatever is asked for; an export is no larger (src/api/emulator/state.ts). */
const holdableBytes = 500 * 2 ** 20;

const streamedBytes = 16 * 2 ** 30;

/** Minimum average speed in each window as long as the time limit: a crawl is not a download. */
export const minStreamedBytesPerSecond = 1_024;

/** RFC 9110, 15.2: any number may come before the response. Honest servers send fewer. */
export const maxInterimResponses = 100;

/** This many bytes of a response are read; `asked` is what the caller allows, where he says so. */
export function resolveMaxBytes(reading: ReadMode, requested: number | undefined): number {
  if (reading === "events") return Number.POSITIVE_INFINITY;
  if (reading === "stream") return requested ?? streamedBytes;
  return Math.min(requested ?? (reading === "export" ? holdableBytes : heldBytes), holdableBytes);
}

/** A limit of time was hit. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
  readonly code = "ETIMEDOUT";
}

/** The response exceeds a limit. `adjustable`: the caller may raise it. */
export class SizeLimitError extends Error {
  override readonly name = "SizeLimitError";
  readonly code = "EMSGSIZE";
  readonly adjustable: boolean;

  constructor(message: string, adjustable: boolean) {
    super(message);
    this.adjustable = adjustable;
  }
}

export const createSizeLimitError = (allowed: number): SizeLimitError =>
  new SizeLimitError(`the response is larger than ${formatSize(allowed)}`, true);

/** `30 s`, `1.5 s`, `250 ms`. */
export const formatTime = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`);
