import { dirname } from "node:path/posix";

/**
 * Minimum number of files per process. Files of one process share its start, which takes up to a second of CPU time.
 * Larger groups would leave processors idle at the end, because the last processes would wait most of their time.
 */
const minFilesPerProcess = 8;

/** Files per process of slow tests. These tests mostly wait, are short, or need the same programs. */
const slowPerProcess: Readonly<Record<string, number>> = {
  // Two processes would install and build the same receivers at the same time, in the same folders.
  "interop/receivers": 2,
  browser: 6,
  "cli/terminal": 5,
  "cli/failures": 5,
  "cli/emulator/postgres": 4,
  "emulator/compose/postgres": 4,
  interop: 7,
};

/** Reports whether a file has one of the names or is in one of the named folders. */
export const isInGroup = (names: readonly string[], file: string): boolean =>
  names.some((name) => file === name || file === `${name}.test.ts` || file.startsWith(`${name}/`));

/**
 * Groups files by process, in the order in which the processes start. Node's runner sorts by name, so each name begins
 * with a number, such as `04-emulator.store.file`. Slow files start first, one per process by default. `concurrency` is
 * the number of processes that run at the same time.
 */
export function groupFiles(
  files: readonly string[],
  slow: readonly string[],
  concurrency: number,
): ReadonlyMap<string, readonly string[]> {
  const apart = slow.flatMap((name) =>
    splitIntoGroups(
      // A file that matches two names runs once.
      files.filter((file) => slow.find((other) => isInGroup([other], file)) === name),
      slowPerProcess[name] ?? 1,
    ),
  );
  const ungroupedFiles = files.filter((file) => !isInGroup(slow, file));
  const groups = [...apart, ...splitIntoShrinkingGroups(ungroupedFiles, concurrency)];
  return new Map(groups.map((group, index) => [formatGroupName(group[0]!, index), group]));
}

const splitIntoGroups = (files: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));

/** Splits files into groups that get smaller, so that all processes end at about the same time. */
function splitIntoShrinkingGroups(files: readonly string[], concurrency: number): string[][] {
  const groups: string[][] = [];
  for (let at = 0; at < files.length; at += groups.at(-1)!.length) {
    const share = Math.ceil((files.length - at) / concurrency / 2);
    groups.push(files.slice(at, at + Math.max(share, minFilesPerProcess)));
  }
  return groups;
}

const formatGroupName = (first: string, index: number): string =>
  `${String(index).padStart(2, "0")}-${dirname(first).replaceAll("/", ".")}`;
