import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { RunOptions } from "./run-cli.ts";

export const enter = "\r";
export const down = "\u001b[B";
export const ctrlC = "\u0003";
export const ctrlD = "\u0004";

/**
 * A person at a terminal who answers one question after the other: each as soon as its words are on the screen. An
 * answer is keys, Enter included.
 */
export function person(...answers: readonly (readonly [question: string, keys: string])[]): RunOptions & {
  /** Questions that were never asked. */
  readonly waiting: () => readonly string[];
} {
  const keys = new PassThrough();
  const left = [...answers];
  let seen = 0;
  // Whoever waits for a question that never comes leaves.
  const leaves = setTimeout(() => keys.write(ctrlC), 60_000);
  leaves.unref();
  return {
    tty: true,
    stdin: keys,
    waiting: () => left.map(([question]) => question),
    onError(err) {
      const next = left[0];
      const screen = stripVTControlCharacters(err);
      if (next === undefined || !screen.slice(seen).includes(next[0])) return;
      seen = screen.length;
      left.shift();
      // Once the question stands: keys that come while it is being drawn are lost to it.
      setImmediate(() => setImmediate(() => keys.write(next[1])));
    },
  };
}
