import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { getCompiledPath } from "../support/program.ts";

const faultyTests = `
import { describe, it } from "node:test";
describe("timer", () => {
  it("throws immediately", () => new Promise(() => setTimeout(() => { throw new Error("first"); })));
  it("throws after 300,000 promises", async () => {
    for (let at = 0; at < 100_000; at += 1) await null;
    await new Promise(() => setTimeout(() => { throw new Error("last"); }));
  });
  it("passes", async () => {});
});
`;

/** Runs a file of tests like `test/run.ts`. Returns the exit code and the failures in the order of the tests. */
async function runTests(file: string) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const argv = ["--test-reporter=tap", "--test", file];
  const preload = `--import=${pathToFileURL(getCompiledPath("async-operations.js"))}`;
  return new Promise<{ exit: number | undefined; results: readonly string[] }>((resolve) => {
    execFile(process.execPath, [preload, ...argv], { env }, (error, stdout) => {
      const results = stdout.match(/^ +(?:not )?ok .*|^ +error: .*/gm) ?? [];
      resolve({ exit: error === null ? 0 : Number(error.code), results: results.map((line) => line.trim()) });
    });
  });
}

describe("bounded record of asynchronous operations", () => {
  it("assigns uncaught errors to their tests", async (t) => {
    const file = join(await createTestFolder(t), "faulty.test.mjs");
    await writeFile(file, faultyTests);
    const results = [
      ...["not ok 1 - throws immediately", "error: 'first'"],
      ...["not ok 2 - throws after 300,000 promises", "error: 'last'", "ok 3 - passes"],
    ];
    assert.deepEqual(await runTests(file), { exit: 1, results: [...results, "error: '2 subtests failed'"] });
  });
});
