import { dirname } from "node:path/posix";

/** Neighbours share a process, which is warm after the first; few enough that no processor waits at the end. */
const filesPerProcess = 10;

/** Of what is slow: tests in a browser share its process, and wait more than they work. */
const slowPerProcess: Readonly<Record<string, number>> = { browser: 6 };

/** Whether a file is one of those named, or lies in a folder of those named. */
export const isOf = (names: readonly string[], file: string): boolean =>
  names.some((name) => file === name || file === `${name}.test.ts` || file.startsWith(`${name}/`));

/**
 * Files by the names of the processes that run them, in the order in which these begin. Node's runner sorts by name, so
 * each begins with a number: `04-emulator.store.file`. What is slow begins first, each file by itself unless it is said.
 */
export function grouped(files: readonly string[], slow: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const apart = slow.flatMap((name) =>
    inGroups(
      // One that two names hold runs once.
      files.filter((file) => slow.find((other) => isOf([other], file)) === name),
      slowPerProcess[name] ?? 1,
    ),
  );
  const others = files.filter((file) => !isOf(slow, file));
  const groups = [...apart, ...inGroups(others, filesPerProcess)];
  return new Map(groups.map((group, index) => [nameOf(group[0]!, index), group]));
}

const inGroups = (files: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));

const nameOf = (first: string, index: number): string =>
  `${String(index).padStart(2, "0")}-${dirname(first).replaceAll("/", ".")}`;
