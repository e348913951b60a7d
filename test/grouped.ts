import { dirname } from "node:path/posix";

/**
 * Files per process. Files of one process share its start, which takes a second of CPU time, but groups must be small
 * enough to keep all processors busy until the end.
 */
const filesPerProcess = 20;

/** Files per process of slow tests. Browser tests share a process, because they mostly wait. */
const slowPerProcess: Readonly<Record<string, number>> = { browser: 6 };

/** Reports whether a file has one of the names or is in one of the named folders. */
export const isInGroup = (names: readonly string[], file: string): boolean =>
  names.some((name) => file === name || file === `${name}.test.ts` || file.startsWith(`${name}/`));

/**
 * Groups files by process, in the order in which the processes start. Node's runner sorts by name, so each name begins
 * with a number, such as `04-emulator.store.file`. Slow files start first, one per process by default.
 */
export function groupFiles(files: readonly string[], slow: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const apart = slow.flatMap((name) =>
    splitIntoGroups(
      // A file that matches two names runs once.
      files.filter((file) => slow.find((other) => isInGroup([other], file)) === name),
      slowPerProcess[name] ?? 1,
    ),
  );
  const ungroupedFiles = files.filter((file) => !isInGroup(slow, file));
  const groups = [...apart, ...splitIntoGroups(ungroupedFiles, filesPerProcess)];
  return new Map(groups.map((group, index) => [formatGroupName(group[0]!, index), group]));
}

const splitIntoGroups = (files: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));

const formatGroupName = (first: string, index: number): string =>
  `${String(index).padStart(2, "0")}-${dirname(first).replaceAll("/", ".")}`;
