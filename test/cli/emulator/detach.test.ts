import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import { mkdir, open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";
import { getSvcPath } from "../../support/shipped.ts";

interface Ready {
  readonly event: string;
  readonly router_url: string;
  readonly control_url: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly file: string | null;
  readonly pid: number;
}

/** Runs the shipped `svc` in its own process group until it ends. */
async function runSvc(
  t: TestContext,
  argv: string,
  { cwd, stdin = "", env = {} }: { cwd: string; stdin?: string; env?: Record<string, string> },
) {
  const child = spawn(process.execPath, [getSvcPath(), ...argv.split(" ")], {
    cwd,
    detached: true,
    env: { PATH: process.env.PATH, SVC_CONFIG_DIR: cwd, ...env },
  });
  t.after(() => killIfRunning(child.pid!));
  child.stdin.end(stdin);
  const [stdout, stderr, [exit]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { exit: exit as number, stdout, stderr, group: child.pid! };
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/** The process IDs to end with each folder. */
const leftIn = new Map<string, Set<number>>();
const killAfterTest = (cwd: string, pid: number) => void leftIn.get(cwd)?.add(pid);

/** An empty folder. Processes that still run in it end before its removal. */
async function createFolder(t: TestContext): Promise<string> {
  const pids = new Set<number>();
  t.after(() => pids.forEach(killIfRunning));
  const cwd = await createTestFolder(t);
  leftIn.set(cwd, pids);
  return cwd;
}

/** A detached emulator that is killed when the test ends. */
async function startDetached(t: TestContext, argv: string, options: Parameters<typeof runSvc>[2]) {
  const { exit, stdout, stderr, group } = await runSvc(
    t,
    `emulator start --detach --port 0 --json ${argv}`.trim(),
    options,
  );
  assert.deepEqual([exit, stderr], [0, ""]);
  const ready = JSON.parse(stdout) as Ready;
  killAfterTest(options.cwd, ready.pid);
  return { ready, group };
}

/** Resolves once the file contains the text. */
const waitForFileText = (path: string, expected: string): Promise<void> =>
  new Promise((resolve) => {
    const look = () => {
      if (!readFileSync(path, "utf8").includes(expected)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(path, look);
    look();
  });

const anotherInMemoryHint =
  "Use it or stop it with svc emulator stop. To run another one in memory, start it in another folder, or set SVC_RUN_FILE to another file.";

describe("svc emulator start --detach", () => {
  it("returns when the emulator is ready and leaves it running, with a private log, until svc emulator stop", async (t) => {
    const cwd = await createFolder(t);
    const { ready, group } = await startDetached(t, "", { cwd });
    const file = join(cwd, ".svc/emulator.json");
    const { instance_id: _, ...status } = JSON.parse((await runCli("emulator status --json", { cwd })).stdout);
    assert.deepEqual([status.running, status.router_url, ready.file], [true, ready.router_url, file]);
    assert.equal(JSON.parse(await readFile(`${file}.run`, "utf8")).pid, ready.pid);
    // A closing terminal would signal this process group.
    assert.throws(() => process.kill(-group, 0), { code: "ESRCH" });
    const log = `${file}.log`;
    await runCli("emulator clock advance --by PT5M", { cwd });
    await waitForFileText(log, "clock.advance");

    const result = await runCli("emulator stop --json", { cwd });
    assert.deepEqual([result.exit, JSON.parse(result.stdout)], [0, { stopped: true }]);
    assert.equal((await runCli("emulator status", { cwd })).stdout, "not running\n");
    assert.equal((await stat(log)).mode & 0o777, 0o600);

    await startDetached(t, "", { cwd });
    assert.equal((await readFile(log, "utf8")).includes("clock.advance"), false);
  });

  it("prints the output of start and how to stop the emulator", async (t) => {
    const cwd = await createFolder(t);
    const { exit, stdout, stderr } = await runSvc(t, "emulator start --detach --port 0 --file mine.json", { cwd });
    const { pid, router_url: router } = JSON.parse(await readFile(join(cwd, "mine.json.run"), "utf8"));
    killAfterTest(cwd, pid);
    assert.deepEqual([exit, stderr], [0, ""]);
    assert.deepEqual(
      stdout
        .replaceAll(router, "http://router")
        .replaceAll(/127\.0\.0\.1:\d+/g, "cluster")
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, "NOW")
        .split("\n"),
      [
        "The emulator is running.",
        "",
        "  router    http://router",
        "  eu-1      http://cluster",
        "  us-1      http://cluster",
        "  control   http://router/_emulator",
        "  state     mine.json",
        "  time      NOW, real time",
        "",
        "To use it:",
        "",
        '  eval "$(svc emulator env --file mine.json)"',
        "  svc contracts templates list",
        "",
        "To stop it: svc emulator stop --file mine.json",
        "",
      ],
    );
  });

  it("reports a running emulator in the folder, how to run another in memory, and preserves the log", async (t) => {
    const cwd = await createFolder(t);
    const { ready } = await startDetached(t, "", { cwd });
    const { port } = new URL(ready.router_url);
    const second = await runSvc(t, `emulator start --detach --port ${port}`, { cwd });
    assert.deepEqual(
      [second.exit, second.stdout, second.stderr],
      [
        1,
        "",
        `error: An emulator is already running: ${ready.router_url} (state: ${ready.file}).\n` +
          "  Use it, or stop it with svc emulator stop.\n" +
          `  try: svc emulator status --file ${ready.file}\n`,
      ],
    );
    const { exit, stderr } = await runSvc(t, "emulator start --detach --port 0 --ephemeral", { cwd });
    assert.deepEqual([exit, stderr.split("\n")[1]], [1, `  ${anotherInMemoryHint}`]);
    await startDetached(t, "--ephemeral", { cwd, env: { SVC_RUN_FILE: "second.run" } });
    await runCli("emulator clock advance --by PT5M", { cwd });
    await waitForFileText(join(cwd, ".svc/emulator.json.log"), "clock.advance");
  });

  it("logs to a file of its own if SVC_RUN_FILE distinguishes it from the emulator of the folder", async (t) => {
    const cwd = await createFolder(t);
    await startDetached(t, "--ephemeral", { cwd });
    await startDetached(t, "--ephemeral", { cwd, env: { SVC_RUN_FILE: "second.run" } });
    const names = await readdir(join(cwd, ".svc"));
    assert.deepEqual(names.filter((name) => name.endsWith(".log")).sort(), ["ephemeral.log", "second.run.log"]);
    await runCli("emulator clock advance --by PT5M", { cwd });
    await waitForFileText(join(cwd, ".svc/ephemeral.log"), "clock.advance");
  });

  it("prints how to use and stop the second emulator of a folder", async (t) => {
    const cwd = await createFolder(t);
    const { ready } = await startDetached(t, "--ephemeral", { cwd });
    const env = { SVC_RUN_FILE: "second.run" };
    const { stdout } = await runSvc(t, "emulator start --detach --ephemeral --port 0", { cwd, env });
    killAfterTest(cwd, JSON.parse(await readFile(join(cwd, "second.run"), "utf8")).pid);
    assert.deepEqual(stdout.split("\n").slice(9), [
      "To use it:",
      "",
      '  eval "$(svc emulator env --file second)"',
      "  svc contracts templates list",
      "",
      "To stop it: svc emulator stop --file second",
      "",
    ]);
    assert.equal((await runCli("emulator stop --file second", { cwd })).exit, 0);
    assert.equal((await runCli("emulator status --json=router_url", { cwd })).stdout.includes(ready.router_url), true);
  });

  it("exits with the messages and the code of an emulator that fails to start", async (t) => {
    const cwd = await createFolder(t);
    await writeFile(join(cwd, "seed.json"), "{}");
    for (const more of ["", " --json"]) {
      const foreground = await runCli(`emulator start --port 0 --seed seed.json${more}`, { cwd });
      const detached = await runSvc(t, `emulator start --port 0 --seed seed.json${more} --detach`, { cwd });
      assert.deepEqual([detached.exit, detached.stdout, detached.stderr], [2, "", foreground.stderr]);
      assert.deepEqual(await readdir(cwd), ["seed.json"]);
    }
  });

  it("names a file in place of the folder of the state", async (t) => {
    const cwd = await createFolder(t);
    await writeFile(join(cwd, ".svc"), "");
    const { exit, stderr } = await runCli("emulator start --detach --port 0", { cwd });
    const message = `Failed to write the log ${cwd}/.svc/emulator.json.log: a file is in place of the folder (EEXIST).`;
    const hint = "The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.";
    assert.deepEqual([exit, stderr], [1, `error: ${message}\n  ${hint}\n`]);
  });

  it("names a folder in place of the log", async (t) => {
    const cwd = await createFolder(t);
    await mkdir(join(cwd, "state.json.log"));
    const { exit, stderr } = await runCli("emulator start --detach --port 0 --file state.json", { cwd });
    const message = `Failed to write the log ${cwd}/state.json.log: it is a folder (EISDIR).`;
    const hint = "The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.";
    assert.deepEqual([exit, stderr], [1, `error: ${message}\n  ${hint}\n`]);
  });

  it("ends the starting emulator on Ctrl-C", async (t) => {
    const cwd = await createFolder(t);
    const seed = join(cwd, "seed.json");
    execFileSync("mkfifo", [seed]);
    const run = await startSvcProcess(t, "emulator start --detach --port 0 --seed seed.json".split(" "), { cwd });
    // The open call returns when the starting emulator reads the pipe.
    const pipe = await open(seed, "w");
    t.after(() => pipe.close());
    assert.equal((await run.stop("SIGINT")).exit, 130);
    await assert.rejects(pipe.write("{}"), { code: "EPIPE" });
    assert.deepEqual(await readdir(cwd), ["seed.json"]);
  });

  it("passes the control token by the environment and a seed by standard input", async (t) => {
    const cwd = await createFolder(t);
    const demo = await readFile(new URL("../../../fixtures/seeds/demo.json", import.meta.url), "utf8");
    const env = { SVC_EMULATOR_TOKEN: "a-token-of-my-own-choice" };
    const { ready } = await startDetached(t, "--seed -", { cwd, env, stdin: demo });
    assert.equal(JSON.parse(await readFile(`${ready.file}.run`, "utf8")).token, env.SVC_EMULATOR_TOKEN);
    const { stdout } = spawn("ps", ["-o", "args=", "-p", String(ready.pid)]);
    const args = (await buffer(stdout)).toString();
    assert.match(args, /emulator start --detach/);
    assert.equal(args.includes(env.SVC_EMULATOR_TOKEN), false);
  });

  it("works in memory with a ready file", async (t) => {
    const cwd = await createFolder(t);
    const { ready } = await startDetached(t, "--ephemeral --ready-file up.json", { cwd });
    const { token, instance_id: _, ...file } = JSON.parse(await readFile(join(cwd, "up.json"), "utf8"));
    assert.deepEqual([file, typeof token], [ready, "string"]);
    assert.equal(ready.file, null);
    const leftovers = (await readdir(join(cwd, ".svc"))).filter((name) => !name.endsWith(".socket"));
    assert.deepEqual(leftovers.sort(), [".gitignore", ".origin", "emulator.json.run", "ephemeral.log"]);
  });

  it("makes an emulator in memory available to commands, env, stop and a second start", async (t) => {
    const cwd = await createFolder(t);
    const { exit, stdout, stderr } = await runSvc(t, "emulator start --detach --ephemeral --port 0", { cwd });
    const running = JSON.parse(await readFile(join(cwd, ".svc/emulator.json.run"), "utf8"));
    killAfterTest(cwd, running.pid);
    assert.deepEqual(
      [exit, stderr, stdout.split("\n").slice(9)],
      [
        0,
        "",
        [
          "To use it:",
          "",
          '  eval "$(svc emulator env)"',
          "  svc contracts templates list",
          "",
          "To stop it: svc emulator stop",
          "",
        ],
      ],
    );
    const env = JSON.parse((await runCli("emulator env --json", { cwd })).stdout);
    assert.equal(env.SVC_BASE_URL, running.router_url);
    const templates = await runCli("contracts templates list --quiet --fields id", { cwd });
    assert.deepEqual([templates.exit, templates.stdout.split("\n")[0]], [0, "101"]);
    const note = `Using the emulator at ${running.router_url} (state in memory)\n`;
    assert.equal(
      (await runCli("webhooks list", { cwd })).stderr,
      `${note}Nothing found; to create one: svc webhooks listen or svc webhooks create\n`,
    );
    const second = await runSvc(t, "emulator start --detach --ephemeral --port 0", { cwd });
    assert.deepEqual(
      [second.exit, second.stderr.split("\n").slice(0, 2)],
      [
        1,
        [`error: An emulator is already running: ${running.router_url} (state in memory).`, `  ${anotherInMemoryHint}`],
      ],
    );

    const below = join(cwd, "below");
    await mkdir(below);
    const { ready: other } = await startDetached(t, "--ephemeral", { cwd: below });
    assert.notEqual(other.router_url, running.router_url);
    assert.equal(
      (await runCli("webhooks list", { cwd: below })).stderr.split(" (")[0],
      `Using the emulator at ${other.router_url}`,
    );
    assert.equal((await runCli("emulator stop", { cwd: below })).exit, 0);

    assert.equal((await runCli("emulator stop", { cwd })).exit, 0);
    assert.equal((await runCli("emulator status", { cwd })).stdout, "not running\n");
    assert.deepEqual((await readdir(join(cwd, ".svc"))).sort(), [".gitignore", ".origin", "ephemeral.log"]);
  });

  it("masks secrets of the emulator for a runner and logs none", async (t) => {
    const cwd = await createFolder(t);
    const { exit, stderr } = await runSvc(t, "emulator start --detach --port 0", {
      cwd,
      env: { GITHUB_ACTIONS: "true" },
    });
    const { pid, token } = JSON.parse(await readFile(join(cwd, ".svc/emulator.json.run"), "utf8"));
    killAfterTest(cwd, pid);
    assert.deepEqual([exit, stderr.includes(`::add-mask::${token}\n`)], [0, true]);
    assert.equal((await readFile(join(cwd, ".svc/emulator.json.log"), "utf8")).includes(token), false);
  });
});
