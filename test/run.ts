/**
 * Runs all tests but the slow ones (`npm test`), all tests (`npm run test:all`), only the slow ones (`--slow`), or the
 * named folders and files (`npm test -- emulator/store cli/help`). Options that begin with `--test-` are passed to
 * Node's runner. This script finds the files, because Node 20 accepts no patterns and the patterns of shells differ.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, normalize, sep } from "node:path";
import { compileTests } from "./compile.ts";
import { groupFiles, isInGroup } from "./grouped.ts";
import { createScratchFolder } from "./scratch.ts";
import { listUnreturnedFailures, returnedFailuresFile } from "./structure/completeness.ts";

/** Tests that run only by name, because they install programs of other languages or measure. */
const onDemand = ["bench", "interop/generators", "interop/clients"];
/**
 * Tests that start other programs, kill processes, attack, wait, or call every operation. Each file has a process of
 * its own, and the longest comes first.
 */
const slow = [
  "interop/receivers",
  "interop/schemathesis",
  "packaged",
  "interop/device-clients",
  "interop/languages",
  "interop",
  "browser",
  "emulator/store/postgres",
  "emulator/compose/postgres",
  "emulator/travel/postgres",
  "cli/emulator/postgres",
  "scenarios/help-examples",
  "scenarios/pages",
  "structure/expressions",
  // These tests start, kill and crash processes, or use terminals.
  "cli/auth/certify",
  "cli/webhooks/certify-concurrency",
  "cli/webhooks/certify-probe",
  "emulator/kill",
  "emulator/travel/kill",
  "emulator/webhooks/kill",
  "emulator/store/file/kill",
  "emulator/store/file/large-stop",
  "emulator/store/file/crash",
  "cli/bulk/kill",
  "cli/emulator/detach",
  "cli/interrupt",
  "cli/terminal",
  // These tests use hostile services, clients and files.
  "cli/failures",
  "emulator/cluster/garbage",
  "emulator/cluster/pdf/hostile-files",
  // These tests call every operation, or replay thousands of requests.
  "verify/thousand",
];
/** Slow tests of the same kinds that share processes, because each is short. */
const slowTogether = [
  // These tests start, kill and crash processes, fill disks, or need the built package.
  "cli/auth/browser",
  "cli/bulk/crash",
  "cli/bundle",
  "cli/config/file-lock",
  "cli/emulator/full-disk",
  "cli/emulator/killed-emulator",
  "cli/emulator/log-json",
  "cli/emulator/open-files",
  "cli/emulator/removed-state",
  "cli/emulator/second-start",
  "cli/emulator/start-from-snapshot",
  "cli/mcp/server",
  "cli/run/reports",
  "cli/webhooks/certify",
  "cli/webhooks/certify-command",
  "cli/webhooks/made-up-scheme",
  "emulator/clock/disk-full",
  "emulator/cluster/reports/killed",
  "emulator/compose/bundle",
  "emulator/compose/ended",
  "emulator/compose/one-writer",
  "emulator/console/bundle",
  "emulator/store/file/disk-full",
  "emulator/store/file/failing-disk",
  "emulator/store/file/repair-crash",
  "emulator/trace/killed",
  "files/lock",
  "structure/bench",
  "structure/doors",
  // These tests use hostile services, clients and files, or wait for slow ones.
  "cli/connection/response-limits",
  "cli/emulator/activity",
  "cli/emulator/trust",
  "cli/output/untrusted-data",
  "cli/webhooks/certify-hostile",
  "emulator/cluster/pdf/limits",
  "emulator/cluster/pdf/pdf",
  "emulator/cluster/pdf/spare",
  "emulator/hostile-input",
  "emulator/http/slow-responses",
  "emulator/http/heavy-bodies",
  "emulator/http/hostile",
  "emulator/http/slow-readers",
  "emulator/inherited-names",
  "emulator/router/hostile",
  "emulator/router/hostile-input",
  "emulator/trace/export",
  // These tests call every operation, or send thousands of requests.
  "cli/agent/setup",
  "cli/output/layout-options",
  "cli/verify/against",
  "cli/verify/record",
  "client/every-success",
  "emulator/causes",
  "emulator/clock/fairness",
  "emulator/cluster/contracts/growth",
  "emulator/control/contracts/activities",
  "emulator/control/token-reach",
  "emulator/determinism",
  "emulator/router/mapping/mapping-tables.model",
  "verify/planted",
  // These tests use programs that `.ci/run` installs while the other tests run: zsh, fish and groff.
  "cli/emulator/env",
  "cli/manifest",
];

const args = process.argv.slice(2);
const words = args.filter((word) => !word.startsWith("-"));
const options = args.filter((word) => word.startsWith("--test-"));
const unknownOption = args.find((word) => word.startsWith("-") && !/^--(test-.*|all|slow)$/.test(word));
if (unknownOption !== undefined)
  fail(`Unknown option ${unknownOption}. Use --all, --slow, or an option of Node's test runner.`);

const testFolder = import.meta.dirname;
const selected = words.map((word) =>
  normalize(word)
    .replaceAll(sep, "/")
    .replace(/^test\/|\/$|\.test(\.ts)?$/g, ""),
);
const isWanted = (file: string): boolean => {
  if (selected.length > 0) return isInGroup(selected, file);
  if (isInGroup(onDemand, file)) return false;
  return args.includes("--all") || isInGroup([...slow, ...slowTogether], file) === args.includes("--slow");
};
const files = readdirSync(testFolder, { recursive: true })
  .map((path) => String(path).replaceAll(sep, "/"))
  // Each file below `examples` is run by a test of the example, with the runner for which it is written.
  .filter((file) => file.endsWith(".test.ts") && !file.includes("/examples/") && isWanted(file))
  .sort();
if (files.length === 0) fail(`No test is called ${words.join(" or ")}. Name folders or files below test/.`);

const folder = join(testFolder, "..", "node_modules", ".cache", `svc-test-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Ctrl-C also reaches the tests, so this process waits for their end.
process.on("SIGINT", () => {});
process.env.TMPDIR = createScratchFolder();
process.env.SVC_TEST_COMPILED = folder;
// With cgo, Go would compile its standard library again for programs that do without it.
process.env.CGO_ENABLED = "0";

// There are more processes than processors, because tests also wait: the slow ones for two thirds of their time.
const concurrency = availableParallelism() + (args.includes("--slow") || args.includes("--all") ? 2 : 1);
const compiled = await compileTests(groupFiles(files, [...onDemand, ...slow], concurrency), folder);
writeFileSync(join(folder, returnedFailuresFile), "");
process.exitCode = await runNode([
  // Tests allocate many short-lived objects. With 16 MB for them, garbage collection took a tenth of the time.
  "--max-semi-space-size=64",
  // There are more processes than processors, so helper threads would only compete with them.
  "--single-threaded-gc",
  "--enable-source-maps",
  "--test",
  // An endless test fails instead of blocking the pipeline.
  "--test-timeout=600000",
  // The reporter lists the failures at the end, which matters in a log of thousands of lines.
  "--test-reporter=spec",
  `--test-concurrency=${concurrency}`,
  ...options,
  ...compiled,
]);

// Declared failures that no test of the emulator returns are reported.
if (options.length === 0 && (selected.length === 0 ? !args.includes("--slow") : selected.includes("emulator"))) {
  const { registry } = await import("../src/api/registry.ts");
  const returned = new Set(readFileSync(join(folder, returnedFailuresFile), "utf8").split("\n"));
  const missing = listUnreturnedFailures(registry, returned);
  if (missing.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`Declared failures that no operation returned:\n${missing.join("\n")}\n`);
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
