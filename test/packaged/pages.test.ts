import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { extractCodeBlocks, extractShellCommands, handWrittenPages, readPage } from "../support/cli/pages.ts";
import { openUserShell, type UserShell } from "../support/cli/user-shell.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";
import { tarballPath } from "../support/tarball.ts";

/** Commands that are not run, with reasons. */
const skipReasons: Readonly<Record<string, string>> = {
  "npm ci": "installs a checkout; the README says so",
  [`npm install --global ./${basename(tarballPath)}`]: "tarball.test.ts installs it globally and runs it",
  "npx svc tour": "stands before the package is installed; tarball.test.ts walks the tour",
  "npm test": "runs the tests of a checkout",
  ...Object.fromEntries(
    ["--command 'node receiver.mjs'", "--command 'node receiver.mjs' --probe 'cat events.jsonl'"].map((flags) => [
      `npx svc webhooks certify --to http://localhost:3000/hooks ${flags}`,
      "starts a receiver on a port that may be in use; test/scenarios/pages and test/interop/receivers run it",
    ]),
  ),
};

/** Pages whose commands require prepared files. test/scenarios/pages runs these. */
const preparedPages = ["docs/scenarios.md", "docs/verify.md"];

/** Commands that run until stopped, with their output when ready. */
const endless: Readonly<Record<string, string>> = { "npx svc webhooks listen": "Ctrl-C to stop" };

/**
 * Replaces npx for an installed program, which takes a hundredth of the time that npm needs to start. The first
 * command of the README uses npx itself, because its search for the program is the same for all commands.
 */
const asNpx = `#!/bin/bash
npm_lifecycle_event=npx npm_lifecycle_script="$*" exec "node_modules/.bin/$1" "\${@:2}"
`;

/** Replacements for lines that would access the network or use a fixed port. */
type Words = Readonly<Record<string, string>>;

describe("user documentation in an empty folder", () => {
  let home: string;
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let words: Words;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), "svc-pasted-"));
    folder = join(home, "project");
    await mkdir(folder);
    // The package.json of a user's project, with a test that looks for an emulator.
    const test = "svc router clusters";
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, scripts: { test } }));
    await mkdir(join(home, "bin"));
    await writeFile(join(home, "bin/npx"), asNpx, { mode: 0o755 });
    // The tarball is in another folder.
    words = {
      [`./${basename(tarballPath)}`]: tarballPath,
      "npx svc emulator start": "npx svc emulator start --port 0",
    };
    env = { PATH: process.env.PATH, HOME: home, BROWSER: "none", npm_config_offline: "true" };
  });
  after(() => rm(home, { recursive: true, force: true }));

  const terminalWithNpx = (t: TestContext) => openUserShell(t, { cwd: folder, env });
  const terminal = (t: TestContext) =>
    openUserShell(t, { cwd: folder, env: { ...env, PATH: [join(home, "bin"), env.PATH].join(delimiter) } });

  /** Runs the commands of a page line by line without user input. */
  async function pasteAll(shell: UserShell, lines: readonly string[], extraHeaders: Words = {}) {
    for (const line of lines) {
      if (line in skipReasons) continue;
      let real = line;
      for (const [here, there] of Object.entries({ ...words, ...extraHeaders })) real = real.replace(here, there);
      const [begins] = Object.keys(endless).filter((start) => line.startsWith(start));
      if (begins) await shell.stay(real, endless[begins]!);
      else assert.doesNotMatch(await shell.paste(real), /Nothing found/, line);
    }
  }

  const isConfiguring = (line: string): boolean => /^npx svc (config|auth|doctor)\b/.test(line);

  /** Runs commands for a real deployment against an emulator. */
  async function configure(t: TestContext, lines: readonly string[]) {
    const service = await startTestEmulator(t);
    const shell = terminal(t);
    const { url, clientId, clientSecret } = service.clusters[0]!;
    const real: Words = {
      "https://router.example.com": service.routerUrl,
      "https://api.example.com": url,
      wk_1f0c: clientId!,
      cli_7h2k: "demo-cli",
      // The command requires keyboard input.
      "config set client_secret": "config set client_secret --secret-file -",
    };
    for (const line of lines) {
      let replaced = line;
      for (const [name, actual] of Object.entries(real)) replaced = replaced.replace(name, actual);
      await shell.paste(replaced, clientSecret, (output) => {
        const [, userCode] = /\b([B-Z]{4}-[B-Z]{4})\b/.exec(output) ?? [];
        if (userCode) void service.control("POST", `device-grants/${userCode}`, { body: { status: "AUTHORIZED" } });
      });
    }
  }

  /** The runner of each page. Pages run in sequence, because the README installs the package. */
  const pasted: Readonly<Record<string, (t: TestContext, lines: readonly string[]) => Promise<void>>> = {
    async "README.md"(t, lines) {
      const commands = lines.filter((line) => !isConfiguring(line) && !(line in skipReasons));
      const afterFirst = commands.findIndex((line) => line.startsWith("npx svc ")) + 1;
      await pasteAll(terminalWithNpx(t), commands.slice(0, afterFirst));
      await pasteAll(terminal(t), commands.slice(afterFirst));
      await configure(t, lines.filter(isConfiguring));
      await terminal(t).paste("npx svc config remove staging --yes");
    },
    "docs/quickstart.md": (t, lines) => pasteAll(terminal(t), lines),
    "docs/ci.md": (t, lines) => pasteAll(terminal(t), lines),
    "docs/agents.md": (t, lines) => pasteAll(terminal(t), lines),
    async "docs/tracing.md"(t, lines) {
      const prepared = ["npx svc emulator start --detach", "npx svc contracts list"];
      await pasteAll(terminal(t), [...prepared, ...lines, "npx svc emulator stop"]);
    },
    async "docs/webhooks.md"(t, lines) {
      const app = await startReceiver(t);
      await pasteAll(terminal(t), lines, { "localhost:3000": new URL(app.url).host });
      // Forwarded, replayed and advanced.
      const activities = app.received.map(({ body }) => (JSON.parse(String(body)) as { activity: string }).activity);
      assert.deepEqual(activities.slice(0, 2), ["CONTRACT_SIGNED", "CONTRACT_SIGNED"]);
      assert.ok(activities.includes("CONTRACT_EXECUTED"), activities.join());
    },
    async "docs/bulk-jobs.md"(t, lines) {
      const start = "npx svc emulator start";
      assert.ok(readPage("docs/bulk-jobs.md").includes(`\`${start}\``));
      await pasteAll(terminal(t), [`${start} --detach`, ...lines, "npx svc emulator stop"]);
    },
    async "docs/configuration.md"(t, lines) {
      await configure(t, lines.filter(isConfiguring));
      await pasteAll(
        terminal(t),
        lines.filter((line) => !isConfiguring(line)),
      );
      const script = lines.find((line) => line.includes("svc completion bash"))!.split(" > ")[1];
      await terminal(t).paste(`source ${script}; complete -p svc | grep -x "complete -F __svc_complete svc"`);
    },
  };

  for (const page of handWrittenPages.filter(
    (value) => extractCodeBlocks(value, "sh").length > 0 && !preparedPages.includes(value),
  )) {
    it(`works from top to bottom in ${page}`, async (t) => {
      const paste = pasted[page];
      assert.ok(paste, `${page} has commands that this test does not paste`);
      await paste(t, extractShellCommands(page));
    });
  }
});
