import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { emulatorOptions } from "../../src/cli/commands/emulator/options.ts";
import { contractDocument, emptyPdf } from "../../src/cli/tour/documents.ts";
import { root } from "../structure/repository.ts";
import { cliEmulator, testFolder } from "../support/cli/cli-emulator.ts";
import { type Following, following } from "../support/cli/following.ts";
import { assertPart, blocks, commandsOf, readme } from "../support/cli/readme.ts";
import { type RunResult, runCli } from "../support/cli/run-cli.ts";
import { installSvc } from "../support/cli/terminal.ts";
import { receiver } from "../support/receiver.ts";
import { shippedBundle } from "../support/shipped.ts";
import { movedWall } from "../support/walls/moved-wall.ts";

/** What a block of commands needs: something to tell of, a service of its own, rows to send, a shell. */
const isAbout =
  (...groups: string[]) =>
  (block: string): boolean =>
    groups.some((group) => block.startsWith(`npx svc ${group} `));
const isAboutWebhooks = (block: string): boolean => block.includes("npx svc webhooks listen ");
const isAboutRows = (block: string): boolean => block.includes("npx svc router jobs ");
/** How to install is proved with the packed tarball: test/packaged/tarball.test.ts. */
const isInstalling = (block: string): boolean => block.startsWith("npm install ");
const needsOthers = (block: string): boolean =>
  isAboutWebhooks(block) || isAboutRows(block) || isAbout("config")(block);
const isCompleting = (block: string): boolean => block.includes("svc completion ");
const isApart = (block: string): boolean => isInstalling(block) || isCompleting(block) || needsOthers(block);

/** A command line in words; quotes hold blanks together. */
const wordsIn = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ""));

/** A folder where, by this PATH, npx alone finds what ships, and nothing else is installed. */
async function project(t: TestContext): Promise<{ cwd: string; path: string }> {
  const [cwd, installed] = [await testFolder(t), await testFolder(t)];
  await installSvc(installed);
  await writeFile(join(cwd, "npx"), `#!/bin/sh\nshift\nexec "${join(installed, "svc")}" "$@"\n`, { mode: 0o755 });
  await writeFile(join(cwd, "package.json"), JSON.stringify({ private: true }));
  return { cwd, path: [cwd, process.env.PATH].join(delimiter) };
}

/** Commands that end only when another stops them. */
const stays = (words: readonly string[]): boolean => words.slice(0, 2).join(" ") === "emulator start";

describe("the README", () => {
  it("shows commands that all work, one after the other", async (t) => {
    const { cwd, path } = await project(t);
    const scripts = Object.keys(JSON.parse(await readFile(join(root, "package.json"), "utf8")).scripts);
    let emulator: Promise<RunResult> | undefined;
    // Where a command before `emulator stop` has failed.
    t.after(() => emulator && runCli(["emulator", "stop"], { cwd }));
    for (const command of commandsOf(blocks("sh").filter((block) => !isApart(block)))) {
      // Both are what runs this very test; `.ci/run` begins with them.
      if (command === "npm ci") continue;
      if (command === "npm test") {
        assert.ok(scripts.includes("test"));
        continue;
      }
      assert.match(command, /^npx svc /, `This test does not know how to run: ${command}`);
      const words = wordsIn(command).slice(2);
      if (stays(words)) {
        await new Promise<void>((up, failed) => {
          // Free ports: the ones of the README may be in use where this runs.
          emulator = runCli([...words, "--port", "0"], { cwd, onOutput: (out) => out.endsWith(".\n") && up() });
          emulator.then(({ err }) => failed(new Error(`${command} ended: ${err}`)), failed);
        });
        continue;
      }
      const { exit, err } = await runCli(words, { cwd, env: { PATH: path } });
      const isEmpty = err.includes("Nothing found");
      assert.deepEqual(
        { command, exit, trouble: exit === 0 && !isEmpty ? "" : err },
        { command, exit: 0, trouble: "" },
      );
    }
    assert.equal((await emulator)?.exit, 0);
  });

  it("shows how webhooks are listened to, triggered, replayed and explained", async (t) => {
    const { svc } = await cliEmulator(t, { autoSignMs: 600_000 });
    const app = await receiver(t);

    const endless: Following[] = [];
    for (const command of commandsOf(blocks("sh").filter(isAboutWebhooks))) {
      // What it sets is set here.
      if (command === 'eval "$(npx svc emulator env)"') continue;
      const words = command
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

  it("shows how a real service is kept as a profile, signed in at, and looked after", async (t) => {
    const { emulator, cwd } = await cliEmulator(t);
    const { url, clientId, clientSecret } = emulator.clusters[0]!;
    await writeFile(join(cwd, "secret.txt"), `${clientSecret}\n`);
    const real: Readonly<Record<string, string>> = {
      "https://router.example.com": emulator.routerUrl,
      "https://api.example.com": url,
      wk_1f0c: clientId!,
      cli_7h2k: "demo-cli",
    };
    for (const command of commandsOf(blocks("sh").filter(isAbout("config")))) {
      const words = command.split(" ").slice(2);
      // Nobody types here.
      if (words.includes("client_secret")) words.push("--secret-file", "secret.txt");
      const { exit, err } = await runCli(
        words.map((word) => real[word] ?? word),
        {
          cwd,
          env: { SVC_CONFIG_DIR: join(cwd, "config") },
          wall: movedWall(),
          onError(shown) {
            // Whoever sees the code approves it.
            const userCode = /\b([B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4})\b/.exec(shown)?.[1];
            if (userCode) void emulator.ask("POST", `device-grants/${userCode}`, { body: { status: "AUTHORIZED" } });
          },
        },
      );
      assert.deepEqual({ command, exit, trouble: exit === 0 ? "" : err }, { command, exit: 0, trouble: "" });
    }
  });

  it("shows how millions of rows are sent, and how a job is gone on with", async (t) => {
    const { svc, cwd } = await cliEmulator(t);
    await writeFile(join(cwd, "people.csv"), "email\nada@example.com\nbob@example.com\ncleo@example.com\n");
    for (const command of commandsOf(blocks("sh").filter(isAboutRows))) {
      if (command.startsWith("printf ")) continue;
      const { exit, err } = await svc(command.split(" ").slice(2));
      assert.deepEqual({ command, exit, trouble: exit === 0 ? "" : err }, { command, exit: 0, trouble: "" });
    }
  });

  it("shows where the completion of a shell goes", async (t) => {
    const { cwd: home, path: PATH } = await project(t);
    const [block = ""] = blocks("sh").filter(isCompleting);
    const [, place = ""] = /> ~\/(\S+)/.exec(block) ?? [];
    const script = `set -e\n${block}\nsource ~/${place}\ncomplete -p svc`;
    const env = { HOME: home, PATH };
    const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8", env });
    assert.deepEqual([status, stdout], [0, "complete -F __svc_complete svc\n"], stderr);
  });

  it("shows a recording that is true", async (t) => {
    const [, start = ""] = /`svc (emulator start [^`]*)`/.exec(readme()) ?? [];
    const flags = Object.fromEntries(
      [...start.matchAll(/--([a-z-]+)(?: ([^-\s]\S*))?/g)].map(([, flag, value]) => [flag, value ?? true]),
    );
    const host = { env: {}, cwd: "/" } as unknown as Parameters<typeof emulatorOptions>[1];
    const options = await emulatorOptions({ positionals: {}, flags, rest: [] }, host);
    const { svc, cwd } = await cliEmulator(t, { ...options, file: join(await testFolder(t), "emulator.json") });
    await writeFile(join(cwd, "agreement.pdf"), emptyPdf());
    await writeFile(join(cwd, "nda.json"), JSON.stringify(contractDocument));
    const [recording = ""] = blocks("console");
    let played = "";
    for (const [, line = ""] of recording.matchAll(/^\$ svc (.*)$/gm)) {
      // At a terminal of 100 columns; both streams, as eyes see them.
      const { out, err } = await svc(wordsIn(line), { tty: true, env: { SVC_NO_COLOR: "1", SVC_NO_INPUT: "1" } });
      played += `$ svc ${line}\n${out}${err}`;
    }
    assertPart(`\`\`\`console\n${recording}\`\`\``, `\`\`\`console\n${played}\`\`\``);
  });

  it("shows a program that works", async (t) => {
    const [program = ""] = blocks("ts");
    const [, promised] = /; \/\/ (\{.*\})$/m.exec(program) ?? [];
    const door = pathToFileURL(join(shippedBundle(), "emulator.js")).href;
    const path = join(await testFolder(t), "program.mts");
    await writeFile(
      path,
      `${program.replace("svc-toolkit/emulator", door)}\nexport const answer = await response.text();\n`,
    );
    const { answer } = await tsImport(pathToFileURL(path).href, import.meta.url);
    assert.equal(answer, promised);
  });
});
