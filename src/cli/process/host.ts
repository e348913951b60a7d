import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { WallClock } from "../../base/clock.ts";
import { waitForNextTurn } from "../../base/timing.ts";

export type InputStream = Readable & { readonly isTTY?: boolean };
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface ParentProcess {
  /** Resolves once the parent has received the message. Rejects if the parent has exited. */
  send(message: object): Promise<void>;
}

/** Variable that marks a process that `svc` waits for. Its value is the parent's PID. */
export const parentPidVariable = "SVC_STARTED_BY";

/** Variable of a parent program that has the other end of the pipe, so that the process does not outlive the parent. */
export const inputVariable = "SVC_UNTIL_STDIN_ENDS";

/** Signals that end a run. They come from Ctrl-C, a supervisor, or a closed terminal. */
export type SignalName = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Resources of one run of the command line. `bin/svc.js` creates them from `process`. Tests create them in memory. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly wall: WallClock;
  readonly pid: number;
  /** Command that starts this program again: an executable and its first arguments, before those of `svc`. */
  readonly program: readonly [string, ...string[]];
  /** Set if `svc` started this process in the background and waits for its message. */
  readonly starter?: ParentProcess | undefined;
  readonly inherits: boolean;
  onSignal(listener: (name: SignalName) => void): () => void;
  /** Calls a function later if the process is still running. The timer does not keep it alive. */
  setDeadline(ms: number, act: () => void): void;
  /** Ends the process immediately, with the exit code of a finished run or else that of the signal. */
  end(name: SignalName): void;
}

/** Nothing else runs until a terminal has accepted a write, including the handler of Ctrl-C. */
const maxTerminalWriteBytes = 16 * 1024;

/** Writes and waits for a slow reader. Without the wait, output beyond 64 KiB does not reach a pipe completely. */
export async function write(stream: OutputStream, text: string | Uint8Array): Promise<void> {
  if (!stream.isTTY || text.length <= maxTerminalWriteBytes) return writeAll(stream, text);
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += maxTerminalWriteBytes) {
    await writeAll(stream, bytes.subarray(at, at + maxTerminalWriteBytes));
    await waitForNextTurn();
  }
}

/** Shows the cursor, which prompts and spinners hide. */
export const showCursor = (stream: OutputStream): Promise<void> => write(stream, "\x1b[?25h");

/** Prints captured output of another run of this program byte for byte, because it is already escaped. */
export const forwardOutput = (stream: OutputStream, bytes: Uint8Array): Promise<void> => write(stream, bytes);

async function writeAll(stream: OutputStream, text: string | Uint8Array): Promise<void> {
  if (stream.destroyed || stream.writableEnded || stream.write(text)) return;
  const ended = new AbortController();
  const events = ["drain", "close", "error"].map((name) => once(stream, name, { signal: ended.signal }));
  await Promise.race(events).catch(() => {});
  ended.abort();
}

/** Resolves when all previous output is written or can no longer be written. */
export const waitForFlush = (stream: OutputStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.write("", () => resolve());
  });

/** Discards the input, until the end of the run. A terminal ends with Ctrl-D. */
export async function waitForInputEnd({ stdin }: Host, onEnd: (close: () => Promise<void>) => void): Promise<void> {
  onEnd(async () => void stdin.pause());
  await finished(stdin.resume(), { writable: false }).catch(() => {});
}
