import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { emptyPdf } from "../../src/cli/tour/documents.ts";
import { root } from "../structure/repository.ts";
import { testFolder } from "../support/cli-emulator.ts";
import { type RunResult, runCli } from "../support/run-cli.ts";

/** The README's blocks of one language, whole. */
async function blocks(language: string): Promise<string[]> {
  const text = await readFile(join(root, "README.md"), "utf8");
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block]) => block!);
}

/** Every command of the README, in its order, without comments; `a && b` are two. */
async function commands(): Promise<string[]> {
  const lines = (await blocks("sh")).join("").split("\n");
  return lines
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" && "));
}

/** A folder as the README has it: an agreement to upload, and a test suite that wants to know where the service is. */
async function project(t: TestContext): Promise<string> {
  const cwd = await testFolder(t);
  await writeFile(join(cwd, "agreement.pdf"), emptyPdf());
  const test = 'node -e "fetch(process.env.SVC_BASE_URL).then((r) => r.ok || process.exit(1))"';
  await writeFile(join(cwd, "package.json"), JSON.stringify({ private: true, scripts: { test } }));
  return cwd;
}

/** Commands that end only when another stops them. */
const stays = (words: readonly string[]): boolean => words.slice(0, 2).join(" ") === "emulator start";

describe("the README", () => {
  it("shows commands that all work, one after the other", async (t) => {
    const cwd = await project(t);
    const scripts = Object.keys(JSON.parse(await readFile(join(root, "package.json"), "utf8")).scripts);
    let emulator: Promise<RunResult> | undefined;
    for (const command of await commands()) {
      // Both are what runs this very test; `.ci/run` begins with them.
      if (command === "npm ci") continue;
      if (command === "npm test") {
        assert.ok(scripts.includes("test"));
        continue;
      }
      assert.match(command, /^npx svc /, `This test does not know how to run: ${command}`);
      const words = command.split(" ").slice(2);
      if (stays(words)) {
        await new Promise<void>((up, failed) => {
          // Free ports: the ones of the README may be in use where this runs.
          emulator = runCli([...words, "--port", "0"], { cwd, onOutput: (out) => out.endsWith(".\n") && up() });
          emulator.then(({ err }) => failed(new Error(`${command} ended: ${err}`)), failed);
        });
        continue;
      }
      const { exit, err } = await runCli(words, { cwd, env: { PATH: process.env.PATH } });
      assert.deepEqual({ command, exit, trouble: exit === 0 ? "" : err }, { command, exit: 0, trouble: "" });
    }
    assert.equal((await emulator)?.exit, 0);
  });

  it("shows a program that works", async (t) => {
    const [program = ""] = await blocks("ts");
    const [, promised] = /; \/\/ (\{.*\})$/m.exec(program) ?? [];
    const door = pathToFileURL(join(root, "emulator/index.ts")).href;
    const path = join(await testFolder(t), "program.mts");
    await writeFile(
      path,
      `${program.replace("svc-toolkit/emulator", door)}\nexport const answer = await response.text();\n`,
    );
    const { answer } = await import(pathToFileURL(path).href);
    assert.equal(answer, promised);
  });
});
