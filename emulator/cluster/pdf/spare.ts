import type { ReadingProcess } from "./reading-process.ts";

/**
 * The process of a reader that was closed, for the next one: it takes a third of a second to start, and where each test
 * has an emulator of its own, they follow one another. Nothing waits for it, and it ends with this process.
 */
let spare: ReadingProcess | undefined;

/** Undefined: one has to be started. */
export function takeSpare(): ReadingProcess | undefined {
  const taken = spare;
  spare = undefined;
  return taken?.isFit ? taken : undefined;
}

/** Keeps a process that nothing is asked of any more; ends it where another is kept. */
export function leaveSpare(process: ReadingProcess): void {
  if (spare?.isFit) process.end();
  else spare = process;
}
