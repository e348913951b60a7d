import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { mountSmallDisk } from "../../support/files/small-disk.ts";
import { startReceiver } from "../../support/receiver.ts";
import { getSvcPath } from "../../support/shipped.ts";

/** Runs the shipped `svc` until it ends. */
async function runSvc(cwd: string, ...argv: readonly string[]) {
  const child = spawn(process.execPath, [getSvcPath(), ...argv], { cwd, env: { PATH: process.env.PATH } });
  const [stdout, stderr, [exit]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { exit: exit as number, stdout, stderr };
}

async function mountDisk(t: TestContext) {
  const cwd = await mountSmallDisk(t);
  if (cwd === undefined) return undefined;
  const filler = join(cwd, "filler");
  return {
    cwd,
    fill: () => writeFile(filler, Buffer.alloc(2_000_000)).catch(() => {}),
    makeRoom: () => rm(filler),
    run: (line: string) => runCli(line, { cwd, env: { SVC_CONFIG_DIR: join(cwd, "config") } }),
  };
}

describe("svc emulator start --detach on a full disk", () => {
  it("serves reads, rejects changes and logs the number of missing lines", async (t) => {
    const disk = await mountDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { cwd, run } = disk;
    const started = await runSvc(cwd, "emulator", "start", "--detach", "--port", "0", "--clock", "manual", "--json");
    assert.equal(started.exit, 0, started.stderr);
    const { pid } = JSON.parse(started.stdout) as { pid: number };
    t.after(() => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process has already ended.
      }
    });

    await disk.fill();
    while ((await run("emulator clock advance --by PT1H")).exit !== 75);
    // The lines exceed the free space of the log's last page.
    for (let i = 0; i < 60; i += 1) assert.equal((await run("emulator clock advance --by PT1H")).exit, 75);
    const templates = await run("contracts templates list --json=id --quiet");
    assert.deepEqual([templates.exit, templates.stderr], [0, ""]);
    assert.equal((await run("emulator env")).exit, 0);

    await disk.makeRoom();
    while ((await run("emulator clock advance --by PT1H")).exit !== 0);
    const log = await readFile(join(cwd, ".svc/emulator.json.log"), "utf8");
    const logLines = log.split("\n").filter((line) => line.includes("(wall)"));
    assert.match(
      logLines.join("\n"),
      /\(wall\) {2}\d+ lines? missing from this log, because the disk was full or failed/,
    );
    assert.match(logLines.join("\n"), /\(wall\) {2}.*emulator\.json can be written again/);
    assert.equal((await run("emulator stop")).exit, 0);
  });

  it("fails to start and suggests a fix, in background and foreground", async (t) => {
    const disk = await mountDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { cwd } = disk;
    await disk.fill();
    assert.deepEqual(await runSvc(cwd, "emulator", "start", "--detach", "--port", "0"), {
      exit: 1,
      stdout: "",
      stderr:
        `error: Failed to write the log ${cwd}/.svc/emulator.json.log: no space is left on the disk (ENOSPC).\n` +
        "  Free some space. The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.\n",
    });
    assert.deepEqual(await runSvc(cwd, "emulator", "start", "--port", "0"), {
      exit: 1,
      stdout: "",
      stderr:
        `error: The state ${cwd}/.svc/emulator.json cannot be opened: no space is left on the disk (ENOSPC at ${cwd}/.svc/emulator.json.run). ` +
        "Free disk space, or choose a file on another disk with --file.\n",
    });
  });
});

describe("change of an emulator whose disk is full", () => {
  it("fails with the cause and the next step, and without a path for other machines", async (t) => {
    const disk = await mountDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { cwd } = disk;
    const file = join(cwd, "emulator.json");
    const emulator = await startTestEmulator(t, { file, allowedHosts: ["sandbox.example"], log: () => {} });
    await disk.fill();
    const svc = async (line: string) => {
      const { exit, stdout, stderr } = await runCli(`${line} --retries 0`, { cwd, env: { ...address } });
      return [exit, stdout, ...stderr.trim().split("\n  ")];
    };
    const [{ clientId = "", clientSecret = "" }] = emulator.clusters as [(typeof emulator.clusters)[0]];
    const address = {
      SVC_BASE_URL: emulator.routerUrl,
      SVC_EMULATOR_URL: emulator.controlUrl,
      SVC_EMULATOR_TOKEN: emulator.token,
      SVC_CLIENT_ID: clientId,
      SVC_CLIENT_SECRET: clientSecret,
    };
    while ((await svc("emulator clock advance --by PT1H"))[0] === 0);
    const cause = "no space is left on the disk (ENOSPC)";
    const remedy = "Free space on its disk, or fix the permissions of its files or database. Its log has the reason.";
    const hint = `The emulator cannot store its state, and changed nothing. ${remedy}`;
    assert.deepEqual(
      await svc("webhooks create --title x --url http://localhost:9/ --only-for-activities CONTRACT_CREATED"),
      [75, "", "error: The service cannot write its state (HTTP 503)", hint],
    );
    assert.deepEqual(await svc("emulator clock advance --by PT1H"), [
      75,
      "",
      `error: The emulator cannot write its state: ${cause} (HTTP 503)`,
      `Nothing was changed. ${remedy} It continues when it can write again.`,
    ]);
    const checks = JSON.parse((await svc("doctor --json"))[1] as string);
    assert.deepEqual(
      checks.find(({ check }: { check: string }) => check === "router"),
      {
        check: "router",
        status: "warning",
        detail: `${emulator.routerUrl} responds, but its database is down`,
        hint: "The emulator cannot store its state. Its log has the reason.",
      },
    );
    for (const [headers, isNamed] of [
      [{}, true],
      [{ host: "sandbox.example" }, false],
    ] as const) {
      const { status, body } = await emulator.control("PUT", "snapshots/one", { headers });
      const { message } = (body as { error: { message: string } }).error;
      assert.deepEqual([status, message.includes(cwd)], [503, isNamed], message);
    }
  });
});

describe("svc webhooks certify --keep on a full disk", () => {
  it("names the file that cannot be written", async (t) => {
    const disk = await mountDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { url } = await startReceiver(t);
    await writeFile(join(disk.cwd, "key"), `${Buffer.alloc(32).toString("base64")}\n`, { mode: 0o600 });
    await disk.fill();
    const { exit, stderr } = await disk.run(
      `webhooks certify --to ${url} --hmac-key-file key --only genuine --keep kept`,
    );
    const path = join(disk.cwd, "kept/genuine.headers");
    const message = `error: Failed to write ${path}: no space is left on the disk (ENOSPC).\n`;
    assert.deepEqual([exit, stderr.includes(message)], [1, true], stderr);
  });
});
