import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, readdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { exampleContract } from "../../src/api/contracts/contracts.ts";
import { readEmulatorOptions } from "../../src/cli/commands/emulator/options.ts";
import { root } from "../structure/repository.ts";
import { type CliEmulator, createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { createEmptyPdf } from "../support/cli/examples-stage.ts";
import {
  assertPageSection,
  extractCodeBlocks,
  extractShellCommands,
  handWrittenPages,
  parseCommands,
  readPage,
} from "../support/cli/pages.ts";
import { type RunOptions, type RunResult, runCli } from "../support/cli/run-cli.ts";
import { type RunningCommand, startCommand } from "../support/cli/running-command.ts";
import { installSvc } from "../support/cli/terminal.ts";
import { createMovedWallClock } from "../support/clocks/moved-wall-clock.ts";
import { findFreePort } from "../support/free-port.ts";
import { startReceiver } from "../support/receiver.ts";
import { getBundleFolder } from "../support/shipped.ts";

/** The words of a command line with quotes. */
const splitWords = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ""));

/** The arguments of `npx svc …`. */
function parseArguments(command: string): string[] {
  assert.match(command, /^npx svc /, `This test does not know how to run: ${command}`);
  return splitWords(command).slice(2);
}

/** Runs a command of a page and asserts success. */
async function assertSucceeds(command: string, run: Promise<RunResult>): Promise<void> {
  const { exit, stderr } = await run;
  const isEmpty = stderr.includes("Nothing found");
  assert.deepEqual({ command, exit, error: exit === 0 && !isEmpty ? "" : stderr }, { command, exit: 0, error: "" });
}

/** Commands tested by test/packaged/tarball.test.ts, or by the current run (`.ci/run`). */
const isInstalling = (command: string): boolean => /^npm (ci|test|install )/.test(command);
const isConfiguring = (command: string): boolean => /^npx svc (config|doctor|auth)\b/.test(command);

/** A folder where only npx finds the package through this PATH. */
async function createProject(t: TestContext): Promise<{ cwd: string; path: string }> {
  const [cwd, installed] = [await createTestFolder(t), await createTestFolder(t)];
  await installSvc(installed);
  await writeFile(join(cwd, "npx"), `#!/bin/sh\nshift\nexec "${join(installed, "svc")}" "$@"\n`, { mode: 0o755 });
  const test = "node -e 'process.exit(process.env.SVC_BASE_URL ? 0 : 1)'";
  await writeFile(join(cwd, "package.json"), JSON.stringify({ private: true, scripts: { test } }));
  return { cwd, path: [cwd, process.env.PATH].join(delimiter) };
}

/** Runs commands in sequence in one folder, with an emulator that runs until stopped. */
async function runInOrder(t: TestContext, commands: readonly string[]): Promise<void> {
  const { cwd, path } = await createProject(t);
  const svc: CliEmulator["svc"] = (argv, options) => runCli(argv, { cwd, env: { PATH: path }, ...options });
  let emulator: RunningCommand | undefined;
  for (const command of commands) {
    const words = parseArguments(command);
    if (words[0] !== "emulator" || words[1] !== "start") {
      await assertSucceeds(command, svc(words));
      continue;
    }
    // Runs in this process on free ports, because the default ports may be in use. A new folder has no state.
    const flags = words.filter((word) => !["--detach", "--ephemeral"].includes(word));
    const started = startCommand(svc, [...flags, "--port", "0"]);
    t.after(() => started.signal("SIGINT"));
    await started.saw("Press Ctrl-C to stop it.");
    emulator = started;
  }
  assert.equal((await emulator?.completion)?.exit ?? 0, 0);
}

/** Runs commands for a real deployment against an emulator, with the secret in a file. */
async function configure(t: TestContext, commands: readonly string[]): Promise<void> {
  const { emulator, cwd } = await startCliEmulator(t);
  const { url, clientId, clientSecret } = emulator.clusters[0]!;
  await writeFile(join(cwd, "secret.txt"), `${clientSecret}\n`);
  const real: Readonly<Record<string, string>> = {
    "https://router.example.com": emulator.routerUrl,
    "https://api.example.com": url,
    wk_1f0c: clientId!,
    cli_7h2k: "demo-cli",
  };
  const options: RunOptions = {
    cwd,
    env: { SVC_CONFIG_DIR: join(cwd, "config") },
    wall: createMovedWallClock(),
    onError(output) {
      const userCode = /\b([B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4})\b/.exec(output)?.[1];
      if (userCode) void emulator.control("POST", `device-grants/${userCode}`, { body: { status: "AUTHORIZED" } });
    },
  };
  for (const command of commands) {
    const words = parseArguments(command).map((word) => real[word] ?? word);
    if (words.includes("client_secret")) words.push("--secret-file", "secret.txt");
    await assertSucceeds(command, runCli(words, options));
  }
}

/** Runs the lines that install a completion script in a separate bash. */
async function complete(t: TestContext, block: string): Promise<void> {
  const { cwd: home, path: PATH } = await createProject(t);
  const [, scriptPath = ""] = /> ~\/(\S+)/.exec(block) ?? [];
  const script = `set -e\n${block}\nsource ~/${scriptPath}\ncomplete -p svc`;
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8", env: { HOME: home, PATH } });
  assert.deepEqual([status, stdout], [0, "complete -F __svc_complete svc\n"], stderr);
}

/** The runner of the shell blocks of each page. */
const runs: Readonly<Record<string, (t: TestContext, page: string) => Promise<void>>> = {
  async "README.md"(t, page) {
    const commands = extractShellCommands(page).filter((command) => !isInstalling(command));
    await runInOrder(
      t,
      commands.filter((command) => !isConfiguring(command)),
    );
    await configure(t, commands.filter(isConfiguring));
  },
  "docs/quickstart.md": (t, page) => runInOrder(t, extractShellCommands(page)),
  "docs/ci.md": (t, page) => runInOrder(t, extractShellCommands(page)),

  async "docs/tracing.md"(t, page) {
    const { svc, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "contract.json"), JSON.stringify(exampleContract));
    await svc("contracts create --data contract.json");
    for (const command of extractShellCommands(page)) await assertSucceeds(command, svc(parseArguments(command)));
  },

  async "docs/webhooks.md"(t, page) {
    const { svc, cwd } = await startCliEmulator(t, { autoSignMs: 600_000 });
    const app = await startReceiver(t);
    let listener: RunningCommand | undefined;
    for (const command of extractShellCommands(page)) {
      // The emulator runs, and the variables from `eval` are set.
      if (/^(npx svc emulator (start|stop)\b|eval )/.test(command)) continue;
      if (command.includes(" certify ")) {
        await copyFile(join(root, "docs/receivers/receiver.mjs"), join(cwd, "receiver.mjs"));
        const env = { PATH: process.env.PATH };
        await assertSucceeds(
          command,
          svc(parseArguments(command.replace("3000", String(await findFreePort()))), { env }),
        );
        continue;
      }
      const words = parseArguments(command.replace("3000/", `${new URL(app.url).port}/`));
      if (!words.includes("listen")) {
        await assertSucceeds(command, svc(words));
        continue;
      }
      listener = startCommand(svc, [...words, "--json"]);
      await listener.saw('"ready"');
    }
    await listener!.saw('"CONTRACT_EXECUTED"');
    listener!.signal("SIGINT");
    assert.equal((await listener!.completion).exit, 130);
    assert.ok(app.received.length >= 2, "forwarded once, replayed once");
  },

  async "docs/scenarios.md"(t, page) {
    const { svc, cwd } = await startCliEmulator(t);
    const app = await startReceiver(t);
    for (const block of extractCodeBlocks(page, "yaml")) {
      const [, name = ""] = /^# (\S+\.yaml)\n/.exec(block) ?? [];
      await writeFile(join(cwd, name), block.replace("http://localhost:3000/hooks", app.url));
    }
    await writeFile(join(cwd, "nda.json"), JSON.stringify(exampleContract));
    await svc("contracts create --data nda.json");
    for (const command of extractShellCommands(page)) {
      const [line = "", file] = command.split(" > ");
      const run = svc(parseArguments(line));
      await assertSucceeds(command, run);
      if (file !== undefined) JSON.parse((await run).stdout);
    }
  },

  async "docs/verify.md"(t, page) {
    const { svc, cwd, emulator } = await startCliEmulator(t);
    const { url, clientId: client_id, clientSecret: client_secret } = emulator.clusters[0]!;
    const staging = { contracts_url: url, router_url: emulator.routerUrl, client_id, client_secret };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles: { staging } }), { mode: 0o600 });
    await writeFile(join(cwd, "check.mjs"), "process.exit(process.env.SVC_BASE_URL ? 0 : 1)");
    let proxy: RunningCommand | undefined;
    for (const command of extractShellCommands(page)) {
      const words = parseArguments(command.replace("https://api.example.com", url).replace("--port 8080", "--port 0"));
      if (words[1] === "proxy" || words[1] === "listen") {
        const started = startCommand(svc, [...words, "--json"]);
        await started.saw('"ready"');
        if (words[1] === "proxy") proxy = started;
        else {
          await svc("webhooks trigger CONTRACT_CREATED");
          started.signal("SIGINT");
          await started.completion;
          proxy!.signal("SIGINT");
          assert.equal((await proxy!.completion).exit, 130);
        }
        continue;
      }
      await assertSucceeds(command, svc(words[1] === "record" ? [...words, "--rate", "1000"] : words));
    }
    const recorded = (await readdir(join(cwd, "session"))).filter((name) => name.endsWith("CONTRACT_CREATED.http"));
    assert.equal(recorded.length, 1);
  },

  async "docs/configuration.md"(t, page) {
    const [configuring = "", completing = "", ...extraArgs] = extractCodeBlocks(page, "sh");
    assert.deepEqual(extraArgs, []);
    await configure(t, parseCommands([configuring]));
    await complete(t, completing);
  },

  async "docs/agents.md"(t, page) {
    const cwd = await createTestFolder(t);
    for (const command of extractShellCommands(page))
      await assertSucceeds(command, runCli(parseArguments(command), { cwd }));
  },

  async "docs/bulk-jobs.md"(t, page) {
    const { svc, cwd } = await startCliEmulator(t);
    const [write = "", ...commands] = extractShellCommands(page);
    spawnSync("sh", ["-c", write], { cwd });
    for (const command of commands) await assertSucceeds(command, svc(parseArguments(command)));
  },
};

describe("user documentation", () => {
  for (const page of handWrittenPages.filter((value) => extractCodeBlocks(value, "sh").length > 0)) {
    it(`shows working commands in ${page}`, async (t) => {
      const run = runs[page];
      assert.ok(run, `${page} has commands that this test does not run`);
      await run(t, page);
    });
  }

  it("shows a recorded session that matches the real output", async (t) => {
    const page = "docs/quickstart.md";
    const [, start = ""] = /`svc (emulator start [^`]*)`/.exec(readPage(page)) ?? [];
    const flags = Object.fromEntries(
      [...start.matchAll(/--([a-z-]+)(?: ([^-\s]\S*))?/g)].map(([, flag, value]) => [flag, value ?? true]),
    );
    const host = { env: {}, cwd: "/" } as unknown as Parameters<typeof readEmulatorOptions>[1];
    const options = await readEmulatorOptions({ positionals: {}, flags, rest: [] }, host);
    const { svc, cwd } = await startCliEmulator(t, {
      ...options,
      file: join(await createTestFolder(t), "emulator.json"),
    });
    await writeFile(join(cwd, "agreement.pdf"), createEmptyPdf());
    await writeFile(join(cwd, "nda.json"), JSON.stringify(exampleContract));
    const [recording = ""] = extractCodeBlocks(page, "console");
    let played = "";
    for (const [, line = ""] of recording.matchAll(/^\$ svc (.*)$/gm)) {
      // Both streams on a terminal of 100 columns.
      const { stdout, stderr } = await svc(splitWords(line), {
        tty: true,
        env: { SVC_NO_COLOR: "1", SVC_NO_INPUT: "1" },
      });
      played += `$ svc ${line}\n${stdout}${stderr}`;
    }
    assertPageSection(page, `\`\`\`console\n${recording}\`\`\``, `\`\`\`console\n${played}\`\`\``);
  });

  it("shows a working program", async (t) => {
    const [program = ""] = extractCodeBlocks("docs/testing.md", "ts");
    const [, promised] = /; \/\/ (\{.*\})$/m.exec(program) ?? [];
    const door = pathToFileURL(join(getBundleFolder(), "emulator.js")).href;
    const path = join(await createTestFolder(t), "program.mts");
    await writeFile(
      path,
      `${program.replace("svc-toolkit/emulator", door)}\nexport const answer = await response.text();\n`,
    );
    const { answer } = await tsImport(pathToFileURL(path).href, import.meta.url);
    assert.equal(answer, promised);
  });
});
