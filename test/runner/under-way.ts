import { ftruncateSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A test of Node's runner; the outermost one is the file, or what stands for it. */
export interface NamedTest {
  readonly name: string;
  readonly parent: NamedTest | null;
}

const prefix = "under-way-";
/** Kept open: a test that takes a millisecond would feel another opening. */
let file: number | undefined;

/**
 * The test that a process began last stands in a file until the process ends by itself. Node 20 and 22 end a process at
 * its limit without a word about which of its tests hangs, and one in a loop without end could not say it.
 */
export function noteUnderWay(test: NamedTest): void {
  const { SVC_TEST_COMPILED: folder } = process.env;
  if (folder === undefined) return;
  if (file === undefined) {
    const own = join(folder, `${prefix}${process.pid}`);
    process.once("exit", () => rmSync(own, { force: true }));
    file = openSync(own, "w");
  }
  const names: string[] = [];
  for (let at: NamedTest | null = test; at?.parent; at = at.parent) names.unshift(at.name);
  ftruncateSync(file, writeSync(file, names.join(" > "), 0));
}

/** The tests that processes had begun last which were ended before they were done. */
export const leftUnderWay = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => readFileSync(join(folder, name), "utf8"));
