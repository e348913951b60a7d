import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { blocks, commandsOf, readme } from "../support/cli/readme.ts";
import { type UserShell, userShell } from "../support/cli/user-shell.ts";
import { emulator } from "../support/emulator.ts";
import { receiver } from "../support/receiver.ts";
import { tarball } from "../support/tarball.ts";

/** What is not pasted, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  "npm ci": "installs a checkout; the README says so",
  "npx svc tour": "stands before the package is installed; tarball.test.ts walks the tour",
  "npm test": "runs the tests of a checkout",
  "npm link": "links a checkout",
};

/** Commands that end only when they are stopped, by what they print once they are ready. */
const endless: Readonly<Record<string, string>> = {
  "npx svc emulator start": "Ctrl-C stops it.",
  "npx svc webhooks listen": "Ctrl-C ends it",
  "npx svc webhooks deliveries --follow": "Ctrl-C ends it",
};

/**
 * What npx does with a program that is installed, in a hundredth of the second for which npm starts. The first blocks are
 * pasted with npx itself: that it finds the program is the same in all.
 */
const asNpx = `#!/bin/bash
npm_lifecycle_event=npx npm_lifecycle_script="$*" exec "node_modules/.bin/$1" "\${@:2}"
`;

/** What a line of the README becomes here, where the README's own words would leave this machine. */
type Words = Readonly<Record<string, string>>;

describe("the README, pasted into an empty folder of a user", () => {
  let home: string;
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let words: Words;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), "svc-pasted-"));
    folder = join(home, "project");
    await mkdir(folder);
    await mkdir(join(home, "bin"));
    await writeFile(join(home, "bin/npx"), asNpx, { mode: 0o755 });
    // Not published here: the tarball stands where the registry's package would.
    words = {
      "npm install --save-dev svc-toolkit": `npm install --save-dev file:${tarball}`,
      "npm install --global svc-toolkit": `npm install --global file:${tarball}`,
    };
    env = {
      PATH: process.env.PATH,
      HOME: home,
      BROWSER: "none",
      npm_config_offline: "true",
      npm_config_prefix: join(home, "global"),
    };
  });
  after(() => rm(home, { recursive: true, force: true }));

  const terminalWithNpx = (t: TestContext) => userShell(t, { cwd: folder, env });
  const terminal = (t: TestContext) =>
    userShell(t, { cwd: folder, env: { ...env, PATH: [join(home, "bin"), env.PATH].join(delimiter) } });

  /** The lines of the block that holds this. */
  const linesOf = (part: string): string[] => commandsOf(blocks("sh").filter((block) => block.includes(part)));

  /** Pastes one block, line by line, as far as each goes without a person. */
  async function pasteAll(shell: UserShell, lines: readonly string[], more: Words = {}) {
    for (const line of lines) {
      if (line in elsewhere) continue;
      let real = line;
      for (const [here, there] of Object.entries({ ...words, ...more })) real = real.replace(here, there);
      const [begins] = Object.keys(endless).filter((start) => line.startsWith(start));
      if (begins) await shell.stay(real, endless[begins]!);
      else await shell.paste(real);
    }
  }

  /** Starts the emulator that a section speaks of, on free ports. */
  const started = (shell: UserShell, line: string) => {
    assert.ok(readme().includes(line), `The README does not say: ${line}`);
    return shell.stay(`${line} --port 0`, endless["npx svc emulator start"]!);
  };

  it("installs", async (t) => {
    await pasteAll(terminalWithNpx(t), linesOf("npm install --save-dev"));
  });

  it("takes a minute", async (t) => {
    const shell = terminalWithNpx(t);
    const [start = "", ...none] = linesOf("npx svc emulator start");
    assert.deepEqual(none, []);
    await started(shell, start);
    await pasteAll(shell, linesOf("npx svc emulator workspaces"));
  });

  it("goes against a real service", async (t) => {
    const service = await emulator(t);
    const { url, clientId, clientSecret } = service.clusters[0]!;
    const real: Words = {
      "https://router.example.com": service.routerUrl,
      "https://api.example.com": url,
      wk_1f0c: clientId!,
      cli_7h2k: "demo-cli",
      // Typed at a keyboard; nobody types here.
      "config set client_secret": "config set client_secret --secret-file -",
    };
    const shell = terminal(t);
    for (const line of linesOf("npx svc config use")) {
      let there = line;
      for (const [name, other] of Object.entries(real)) there = there.replace(name, other);
      await shell.paste(there, clientSecret, (shown) => {
        // Whoever sees the code approves it.
        const [, userCode] = /\b([B-Z]{4}-[B-Z]{4})\b/.exec(shown) ?? [];
        if (userCode) void service.ask("POST", `device-grants/${userCode}`, { body: { status: "AUTHORIZED" } });
      });
    }
  });

  it("completes", async (t) => {
    await pasteAll(terminal(t), linesOf("npx svc completion"));
  });

  it("maps rows", async (t) => {
    const shell = terminal(t);
    await started(shell, "npx svc emulator start");
    await pasteAll(shell, linesOf("npx svc router jobs"));
  });

  it("receives webhooks", async (t) => {
    const app = await receiver(t);
    const shell = terminal(t);
    await started(shell, "npx svc emulator start --auto-sign PT10M");
    await pasteAll(shell, linesOf("npx svc webhooks listen"), { "localhost:3000": new URL(app.url).host });
    assert.ok(app.received.length >= 2, "forwarded, and replayed");
  });

  it("runs a pipeline", async (t) => {
    await pasteAll(terminalWithNpx(t), linesOf("npx svc emulator exec"));
  });

  it("has no other lines", () => {
    const known = ["npm install --save-dev", "emulator start", "emulator workspaces", "config use", "svc completion"];
    const parts = [...known, "router jobs", "webhooks listen", "emulator exec"];
    const others = blocks("sh").filter((block) => !parts.some((part) => block.includes(part)));
    assert.deepEqual(
      commandsOf(others).filter((line) => !(line in elsewhere)),
      [],
    );
  });
});
