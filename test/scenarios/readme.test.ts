import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { contractDocument, emptyPdf } from "../../src/cli/tour/documents.ts";
import { contentHash } from "../../src/schemes/webhook.ts";
import { root } from "../structure/repository.ts";
import { cliEmulator, testFolder } from "../support/cli-emulator.ts";
import { type Following, following } from "../support/following.ts";
import { receiver } from "../support/receiver.ts";
import { type RunResult, runCli } from "../support/run-cli.ts";

/** The README's blocks of one language, whole. */
async function blocks(language: string): Promise<string[]> {
  const text = await readFile(join(root, "README.md"), "utf8");
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block]) => block!);
}

/** The commands of some blocks, in their order, without comments; `a && b` are two. */
const commandsOf = (some: readonly string[]): string[] =>
  some
    .join("")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" && "));

/** The commands about webhooks need something to tell of; all others work from nothing. */
const isAboutWebhooks = (block: string): boolean => block.startsWith("npx svc webhooks");

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
    for (const command of commandsOf((await blocks("sh")).filter((block) => !isAboutWebhooks(block)))) {
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

  it("shows how webhooks are listened to, triggered, replayed and explained", async (t) => {
    const { emulator, svc, json, cwd } = await cliEmulator(t, { autoSignMs: 600_000 });
    await json("contracts create --data -", { stdin: JSON.stringify(contractDocument) });
    await json("contracts send T-1");
    const app = await receiver(t);
    const body = "{}";
    await writeFile(join(cwd, "body.json"), body);
    const signature = contentHash(emulator.clusters[0]!.hmacKey!, Buffer.from(body));

    const endless: Following[] = [];
    for (const command of commandsOf((await blocks("sh")).filter(isAboutWebhooks))) {
      const words = command
        .replace('"$SIGNATURE"', signature)
        .replace("3000/", `${new URL(app.url).port}/`)
        .split(" ")
        .slice(2);
      if (words.includes("listen") || words.includes("--follow")) {
        endless.push(following(svc, [...words, "--json"]));
        if (words.includes("listen")) await endless.at(-1)!.saw('"ready"');
        continue;
      }
      const { exit, err } = await svc(words);
      assert.deepEqual({ command, exit, trouble: exit === 0 ? "" : err }, { command, exit: 0, trouble: "" });
    }
    assert.equal(endless.length, 2);
    for (const one of endless) {
      await one.saw('"CONTRACT_EXECUTED"');
      one.signal("SIGINT");
      assert.equal((await one.ended).exit, 130);
    }
    assert.ok(app.received.length >= 2, "forwarded once, replayed once");
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
