/**
 * Runs the tests of the folders and files that are named (`npm test -- emulator/store cli/help`), by default all but
 * those that are run on demand; with `--also packaged` these on top of the default; with `--again` a few files that fail
 * once more by themselves. Node 20 takes no patterns, and shells differ in theirs, so the files are found here.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, normalize, relative, sep } from "node:path";
import { compileTests } from "./compile.ts";
import { grouped, isOf } from "./grouped.ts";
import { failedIn, runTests } from "./runner/run-tests.ts";
import { scratchFolder } from "./runner/scratch.ts";
import { leftUnderWay } from "./runner/under-way.ts";
import { answeredFile, unanswered } from "./structure/completeness.ts";

const here = import.meta.dirname;
const onDemand = ["bench", "packaged", "interop/schemathesis", "interop/generators", "interop/clients"];
/** Waits for leases to end more than it works: last, it would leave the processors idle. */
const waiting = ["emulator/store/postgres/kill", "emulator/travel/kill"];
/** What takes longest begins first. */
const slow = [...onDemand, ...waiting, "browser", "scenarios/help-examples"];
/** How many files may have failed by what else went on. */
const fewFiles = 3;

const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const given = process.argv.slice(2).filter((word) => word.startsWith("-"));
const isDefaultWanted = words.length === 0 || given.includes("--also");
const options = given.filter((option) => option !== "--also" && option !== "--again");

const wanted = words.map((word) =>
  normalize(word)
    .replaceAll(sep, "/")
    .replace(/^test\/|\/$/g, ""),
);
const isWanted = (file: string): boolean => isOf(wanted, file) || (isDefaultWanted && !isOf(onDemand, file));

const files = readdirSync(here, { recursive: true })
  .map((path) => String(path).replaceAll(sep, "/"))
  // What stands below `examples` is run by the test that it is an example for, with the runner that it is written for.
  .filter((file) => file.endsWith(".test.ts") && !file.includes("/examples/") && isWanted(file))
  .sort();
if (files.length === 0) {
  process.stderr.write(`No test is called ${words.join(" or ")}. Name folders or files below test/.\n`);
  process.exit(2);
}

const folder = join(here, "..", "node_modules", ".cache", `svc-test-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Ctrl-C reaches the tests, too: this waits for their end.
process.on("SIGINT", () => {});

process.env.TMPDIR = scratchFolder();

const compiled = await compileTests(grouped(files, slow), folder);
writeFileSync(join(folder, answeredFile), "");
// One process more than there are processors: tests wait for disks and for other programs, too.
process.exitCode = await runTests(compiled, folder, [`--test-concurrency=${availableParallelism() + 1}`, ...options]);
if (process.exitCode !== 0 && given.includes("--again")) process.exitCode = await again(failedIn(folder));
for (const test of leftUnderWay(folder)) {
  process.stderr.write(`A process was ended before it was done; the test that it began last: ${test}\n`);
}

// What the tests of the emulator do not bring about together, nobody has seen. They need no other program for it.
const isPart = options.some((option) => /^--test-(?:shard|only|name-pattern|skip-pattern)/.test(option));
if (isPart || !(isDefaultWanted || wanted.includes("emulator"))) {
  process.stderr.write("Declared failures are compared with those that tests saw when all of test/emulator is run.\n");
} else {
  const { registry } = await import("../src/api/registry.ts");
  const answered = new Set(readFileSync(join(folder, answeredFile), "utf8").split("\n"));
  const missing = unanswered(registry, answered);
  if (missing.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`Declared failures that no test saw answered:\n${missing.join("\n")}\n`);
  }
}

/**
 * Runs the few files in which tests failed once more, with nothing else beside them, and says which of them passed: what
 * they say depends on what else goes on, and is to be mended. Where more failed, or a process ended early, it is no
 * coincidence. Resolves with the exit code of the whole run.
 */
async function again(failed: readonly string[]): Promise<number> {
  const paths = failed.map((file) => relative(here, file).replaceAll(sep, "/"));
  if (paths.length === 0 || paths.length > fewFiles || !paths.every((path) => files.includes(path))) return 1;
  process.stderr.write(`\nOnce more, by themselves: ${paths.join(", ")}\n`);
  const alone = join(folder, "again");
  const code = await runTests(await compileTests(grouped(paths, paths), alone), alone, ["--test-concurrency=1"]);
  if (code === 0)
    process.stderr.write(`Failed, and passed by themselves: to be mended all the same: ${paths.join(", ")}\n`);
  return code;
}
