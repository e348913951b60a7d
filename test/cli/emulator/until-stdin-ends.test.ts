import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { getProgramPath } from "../../support/program.ts";

const start = "emulator start --ephemeral --port 0 --json";

const env = { SVC_UNTIL_STDIN_ENDS: "1" };

describe("svc emulator start with SVC_UNTIL_STDIN_ENDS", () => {
  it("shuts down cleanly when standard input ends", async (t) => {
    const cwd = await createTestFolder(t);
    const stdin = new PassThrough();
    const onOutput = (stdout: string) => {
      if (stdout.includes('"ready"')) stdin.end("what comes is ignored");
    };
    const { exit, stderr } = await runCli(`${start} --ready-file ready.json`, { cwd, stdin, env, onOutput });
    assert.deepEqual([exit, stderr], [0, ""]);
    await assert.rejects(access(join(cwd, "ready.json")), { code: "ENOENT" });
  });

  it("stops if standard input ended before the start", async (t) => {
    const { exit, stdout } = await runCli(start, { cwd: await createTestFolder(t), env });
    assert.equal(exit, 0);
    assert.match(stdout, /"event":"ready"/);
  });

  it("stops when its parent process is killed", async (t) => {
    const cwd = await createTestFolder(t);
    const argv = JSON.stringify([getProgramPath("svc"), ...start.split(" ")]);
    const script = `require("node:child_process").spawn(process.execPath, ${argv}, { stdio: ["pipe", "inherit", "inherit"] })`;
    const starter = spawn(process.execPath, ["-e", script], {
      cwd,
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH, SVC_CONFIG_DIR: cwd, ...env },
    });
    let printed = "";
    for await (const piece of starter.stdout) {
      printed += piece;
      if (printed.includes('"ready"')) starter.kill("SIGKILL");
    }
    // The output ends when the emulator, as the last process that holds it, exits.
    assert.match(printed, /^\{"event":"ready"/);
    if (starter.signalCode === null) await once(starter, "exit");
    assert.equal(starter.signalCode, "SIGKILL");
  });

  for (const [flags, message] of [
    ["--detach", "SVC_UNTIL_STDIN_ENDS cannot be used with --detach"],
    ["--seed -", "SVC_UNTIL_STDIN_ENDS cannot be used with --seed -"],
  ]) {
    it(`rejects ${flags}`, async (t) => {
      const { exit, stderr } = await runCli(`${start} ${flags}`, { cwd: await createTestFolder(t), env });
      assert.deepEqual([exit, JSON.parse(stderr).error.message], [2, message]);
    });
  }
});
