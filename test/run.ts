/**
 * Runs the tests of the folders and files that are named (`npm test -- emulator/store cli/help`), by default all but
 * the slow ones. Node 20 takes no patterns, and shells differ in theirs, so the files are found here.
 */
import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { compileTests } from "./compile.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const slow = ["bench", "packaged", ...["schemathesis", "generators", "clients"].map((name) => join("interop", name))];

const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const options = process.argv.slice(2).filter((word) => word.startsWith("-"));
const wanted = words.map((word) => normalize(word).replace(/^test[/\\]|[/\\]$/g, ""));

const isWanted = (path: string): boolean =>
  wanted.length === 0
    ? !slow.some((folder) => path.startsWith(`${folder}${sep}`))
    : wanted.some((word) => path === word || [sep, ".test.ts"].some((end) => path.startsWith(`${word}${end}`)));

const files = readdirSync(here, { recursive: true })
  .map(String)
  // What stands below `examples` is run by the test that it is an example for, with the runner that it is written for.
  .filter((path) => path.endsWith(".test.ts") && !path.includes(`${sep}examples${sep}`) && isWanted(path))
  .map((path) => join(here, path))
  .sort();
if (files.length === 0) {
  process.stderr.write(`No test is called ${words.join(" or ")}. Name folders or files below test/.\n`);
  process.exit(2);
}

const folder = join(here, "..", "node_modules", ".cache", `svc-test-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Ctrl-C reaches the tests, too: this waits for their end.
process.on("SIGINT", () => {});

// A test that waits for ever fails, with its name, instead of holding up the pipeline. Node itself would leave one
// processor out, which is half of them on a small machine.
const limits = ["--test-timeout=600000", `--test-concurrency=${availableParallelism()}`];
// In a pipe, too: what failed is told again at the end, where a log of thousands of lines is read.
const reporter = options.some((option) => option.startsWith("--test-reporter")) ? [] : ["--test-reporter=spec"];
const compiled = await compileTests(files, folder);
const run = spawn(
  process.execPath,
  ["--enable-source-maps", "--test", ...limits, ...reporter, ...options, ...compiled],
  {
    stdio: "inherit",
    env: { ...process.env, SVC_TEST_COMPILED: folder },
  },
);
run.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
