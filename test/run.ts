/**
 * Runs the tests of the folders and files that are named (`npm test -- emulator/store cli/help`), by default all but
 * those that are run on demand; with `--also packaged` these on top of the default. Node 20 takes no patterns, and
 * shells differ in theirs, so the files are found here.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, normalize, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { compileTests } from "./compile.ts";
import { grouped, isOf } from "./grouped.ts";
import { leftUnderWay } from "./runner/under-way.ts";
import { answeredFile, unanswered } from "./structure/completeness.ts";

const here = import.meta.dirname;
const onDemand = ["bench", "packaged", "interop/schemathesis", "interop/generators", "interop/clients"];
/** What takes longest begins first. */
const slow = [...onDemand, "browser"];

const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const given = process.argv.slice(2).filter((word) => word.startsWith("-"));
const isDefaultWanted = words.length === 0 || given.includes("--also");
const options = given.filter((option) => option !== "--also");

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

// A test that waits for ever fails, with its name, instead of holding up the pipeline. One process more than there are
// processors: tests wait for disks and for other programs, too.
const limits = ["--test-timeout=600000", `--test-concurrency=${availableParallelism() + 1}`];
// In a pipe, too: what failed is told again at the end, where a log of thousands of lines is read.
const reporter = options.some((option) => option.startsWith("--test-reporter")) ? [] : ["--test-reporter=spec"];
const compiled = await compileTests(grouped(files, slow), folder);
writeFileSync(join(folder, answeredFile), "");
const always = ["--enable-source-maps", `--import=${pathToFileURL(join(folder, "follow-tests.js"))}`, "--test"];
const argv = [...always, ...limits, ...reporter, ...options, ...compiled];
const run = spawn(process.execPath, argv, { stdio: "inherit", env: { ...process.env, SVC_TEST_COMPILED: folder } });
run.on("exit", async (code) => {
  process.exitCode = code ?? 1;
  for (const test of leftUnderWay(folder)) {
    process.stderr.write(`A process was ended before it was done; the test that it began last: ${test}\n`);
  }
  // What the tests of the emulator do not bring about together, nobody has seen. They need no other program for it.
  const isPart = options.some((option) => /^--test-(?:shard|only|name-pattern|skip-pattern)/.test(option));
  if (isPart || !(isDefaultWanted || wanted.includes("emulator"))) {
    process.stderr.write(
      "Declared failures are compared with those that tests saw when all of test/emulator is run.\n",
    );
    return;
  }
  const { registry } = await import("../src/api/registry.ts");
  const answered = new Set(readFileSync(join(folder, answeredFile), "utf8").split("\n"));
  const missing = unanswered(registry, answered);
  if (missing.length === 0) return;
  process.exitCode = 1;
  process.stderr.write(`Declared failures that no test saw answered:\n${missing.join("\n")}\n`);
});
