import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, cp, mkdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { writeOriginMarker } from "../../../src/files/folders.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { type RunResult, runCli } from "../../support/cli/run-cli.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

/** A browser that records its argument. */
async function createRecordingBrowser(folder: string) {
  const [program, told] = [join(folder, "browser"), join(folder, "told")];
  await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > "${told}.new" && mv "${told}.new" "${told}"\n`);
  await chmod(program, 0o755);
  const read = async (): Promise<string> => {
    const text = await readFile(told, "utf8").catch(() => "");
    return text === "" ? new Promise((resolve) => setImmediate(resolve)).then(read) : text;
  };
  return { program, told: read };
}

describe("foreign folder with a run file", () => {
  /** A run file that points to `url`. The server responds as the named instance or as another one. */
  async function createClone(
    t: TestContext,
    {
      mode,
      url,
      answers: claimedId,
      holder = {},
      prepare = async () => {},
    }: {
      mode: number;
      url?: string;
      answers?: string;
      /** Fields of the lock in the run file. */
      holder?: object;
      prepare?: (folder: string) => Promise<void>;
    },
  ) {
    const cwd = await createTestFolder(t);
    const author = await startReceiver(t);
    author.respond(({ url: path }, response) => {
      const instance = { instance_id: claimedId ?? "theirs", version: "0.0.0", role: "leader" };
      const code = { code: "c", url: "--renderer-cmd-prefix=x", expires_in: 60 };
      const body = path === "/_emulator/ready" ? instance : code;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await mkdir(join(cwd, ".svc"));
    await writeFile(join(cwd, "state.json"), "{}");
    const run = { pid: process.pid, instance_id: "theirs", router_url: url ?? author.url, token: "t0ken", ...holder };
    const path = join(cwd, ".svc/emulator.json.run");
    await writeFile(path, JSON.stringify(run));
    await prepare(join(cwd, ".svc"));
    await chmod(path, mode);
    const browser = await createRecordingBrowser(cwd);
    const exits: Record<string, number> = {};
    for (const argv of [
      "emulator status",
      "emulator open",
      "emulator env",
      "emulator stop",
      "emulator state import --data state.json --yes",
      "emulator state import --data state.json --yes --file .svc/emulator.json",
      "webhooks list",
      "contracts templates list",
      "doctor",
    ]) {
      const { exit } = await runCli(argv, { cwd, env: { BROWSER: browser.program, SVC_CONFIG_DIR: cwd } });
      exits[argv] = exit;
    }
    const heard = author.received.map(({ method, url: path, headers }) => [method, path, headers.authorization]);
    const isOpened = await stat(join(cwd, "told")).then(
      () => true,
      () => false,
    );
    return { exits, heard: [...new Set(heard.map((one) => JSON.stringify(one)))], isOpened };
  }
  const none = {
    "emulator status": 5,
    "emulator open": 5,
    "emulator env": 5,
    "emulator stop": 5,
    "emulator state import --data state.json --yes": 5,
    "emulator state import --data state.json --yes --file .svc/emulator.json": 5,
    "webhooks list": 5,
    "contracts templates list": 2,
  };

  it("causes no request to the address of a run file that others can read", async (t) => {
    const { exits, heard, isOpened } = await createClone(t, { mode: 0o644 });
    const { doctor: _, ...others } = exits;
    assert.deepEqual([others, heard, isOpened], [none, [], false]);
  });

  it("causes no request to other machines for any form of the address", async (t) => {
    for (const url of ["http://192.0.2.1:4010", "http://127.0.0.1:4010@localhost.example", "http://127.0.0.1:1/x?"]) {
      const { exits, heard, isOpened } = await createClone(t, { mode: 0o600, url });
      const { doctor: _, ...others } = exits;
      assert.deepEqual([others, heard, isOpened], [none, [], false], url);
    }
  });

  it("causes no request to the address of a run file that no emulator of this machine wrote", async (t) => {
    const id = "AbCdEf_-1234";
    const socket = "other.sock";
    const listenNearby = async (folder: string) => {
      const server = createServer().listen(join(folder, socket));
      t.after(() => server.close());
      await once(server, "listening");
    };
    const boot = "205015cc-508c-49ec-9f6c-78b04d8308fd";
    for (const { holder, prepare } of [
      { holder: {} },
      { holder: { pid: 1, id } },
      { holder: { id, machine: hostname(), boot, machine_id: "0123456789abcdef" } },
      { holder: { id, machine: hostname(), socket: `emulator.json.run.${id}.socket` } },
      { holder: { id, socket }, prepare: listenNearby },
      { holder: { id, socket }, prepare: writeOriginMarker },
    ] as const) {
      const { exits, heard, isOpened } = await createClone(t, { mode: 0o600, holder, ...(prepare && { prepare }) });
      const { doctor: _, ...others } = exits;
      assert.deepEqual([others, heard, isOpened], [none, [], false], JSON.stringify(holder));
    }
  });

  it("does not select the address of its author instead of the current profile", async (t) => {
    const cwd = await createTestFolder(t);
    const [own, author] = [await startReceiver(t), await startReceiver(t)];
    for (const each of [own, author])
      each.respond((_, response) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ instance_id: "theirs", ready: true })),
      );
    await mkdir(join(cwd, ".svc"), { mode: 0o700 });
    const run = { pid: 1, instance_id: "theirs", router_url: author.url, token: "t0ken" };
    await writeFile(join(cwd, ".svc/emulator.json.run"), JSON.stringify(run), { mode: 0o600 });
    const env = { SVC_CONFIG_DIR: join(cwd, "config"), SVC_CLIENT_ID: "own", SVC_CLIENT_SECRET: "s3cret" };
    const svc = (line: string) => runCli(line, { cwd, env });
    await svc(`config set contracts_url ${own.url} --profile prod`);
    await svc("config use prod");
    await svc("contracts list --retries 0");
    assert.deepEqual([own.received.length > 0, author.received], [true, []]);
    const { exit, stderr } = await svc("emulator env");
    assert.equal(exit, 5);
    assert.match(stderr, /the run file is ignored, because .*\.svc was not made by this user on this machine\.\n/);
  });

  it("sends neither token nor state to another instance at the address of its own emulator", async (t) => {
    const cwd = await createTestFolder(t);
    const other = await startReceiver(t);
    other.respond((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ instance_id: "other" })),
    );
    const state = join(cwd, ".svc/emulator.json");
    await startTestEmulator(t, { file: state });
    const run = JSON.parse(await readFile(`${state}.run`, "utf8"));
    await writeFile(`${state}.run`, JSON.stringify({ ...run, router_url: other.url }));
    await writeFile(join(cwd, "state.json"), "{}");
    for (const [line, expected] of Object.entries(none)) {
      const { exit } = await runCli(line, { cwd, env: { SVC_CONFIG_DIR: cwd } });
      assert.equal(exit, expected, line);
    }
    assert.deepEqual(
      [...new Set(other.received.map(({ method, url, headers }) => `${method} ${url} ${headers.authorization}`))],
      ["GET /_emulator/ready undefined"],
    );
    await writeFile(`${state}.run`, JSON.stringify(run));
  });

  it("is not trusted because a user started an emulator with another state in it", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, ".svc"));
    await writeFile(join(cwd, ".svc/emulator.json"), "{}");
    for (const options of [
      { file: join(cwd, ".svc/mine.json") },
      { ephemeral: true, runFile: join(cwd, ".svc/my.run") },
    ])
      await (await startTestEmulator(t, options)).close();
    const { stderr } = await runCli("emulator start --port 0", { cwd });
    assert.match(stderr, /was not made by this user on this machine/);
  });

  it("reports why a run file is ignored", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, ".svc"));
    const path = join(cwd, ".svc/emulator.json.run");
    const run = { pid: 1, instance_id: "i", router_url: "http://192.0.2.1:1", token: "t" };
    await writeFile(path, JSON.stringify(run), { mode: 0o600 });
    const { exit, stderr } = await runCli("emulator webhooks", { cwd });
    const message = `No emulator is running with the state ${join(cwd, ".svc/emulator.json")}: the run file is ignored, because it has the address of another machine.`;
    const hint = `If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${path}.`;
    assert.deepEqual([exit, stderr], [5, `error: ${message}\n  ${hint}\n`]);
    const status = await runCli("emulator status", { cwd });
    assert.deepEqual(status, { exit: 5, stdout: "not running\n", stderr: `warning: ${message}\n` });
  });

  it("reports an unreadable .svc folder", async (t) => {
    const cwd = await createTestFolder(t);
    await symlink(".svc", join(cwd, ".svc"));
    const status = await runCli("emulator status", { cwd });
    assert.deepEqual([status.exit, status.stdout], [5, "not running\n"]);
    assert.match(status.stderr, /the run file is ignored, because it cannot be read: .* \(ELOOP\)\.\n$/);
    const exec = await runCli("emulator exec --file .svc/emulator.json -- true", { cwd });
    const reason = "it is a link, or its links form a loop (ELOOP)";
    const error = `error: Failed to read ${join(cwd, ".svc/emulator.json")}: ${reason}.\n  Choose another location.\n`;
    assert.deepEqual(exec, { exit: 1, stdout: "", stderr: error });
  });
});

describe("svc emulator open", () => {
  for (const url of ["--renderer-cmd-prefix=x", "file:///etc/passwd", "javascript:alert(1)", "http://192.0.2.1/"]) {
    it(`opens only the requested address for any server response: ${url}`, async (t) => {
      const cwd = await createTestFolder(t);
      const host = await startReceiver(t);
      host.respond((_, response) => {
        const body = JSON.stringify({ code: "a b", url, expires_in: 60 });
        response.writeHead(201, { "content-type": "application/json" }).end(body);
      });
      const browser = await createRecordingBrowser(cwd);
      const env = { BROWSER: browser.program, SVC_EMULATOR_TOKEN: "t0ken" };
      await runCli(["emulator", "open", "--base-url", host.url], { cwd, env });
      assert.equal(await browser.told(), `${host.url}/_emulator/ui/#code=a%20b\n`);
    });
  }
});

describe("foreign emulator state", () => {
  /** A copy of a folder whose emulator has a webhook and a snapshot. */
  async function createCopy(t: TestContext) {
    const author = await createTestFolder(t);
    const emulator = await startTestEmulator(t, { file: join(author, ".svc/emulator.json") });
    await emulator.snapshot("prepared");
    await emulator.close();
    const cwd = await createTestFolder(t);
    await cp(join(author, ".svc"), join(cwd, ".svc"), { recursive: true, preserveTimestamps: true });
    return { author, cwd };
  }
  /** Starts an emulator in the folder and stops it. Returns "up", or the result of a failed start. */
  async function start(cwd: string, extraArgs: readonly string[] = [], keys?: string): Promise<"up" | RunResult> {
    let [isUp, stop] = [false, () => {}];
    const result = await runCli(["emulator", "start", "--port", "0", ...extraArgs], {
      cwd,
      ...(keys !== undefined && simulateUser(["Use it?", keys])),
      onStart: ({ signal }) => {
        stop = () => signal("SIGTERM");
      },
      onOutput: (stdout) => {
        if (isUp || !stdout.includes("svc emulator")) return;
        isUp = true;
        stop();
      },
    });
    return isUp ? "up" : result;
  }

  it("is rejected by start, dev, --emulator and exec --from until the user trusts the state", async (t) => {
    const { cwd, author } = await createCopy(t);
    const folder = join(cwd, ".svc");
    const message = `error: ${folder} was not made by this user on this machine.\n  Its state may send webhooks and contain tokens of its author. `;
    const before = await readFile(join(folder, "emulator.json"));
    assert.deepEqual(await start(cwd), {
      exit: 1,
      stdout: "",
      stderr: `${message}Use it with --trust-state, or choose another state with --file.\n`,
    });
    const result = await runCli("emulator webhooks --emulator", { cwd });
    assert.deepEqual(result, {
      exit: 1,
      stdout: "",
      stderr: `${message}Use it with svc emulator start --detach --trust-state.\n`,
    });
    assert.deepEqual(await runCli("dev --port 0", { cwd }), result);
    const from = await runCli("emulator exec --from prepared -- true", { cwd });
    const path = join(folder, "emulator.json.snapshots/prepared.json");
    const hint = `To use the file of a snapshot that you trust: --from ${path}.\n`;
    assert.deepEqual(from, { exit: 1, stdout: "", stderr: message + hint });
    assert.deepEqual(await readFile(join(folder, "emulator.json")), before);
    assert.equal((await runCli("emulator webhooks --emulator", { cwd: author })).exit, 0, "where it was made, it is");
  });

  it("is accepted by explicit path, and permanently after --trust-state", async (t) => {
    const { cwd } = await createCopy(t);
    const result = await runCli(["emulator", "webhooks", "--emulator", "--file", ".svc/emulator.json"], { cwd });
    assert.equal(result.exit, 0, result.stderr);
    assert.notEqual(await start(cwd), "up");
    assert.equal(await start(cwd, ["--trust-state"]), "up");
    assert.equal(await start(cwd), "up");
  });

  it("is separate from the emulator of its original and can have its own emulator", async (t) => {
    const author = await createTestFolder(t);
    const original = await startTestEmulator(t, { file: join(author, ".svc/emulator.json") });
    const cwd = await createTestFolder(t);
    const isNotSocket = (path: string) => !path.endsWith(".socket");
    await cp(join(author, ".svc"), join(cwd, ".svc"), { recursive: true, filter: isNotSocket });
    const copy = join(cwd, ".svc/emulator.json");
    const runFile = join(author, ".svc/emulator.json.run");
    const rejection = {
      exit: 5,
      stdout: "",
      stderr: [
        `error: No emulator is running with the state ${copy}: the run file is ignored, because it is a copy of ${runFile}.`,
        `  If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${copy}.run.\n`,
      ].join("\n"),
    };
    for (const argv of ["emulator stop", "emulator stop --file .svc/emulator.json", "emulator clock advance --by 1h"]) {
      assert.deepEqual(await runCli(argv, { cwd }), rejection, argv);
    }
    assert.equal(await start(cwd, ["--trust-state"]), "up");
    assert.equal((await runCli("emulator clock advance --by 1h", { cwd: author })).exit, 0);
    assert.equal((await original.control("GET", "clock")).status, 200);
  });

  it("still leads to its running emulator after a move", async (t) => {
    const parent = await createTestFolder(t);
    const emulator = await startTestEmulator(t, {
      ephemeral: true,
      runFile: join(parent, "before/.svc/emulator.json.run"),
    });
    await rename(join(parent, "before"), join(parent, "after"));
    // Prevents the emulator from restoring the run file at the old path.
    await writeFile(join(parent, "before"), "");
    const moved = { cwd: join(parent, "after") };
    assert.equal((await runCli("emulator clock advance --by 1h", moved)).exit, 0);
    assert.deepEqual(await start(moved.cwd), {
      exit: 1,
      stdout: "",
      stderr: [
        `error: An emulator is already running: ${emulator.routerUrl} (state in memory).`,
        "  Use it, or stop it with svc emulator stop.",
        `  try: svc emulator status --file ${join(moved.cwd, ".svc/emulator.json")}\n`,
      ].join("\n"),
    });
  });

  it("requires a confirmation at a terminal", async (t) => {
    const { cwd } = await createCopy(t);
    assert.notEqual(await start(cwd, [], `n${enterKey}`), "up");
    assert.equal(await start(cwd, [], `y${enterKey}`), "up");
    assert.equal(await start(cwd), "up");
  });
});
