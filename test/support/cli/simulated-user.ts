import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { RunOptions } from "./run-cli.ts";

export const enterKey = "\r";
export const downKey = "\u001b[B";
export const ctrlC = "\u0003";
export const ctrlD = "\u0004";

/**
 * Simulates a user at a terminal who responds to one question after the other, when its words are on the screen. A
 * response is a string of keys, including Enter.
 */
export function simulateUser(...replies: readonly (readonly [question: string, keys: string])[]): RunOptions & {
  /** Returns the questions that were not asked. */
  readonly waiting: () => readonly string[];
} {
  const keys = new PassThrough();
  const remaining = [...replies];
  let readChars = 0;
  // The user leaves with Ctrl-C if an expected question does not appear.
  const leaves = setTimeout(() => keys.write(ctrlC), 60_000);
  leaves.unref();
  return {
    tty: true,
    stdin: keys,
    waiting: () => remaining.map(([question]) => question),
    onError(stderr) {
      const next = remaining[0];
      const screen = stripVTControlCharacters(stderr);
      if (next === undefined || !screen.slice(readChars).includes(next[0])) return;
      readChars = screen.length;
      remaining.shift();
      // Keys that arrive while a prompt is being drawn are lost, so the keys are sent afterwards.
      setImmediate(() => setImmediate(() => keys.write(next[1])));
    },
  };
}
