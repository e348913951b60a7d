import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const failedFile = "failed";

/** Runs compiled files of tests with Node's runner; `folder` is where `compileTests` put them. Resolves with the exit code. */
export function runTests(compiled: readonly string[], folder: string, options: readonly string[]): Promise<number> {
  const argv = [
    // Tests make much that lives briefly: with 16 MB for it, a tenth of their time went to collecting.
    "--max-semi-space-size=64",
    // One process more than there are processors: helpers would only take them from each other.
    "--single-threaded-gc",
    `--import=${pathToFileURL(join(folder, "follow-tests.js"))}`,
    "--test",
    // A test that waits for ever fails, with its name, instead of holding up the pipeline.
    "--test-timeout=600000",
    ...(options.some((option) => option.startsWith("--test-reporter")) ? ["--enable-source-maps"] : reporters(folder)),
    ...options,
    ...compiled,
  ];
  const env = { ...process.env, SVC_TEST_COMPILED: folder };
  return new Promise((resolve) => {
    spawn(process.execPath, argv, { stdio: "inherit", env }).on("exit", (code) => resolve(code ?? 1));
  });
}

/** The files in which tests failed: those of tests, or, where a process ended early, the compiled one. */
export function failedIn(folder: string): string[] {
  const path = join(folder, failedFile);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}

/** In a pipe, too: what failed is told again at the end, where a log of thousands of lines is read. */
const reporters = (folder: string): readonly string[] => [
  `--test-reporter=${pathToFileURL(join(folder, "report.js"))}`,
  "--test-reporter-destination=stdout",
  `--test-reporter=${pathToFileURL(join(folder, "failed-files.js"))}`,
  `--test-reporter-destination=${join(folder, failedFile)}`,
];
