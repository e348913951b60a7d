import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { program } from "../support/program.ts";

const begin = 'import { describe, it } from "node:test";\n';

it("names each file in which tests failed once, and one whose process ended early", async (t) => {
  const told = await failedOf(t, {
    "fine.test.mjs": `${begin}it("passes", () => {}); it("skipped", { skip: true }, () => { throw new Error(); });`,
    "ended.test.mjs": `${begin}it("ends", () => { process.exit(7); });`,
    "failing.test.mjs": `${begin}describe("some", () => { for (const name of ["one", "two"]) it(name, () => { throw new Error(); }); });`,
  });
  assert.deepEqual(told.sort(), ["ended.test.mjs", "failing.test.mjs"]);
});

async function failedOf(t: TestContext, files: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "svc-failed-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const paths = Object.keys(files).map((name) => join(folder, name));
  for (const path of paths) await writeFile(path, files[path.slice(folder.length + 1)]!);
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const argv = ["--test", `--test-reporter=${pathToFileURL(program("failed-files"))}`, ...paths];
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [lines] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return lines
    .split("\n")
    .filter(Boolean)
    .map((path) => path.slice(folder.length + 1));
}
