import { ftruncateSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

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
    endWhenHanging(own);
  }
  const names: string[] = [];
  for (let at: NamedTest | null = test; at?.parent; at = at.parent) names.unshift(at.name);
  ftruncateSync(file, writeSync(file, names.join(" > "), 0));
}

/** How much later than the runner, which may still notice by itself. */
const graceMs = 2_000;

/**
 * From Node 24 on the limit is counted in the process of the test, where a loop without end keeps it from ever being
 * noticed. Another thread sees that nothing has begun for so long, and ends the process.
 */
function endWhenHanging(note: string): void {
  const limit = process.execArgv.find((option) => option.startsWith(limitOption))?.slice(limitOption.length);
  if (limit === undefined || Number.parseInt(process.versions.node, 10) < 24) return;
  const workerData = { note, limitMs: Number(limit) + graceMs };
  new Worker(`(${watch})(require("node:fs"), require("node:worker_threads").workerData)`, {
    eval: true,
    execArgv: [],
    workerData,
  }).unref();
}

const limitOption = "--test-timeout=";

/** Runs in a thread of its own, as the text that it is. */
function watch({ statSync }: typeof import("node:fs"), { note, limitMs }: { note: string; limitMs: number }): void {
  setInterval(() => {
    const begun = statSync(note, { throwIfNoEntry: false })?.mtimeMs;
    if (begun !== undefined && Date.now() - begun > limitMs) process.kill(process.pid, "SIGKILL");
  }, 1_000);
}

/** The tests that processes had begun last which were ended before they were done. */
export const leftUnderWay = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => readFileSync(join(folder, name), "utf8"));
