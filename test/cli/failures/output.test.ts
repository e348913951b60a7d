import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { main } from "../../../src/cli/main.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startHostileService } from "../../support/cli/hostile-service.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { getProgramPath } from "../../support/program.ts";
import { startReceiver } from "../../support/receiver.ts";

/** Runs a command with a broken standard output or error. Returns its other output and exit code. */
async function runWithBrokenOutput(
  argv: readonly string[],
  code: string,
  broken: "stdout" | "stderr" = "stdout",
  env: Readonly<Record<string, string>> = { SVC_CONFIG_DIR: "/nonexistent" },
  cwd = "/nonexistent",
) {
  let text = "";
  const good = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const bad = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
  const exit = await main(argv, {
    env,
    cwd,
    stdin: new PassThrough().end(),
    stdout: broken === "stdout" ? bad : good,
    stderr: broken === "stderr" ? bad : good,
    wall: { now: () => Date.now(), monotonicNow: () => Date.now(), sleep: async () => {} },
    pid: 1,
    program: [process.execPath],
    inherits: false,
    onSignal: () => () => {},
    setDeadline: () => {},
    end: () => {},
  });
  return { exit, text };
}

describe("broken standard output", () => {
  const printing = ["openapi router", "emulator seed-schema", "completion bash", "config list", "webhooks trigger"];
  for (const argv of printing) {
    it(`fails svc ${argv}, because the output is lost`, async () => {
      const { exit, text } = await runWithBrokenOutput(argv.split(" "), "ENOSPC");
      assert.deepEqual(
        [exit, text.split("\n")[0]],
        [1, "error: Failed to write to standard output: no space is left on the disk (ENOSPC)."],
      );
    });
  }

  it("is reported as JSON with --json", async () => {
    const { exit, text } = await runWithBrokenOutput(["config", "list", "--json"], "EIO");
    assert.deepEqual([exit, JSON.parse(text).error.code], [1, "output_lost"]);
  });

  it("causes exit 0 when closed, for any output", async (t) => {
    const cwd = await createTestFolder(t);
    const runWithoutReader = async (argv: string) =>
      (await runWithBrokenOutput(argv.split(" "), "EPIPE", "stdout", {}, cwd)).exit;
    assert.equal(await runWithoutReader("emulator status"), 0);
    // The command ends without a signal, because the reader is gone.
    assert.equal(await runWithoutReader("emulator start --ephemeral --port 0"), 0);
  });
});

describe("broken standard error", () => {
  for (const code of ["EPIPE", "ENOSPC"]) {
    it(`leaves the command running (${code})`, async (t) => {
      const service = await startReceiver(t);
      service.respond((_, response) => response.end('{"database":true}'));
      const argv = ["router", "health", "--base-url", service.url, "--verbose"];
      assert.deepEqual(await runWithBrokenOutput(argv, code, "stderr"), { exit: 0, text: "true\n" });
    });
  }
});

describe("closed output pipe", () => {
  for (const argv of [
    "webhooks listen --json --quiet",
    "webhooks deliveries --follow --json --quiet",
    "emulator requests --follow --json --quiet",
  ]) {
    it(`ends svc ${argv} with exit 0 and without leftover files`, async (t) => {
      const { svc, json, emulator } = await startCliEmulator(t);
      const env = {
        ...buildChildEnvironment(emulator, { env: {} } as unknown as Host),
        SVC_CONFIG_DIR: "/nonexistent",
      };
      assert.deepEqual(await runWithBrokenOutput(argv.split(" "), "EPIPE", "stdout", env), { exit: 0, text: "" });
      assert.deepEqual(await json("emulator webhooks"), []);
      assert.equal((await svc("router health")).exit, 0);
    });
  }

  it("ends svc run and its processes with exit 0", async (t) => {
    const cwd = await createTestFolder(t);
    for (const name of ["a.yaml", "b.yaml"]) await writeFile(join(cwd, name), "steps: [{ advance: PT1H }]\n");
    const line = '"$0" "$1" run a.yaml b.yaml --jobs 2 | exec true';
    const argv = ["-o", "pipefail", "-c", line, process.execPath, getProgramPath("svc")];
    assert.deepEqual(await promisify(execFile)("bash", argv, { cwd }), { stdout: "", stderr: "" });
  });
});

describe("output file", () => {
  it("stays unchanged without a temporary file if the response breaks off", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "a.pdf"), "before");
    const { url } = (await startHostileService(t)).endpoint({ fault: "truncates its response" });
    const env = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "key" };
    const argv = ["contracts", "download", "T-1", "-o", "a.pdf", "--base-url", url, "--retries", "0"];
    const { exit, stderr } = await runCli(argv, { cwd, env });
    // The download is a POST, so its outcome is unknown.
    assert.equal(exit, 1, stderr);
    assert.deepEqual([await readdir(cwd), await readFile(join(cwd, "a.pdf"), "utf8")], [["a.pdf"], "before"]);
  });

  it("is replaced only by a complete response", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "a.pdf"), "before", { mode: 0o600 });
    const service = await startReceiver(t);
    service.respond((_, response) => response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF-after"));
    const env = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "key" };
    const argv = ["contracts", "download", "T-1", "-o", "a.pdf", "--base-url", service.url];
    assert.equal((await runCli(argv, { cwd, env })).exit, 0);
    assert.deepEqual([await readdir(cwd), await readFile(join(cwd, "a.pdf"), "utf8")], [["a.pdf"], "%PDF-after"]);
  });
});
