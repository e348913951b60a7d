/**
 * Runs tests: all but the slow ones (`npm test`), all (`npm run test:all`), the slow ones alone (`--slow`), or the folders
 * and files that are named (`npm test -- emulator/store cli/help`). Options that begin with `--test-` go to Node's runner.
 * Node 20 takes no patterns, and shells differ in theirs, so the files are found here.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, normalize, sep } from "node:path";
import { compileTests } from "./compile.ts";
import { grouped, isOf } from "./grouped.ts";
import { scratchFolder } from "./scratch.ts";
import { answeredFile, unanswered } from "./structure/completeness.ts";

/** Run only when they are named: they install programs of other languages, or measure. */
const onDemand = ["bench", "interop/generators", "interop/clients"];
/** They start other programs, kill processes, attack, or wait; what takes longest comes first. */
const slow = [
  "packaged",
  "interop",
  "browser",
  "emulator/store/postgres",
  "emulator/compose/postgres",
  "scenarios/help-examples",
  "structure/expressions",
  // Kills and crashes.
  "emulator/kill",
  "emulator/travel/kill",
  "emulator/trace/killed",
  "emulator/webhooks/kill",
  "emulator/cluster/reports/killed",
  "emulator/store/file/kill",
  "emulator/store/file/large-stop",
  "emulator/store/file/crash",
  "emulator/store/file/repair-crash",
  "cli/bulk/kill",
  "cli/emulator/killed-emulator",
  "cli/interrupt",
  // Hostile services, clients and files.
  "cli/trouble/services",
  "cli/trouble/untrusted-responses",
  "cli/trouble/response-shapes",
  "cli/trouble/every-success",
  "emulator/cluster/garbage",
  "emulator/cluster/pdf/limits",
  "emulator/cluster/pdf/hostile-files",
  "emulator/router/hostile",
  "emulator/router/hostile-input",
];

const given = process.argv.slice(2);
const words = given.filter((word) => !word.startsWith("-"));
const options = given.filter((word) => word.startsWith("--test-"));
const unknown = given.find((word) => word.startsWith("-") && !/^--(test-.*|all|slow)$/.test(word));
if (unknown !== undefined) fail(`Unknown option ${unknown}. Use --all, --slow, or an option of Node's test runner.`);

const here = import.meta.dirname;
const wanted = words.map((word) =>
  normalize(word)
    .replaceAll(sep, "/")
    .replace(/^test\/|\/$/g, ""),
);
const isWanted = (file: string): boolean => {
  if (wanted.length > 0) return isOf(wanted, file);
  if (isOf(onDemand, file)) return false;
  return given.includes("--all") || isOf(slow, file) === given.includes("--slow");
};
const files = readdirSync(here, { recursive: true })
  .map((path) => String(path).replaceAll(sep, "/"))
  // What stands below `examples` is run by the test that it is an example for, with the runner that it is written for.
  .filter((file) => file.endsWith(".test.ts") && !file.includes("/examples/") && isWanted(file))
  .sort();
if (files.length === 0) fail(`No test is called ${words.join(" or ")}. Name folders or files below test/.`);

const folder = join(here, "..", "node_modules", ".cache", `svc-test-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Ctrl-C reaches the tests, too: this waits for their end.
process.on("SIGINT", () => {});
process.env.TMPDIR = scratchFolder();
process.env.SVC_TEST_COMPILED = folder;

const compiled = await compileTests(grouped(files, [...onDemand, ...slow]), folder);
writeFileSync(join(folder, answeredFile), "");
process.exitCode = await runNode([
  // Tests make much that lives briefly: with 16 MB for it, a tenth of their time went to collecting.
  "--max-semi-space-size=64",
  // One process more than there are processors: helpers would only take them from each other.
  "--single-threaded-gc",
  "--enable-source-maps",
  "--test",
  // A test that waits for ever fails instead of holding up the pipeline.
  "--test-timeout=600000",
  // In a pipe, too: what failed is told again at the end, where a log of thousands of lines is read.
  "--test-reporter=spec",
  `--test-concurrency=${availableParallelism() + 1}`,
  ...options,
  ...compiled,
]);

// What no test of the emulator brings about, nobody has seen.
if (options.length === 0 && (wanted.length === 0 ? !given.includes("--slow") : wanted.includes("emulator"))) {
  const { registry } = await import("../src/api/registry.ts");
  const answered = new Set(readFileSync(join(folder, answeredFile), "utf8").split("\n"));
  const missing = unanswered(registry, answered);
  if (missing.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`Declared failures that no test saw answered:\n${missing.join("\n")}\n`);
  }
}

function runNode(argv: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    spawn(process.execPath, argv, { stdio: "inherit" }).on("exit", (code) => resolve(code ?? 1));
  });
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
