import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { WallClock } from "../base/clock.ts";
import { createDeferred, onAbort } from "../base/concurrency.ts";
import { hasNoBody } from "../base/response-quirks.ts";
import { waitForNextTurn } from "../base/timing.ts";
import {
  createSizeLimitError,
  formatTime,
  maxInterimResponses,
  minStreamedBytesPerSecond,
  type ReadMode,
  resolveMaxBytes,
  SizeLimitError,
  TimeLimitError,
} from "./limits.ts";
import type { HttpResponse } from "./request.ts";

export interface ExchangeOptions {
  readonly wall: WallClock;
  /**
   * Time limit. For a response in memory, from the last byte of the request to the end. Otherwise, to the start of the
   * response.
   */
  readonly timeoutMs: number;
  /** Maximum silence of a stream in milliseconds; 0 is unlimited. By default a minimum speed applies. */
  readonly silenceMs?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly chooseReadMode: (status: number) => ReadMode;
  /** The signal must not be aborted yet. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum number of unread bytes in the buffer. The connection is paused until they are read. */
const maxUnreadBytes = 64 * 1_024;

/**
 * One request, with all limits of its response. undici reports each step through the callbacks of its version 7. Its
 * own time limits are not used: each chunk resets them, so slow drips and interim responses outlive them.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /**
   * Resolves at the start of the response, whose body fails if a limit is exceeded or the connection ends. Rejects with
   * the cause from undici, the signal or a limit.
   */
  readonly response: Promise<HttpResponse>;
  readonly #response = createDeferred<HttpResponse>();
  /** Whether the request was sent over a connection. Otherwise no server can have read it. */
  isSent = false;
  readonly #options: ExchangeOptions;
  readonly #over = new AbortController();
  #abort: ((cause?: Error) => void) | undefined;
  #resume = () => {};
  #unlisten = () => {};
  #body: Readable | undefined;
  #reading: ReadMode = "whole";
  #maxBytes = 0;
  #interim = 0;
  #bytesRead = 0;
  #readInWindow = 0;
  #isPaused = false;
  #hasPaused = false;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.response = this.#response.promise;
    const { signal } = options;
    if (signal) this.#unlisten = onAbort(signal, () => this.#fail(signal.reason as Error));
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    if (this.#isOver) {
      abort(new Error("the caller has stopped waiting"));
      return;
    }
    this.isSent = true;
    this.#onProgress();
    void this.#watch();
  }

  /** Sending a long request can take long, but a receiver that stops reading is limited. */
  onBodySent(): void {
    this.#onProgress();
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > maxInterimResponses) {
        this.#fail(new SizeLimitError(`it sent more than ${maxInterimResponses} interim responses`, false));
      }
      return true;
    }
    const { chooseReadMode, maxBytes } = this.#options;
    this.#resume = resume;
    this.#reading = chooseReadMode(status);
    this.#maxBytes = resolveMaxBytes(this.#reading, maxBytes);
    const headers = joinHeaders(rawHeaders);
    if (status !== 204 && Number(headers["content-length"]) > this.#maxBytes) {
      this.#fail(createSizeLimitError(this.#maxBytes));
      return true;
    }
    this.#body = this.#createBody();
    if (this.#reading !== "whole") this.#openWindow();
    this.#response.resolve({ status, headers, body: this.#body });
    // The response has no body, regardless of its declared length and of the bytes that follow (RFC 9110, 15.3.5).
    if (hasNoBody(status)) this.onComplete();
    return true;
  }

  #createBody(): Readable {
    const body = new Readable({
      highWaterMark: maxUnreadBytes,
      read: () => {
        if (!this.#isPaused) return;
        this.#isPaused = false;
        this.#resume();
      },
      destroy: (cause, callback) => {
        this.#end(cause ?? new Error("the reader has stopped"));
        callback(cause);
      },
    });
    // Readers get the error. Without a reader, the event would be unhandled.
    return body.on("error", () => {});
  }

  onData(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    this.#bytesRead += chunk.length;
    this.#readInWindow += chunk.length;
    if (this.#bytesRead > this.#maxBytes) {
      this.#fail(createSizeLimitError(this.#maxBytes));
      return true;
    }
    if (this.#body!.push(chunk)) return true;
    this.#isPaused = true;
    this.#hasPaused = true;
    return false;
  }

  onComplete(): void {
    if (this.#isOver) return;
    this.#settle();
    this.#body?.push(null);
  }

  onError(cause: Error): void {
    this.#fail(cause);
  }

  abort(): void {
    this.#body?.destroy();
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #onProgress(): void {
    if (this.#body === undefined) this.#deadline = this.#options.wall.monotonicNow() + this.#options.timeoutMs;
  }

  #openWindow(): void {
    const { wall, timeoutMs, silenceMs = timeoutMs } = this.#options;
    this.#readInWindow = 0;
    this.#hasPaused = this.#isPaused;
    this.#deadline = silenceMs === 0 ? Number.POSITIVE_INFINITY : wall.monotonicNow() + silenceMs;
  }

  async #watch(): Promise<void> {
    const { wall } = this.#options;
    while (!this.#isOver && this.#deadline < Number.POSITIVE_INFINITY) {
      const remainingMs = this.#deadline - wall.monotonicNow();
      if (remainingMs > 0) {
        await wall.sleep(remainingMs, this.#over.signal);
        // If this process was too busy to read, data that arrived in time can still be unread.
        await waitForNextTurn();
      } else {
        this.#onDeadline();
      }
    }
  }

  #onDeadline(): void {
    const { timeoutMs, silenceMs } = this.#options;
    const windowMs = silenceMs ?? timeoutMs;
    if (!this.#body) {
      this.#fail(new TimeLimitError(`no response within ${formatTime(timeoutMs)}`));
    } else if (this.#reading === "whole") {
      this.#fail(new TimeLimitError(`the response was incomplete after ${formatTime(timeoutMs)}`));
    } else if (this.#hasPaused || this.#readInWindow >= this.#computeReadAhead(windowMs)) {
      this.#openWindow();
    } else {
      const pace = this.#readInWindow === 0 ? "stopped in the middle" : "was slower than 1 KiB per second";
      this.#fail(new TimeLimitError(`the response ${pace} for ${formatTime(windowMs)}`));
    }
  }

  /** Computes the minimum number of bytes per window. For events, or with `silenceMs`, one byte is enough. */
  #computeReadAhead(windowMs: number): number {
    const mayCrawl = this.#options.silenceMs !== undefined || this.#reading === "events";
    return mayCrawl ? 1 : (minStreamedBytesPerSecond * windowMs) / 1_000;
  }

  #fail(cause: Error): void {
    if (this.#isOver) return;
    if (this.#body) this.#body.destroy(cause);
    else {
      this.#end(cause);
      this.#response.reject(cause);
    }
  }

  #end(cause: Error): void {
    if (this.#isOver) return;
    this.#settle();
    this.#abort?.(cause);
  }

  #settle(): void {
    this.#over.abort("over");
    this.#unlisten();
  }
}

/** Joins repeated headers with a comma. Names are in lower case. */
function joinHeaders(raw: readonly Buffer[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString("latin1").toLowerCase();
    const value = raw[i + 1]!.toString("latin1");
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
