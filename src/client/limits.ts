import { formatSize } from "../base/size.ts";

/**
 * How a response is read, which decides its limits. `whole`: held in memory; bytes and total time are limited.
 * `stream`: forwarded as it arrives, for example to a file; bytes are limited, and a minimum speed applies. `export`:
 * held in memory like `whole`, and as slow as `stream` may be. `events`: may be silent for long and continue forever;
 * each event is limited (src/client/events.ts).
 */
export type ReadMode = "whole" | "stream" | "export" | "events";

const maxHeldBytes = 256 * 2 ** 20;

/**
 * A string cannot have more characters, whatever the caller allows. An export is not larger
 * (src/api/emulator/state.ts).
 */
const maxHoldableBytes = 500 * 2 ** 20;

const streamedBytes = 16 * 2 ** 30;

/** Minimum average speed in each window of the length of the time limit. A slower response is not a download. */
export const minStreamedBytesPerSecond = 1_024;

/** Any number may precede the response (RFC 9110, 15.2), but honest servers send fewer. */
export const maxInterimResponses = 100;

/** The limit of a response in bytes. `asked` is the caller's limit, if there is one. */
export function resolveMaxBytes(reading: ReadMode, requested: number | undefined): number {
  if (reading === "events") return Number.POSITIVE_INFINITY;
  if (reading === "stream") return requested ?? streamedBytes;
  return Math.min(requested ?? (reading === "export" ? maxHoldableBytes : maxHeldBytes), maxHoldableBytes);
}

/** A time limit was exceeded. */
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
