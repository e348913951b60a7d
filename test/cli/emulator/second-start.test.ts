import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startEmulatorCommand } from "./started.ts";

const createInUseMessage = (stop: string) =>
  `An emulator is already running on this state (RUN FILE). Use it, stop it with "${stop}", or choose another file with --file.`;

describe("second svc emulator start", () => {
  it("reports the running emulator of the folder, its address and how to inspect it", async (t) => {
    const { cwd, url, port } = await startEmulatorCommand(t, "emulator start --port 0");
    const state = join(cwd, ".svc/emulator.json");
    for (const line of [
      `emulator start --port ${port}`,
      "emulator start --port 0",
      "emulator start --port 0 --detach",
    ]) {
      const { exit, stderr } = await runCli(line, { cwd });
      assert.deepEqual(
        [exit, stderr],
        [
          1,
          `error: An emulator is already running: ${url} (state: ${state}).\n` +
            "  Use it, or stop it with svc emulator stop.\n" +
            `  try: svc emulator status --file ${state}\n`,
        ],
        line,
      );
    }
  });

  it("explains how two processes of a store share a folder", async (t) => {
    const env = { SVC_RUN_FILE: "svc.run" };
    const { cwd } = await startEmulatorCommand(t, "emulator start --port 0", env);
    const { exit, stderr } = await runCli("emulator start --port 0 --store postgres://a@127.0.0.1:9/db", { cwd, env });
    assert.equal(exit, 1);
    assert.equal(
      stderr.replace(/\(.*\)/, "(RUN FILE)"),
      `error: ${createInUseMessage("svc emulator stop")}\n  To run a second process with the same store and folder, set SVC_RUN_FILE to another file.\n`,
    );
  });

  it("reports that the emulator of another folder uses the ports", async (t) => {
    const { cwd, port } = await startEmulatorCommand(t, "emulator start --port 0");
    const { exit, stderr } = await runCli(`emulator start --port ${port}`, { cwd: await createTestFolder(t) });
    assert.equal(exit, 1);
    const [message, hint] = stderr.split("\n");
    assert.equal(message, `error: Port ${port} or a following port is in use by another emulator.`);
    assert.equal(
      hint,
      `  Choose another port with --port, or use --port 0 for free ports. To stop it, run svc emulator stop --file ${join(cwd, ".svc/emulator.json")}.`,
    );
    const env = { SVC_EMULATOR_URL: `http://127.0.0.1:${port}/_emulator` };
    const result = await runCli(`emulator start --port ${port}`, { cwd: await createTestFolder(t), env });
    assert.match(
      result.stderr,
      /free ports\. The variables of this shell point to the other emulator\. To stop it, run svc emulator stop\.\n/,
    );
  });
});

describe("svc emulator start with a port in use", () => {
  it("creates no files in the folder", async (t) => {
    const { port } = await startEmulatorCommand(t, "emulator start --port 0");
    for (const line of [`emulator start --port ${port}`, `emulator start --port ${port} --detach`]) {
      const cwd = await createTestFolder(t);
      assert.equal((await runCli(line, { cwd })).exit, 1, line);
      assert.deepEqual(await readdir(cwd), [], line);
    }
  });

  it("preserves an existing .svc folder and its files", async (t) => {
    const { port } = await startEmulatorCommand(t, "emulator start --port 0");
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, ".svc"));
    await writeFile(join(cwd, ".svc/notes.txt"), "mine");
    assert.equal((await runCli(`emulator start --port ${port}`, { cwd })).exit, 1);
    assert.deepEqual(await readdir(join(cwd, ".svc")), ["notes.txt"]);
  });
});

describe("emulator with a removed .svc folder", () => {
  /** A folder with the name of the run file prevents the emulator from restoring the file. */
  function replaceRunFile(cwd: string): void {
    const runFile = join(cwd, ".svc/emulator.json.run");
    rmSync(runFile);
    mkdirSync(runFile);
  }

  it("restores the run file of a state in memory, and git still ignores the folder", async (t) => {
    const cwd = await createTestFolder(t);
    const folder = join(cwd, ".svc");
    const runFile = join(folder, "emulator.json.run");
    await startTestEmulator(t, { ephemeral: true, runFile });
    const before = await readFile(runFile, "utf8");
    await rm(folder, { recursive: true });
    while ((await runCli("emulator status", { cwd })).exit !== 0);
    assert.equal(await readFile(runFile, "utf8"), before);
    assert.equal(await readFile(join(folder, ".gitignore"), "utf8"), "*\n");
  });

  it("is named by its process ID if another emulator needs its port", async (t) => {
    const { cwd, port } = await startEmulatorCommand(t, "emulator start --port 0");
    replaceRunFile(cwd);
    const another = "Choose another port with --port, or use --port 0 for free ports.";
    for (const folder of [cwd, await createTestFolder(t)]) {
      const { exit, stderr } = await runCli(`emulator start --port ${port}`, { cwd: folder });
      assert.deepEqual(
        [exit, stderr],
        [
          1,
          `error: Port ${port} or a following port is in use by another emulator.\n  ${another} To stop it, run kill ${process.pid}.\n`,
        ],
      );
    }
  });
});

describe("--ready-file", () => {
  it("is removed with the emulator", async (t) => {
    const { cwd, run } = await startEmulatorCommand(t, "emulator start --port 0 --ephemeral --ready-file up.json");
    assert.equal(JSON.parse(await readFile(join(cwd, "up.json"), "utf8")).event, "ready");
    run.signal("SIGINT");
    await run.completion;
    assert.equal(existsSync(join(cwd, "up.json")), false);
  });

  it("is removed before the next start if a killed emulator left the file", async (t) => {
    const cwd = await createTestFolder(t);
    const readyFile = join(cwd, "up.json");
    await writeFile(readyFile, '{"event":"ready","pid":1}\n');
    await writeFile(join(cwd, "seed.json"), "{}");
    // The empty seed is invalid, so the emulator does not start.
    const { exit } = await runCli("emulator start --port 0 --ready-file up.json --seed seed.json", { cwd });
    assert.deepEqual([exit, existsSync(readyFile)], [2, false]);
  });

  it("survives a rejected second start next to a running emulator", async (t) => {
    const { cwd, run } = await startEmulatorCommand(t, "emulator start --port 0 --ready-file up.json");
    const before = await readFile(join(cwd, "up.json"), "utf8");
    const { exit } = await runCli("emulator start --port 0 --ready-file up.json", { cwd });
    assert.deepEqual([exit, await readFile(join(cwd, "up.json"), "utf8")], [1, before]);
    run.signal("SIGINT");
    await run.completion;
    assert.equal(existsSync(join(cwd, "up.json")), false);
  });

  it("becomes private once the file contains a token", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "up.json"), "", { mode: 0o644 });
    const { run } = await startEmulatorCommand(t, "emulator start --port 0 --ephemeral --ready-file up.json", {}, cwd);
    assert.equal((await stat(join(cwd, "up.json"))).mode & 0o777, 0o600);
    run.signal("SIGINT");
    await run.completion;
  });

  it("leaves a file with other content unchanged", async (t) => {
    const cwd = await createTestFolder(t);
    const precious = join(cwd, "precious.json");
    // Output of --json begins with the same line.
    for (const content of ['{"mine":true}', '{"event":"ready"}\n{"event":"stopped"}\n']) {
      await writeFile(precious, content);
      const { exit, stderr } = await runCli("emulator start --port 0 --ready-file precious.json", { cwd });
      assert.deepEqual([exit, await readFile(precious, "utf8")], [2, content], stderr);
      assert.match(stderr, /--ready-file: precious\.json exists and was not written by this option/);
    }
  });
});

describe("svc emulator start", () => {
  for (const [flags, runFile, message] of [
    [
      "--file a.json --ready-file a.json",
      "",
      /--ready-file and --file must be different files, got ".*a\.json" twice\n/,
    ],
    ["--file a.json", "./a.json", /SVC_RUN_FILE and --file must be different files, got ".*a\.json" twice\n/],
    ["--ready-file x", "x", /--ready-file and SVC_RUN_FILE must be different files, got ".*x" twice\n/],
  ] as const) {
    it(`rejects ${flags} with the run file "${runFile}" and creates no file`, async (t) => {
      const cwd = await createTestFolder(t);
      const env = { SVC_RUN_FILE: runFile };
      const { exit, stderr } = await runCli(`emulator start --port 0 ${flags}`, { cwd, env });
      assert.equal(exit, 2, stderr);
      assert.match(stderr, message);
      assert.deepEqual(await readdir(cwd), []);
    });
  }

  it("rejects pipes and devices as a state, also in svc emulator repair", {
    skip: process.platform === "win32",
  }, async (t) => {
    const cwd = await createTestFolder(t);
    const pipe = join(cwd, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const command of ["emulator start --port 0 --file", "emulator repair --yes"]) {
      for (const file of [pipe, "/dev/null"]) {
        const { exit, stderr } = await runCli(`${command} ${file}`, { cwd });
        assert.deepEqual(
          [exit, stderr.split("\n")[0]],
          [1, `error: The state ${file} cannot be opened: it is a pipe or a device. Choose a file with --file.`],
        );
      }
    }
    assert.deepEqual(await readdir(cwd), ["pipe"]);
  });
});
