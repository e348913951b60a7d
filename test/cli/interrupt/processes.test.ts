import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { open, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { signalCodes } from "../../../src/cli/process/exit.ts";
import type { SignalName } from "../../../src/cli/process/host.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { measureStartMs, type SvcProcess, startSvcProcess } from "../../support/cli/start-svc.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

/** The maximum time for cleanup after Ctrl-C. */
const graceMs = 1_000;

/**
 * Ends the process by a signal within the time of ten starts of the same program (half a second on an idle machine),
 * plus `within` for cleanup. Both times are measured concurrently, because other load slows both.
 */
async function assertEndsInTime(
  run: SvcProcess,
  { name = "SIGINT", within = 0 }: { name?: SignalName; within?: number } = {},
): Promise<void> {
  const [{ exit, afterMs }, oneStart] = await Promise.all([run.stop(name), measureStartMs()]);
  assert.equal(exit, signalCodes[name], run.stderr());
  const allowed = within + 10 * oneStart;
  assert.ok(afterMs < allowed, `took ${Math.round(afterMs)} ms, of ${Math.round(allowed)}`);
}

/** A service that never responds. `requestReceived` resolves at the first request. */
async function startHangingService(t: TestContext) {
  const service = await startReceiver(t);
  const requestReceived = new Promise<void>((resolve) => service.respond(() => resolve()));
  return { url: service.url, requestReceived };
}

async function startWithEmulator(t: TestContext) {
  const cwd = await createTestFolder(t);
  const emulator = await startTestEmulator(t);
  const host = { env: {} } as unknown as Parameters<typeof buildChildEnvironment>[1];
  return { emulator, cwd, env: buildChildEnvironment(emulator, host) };
}

/** A program that logs each signal and ignores it. */
const deaf =
  "for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => console.log('heard ' + name));" +
  "setInterval(() => {}, 1000); console.log('deaf');";

const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

describe("svc process on Ctrl-C", () => {
  it("exits while a service hangs", async (t) => {
    const service = await startHangingService(t);
    const run = await startSvcProcess(t, ["router", "health", "--base-url", service.url], {
      cwd: await createTestFolder(t),
    });
    await service.requestReceived;
    await assertEndsInTime(run);
    assert.equal(run.stdout() + run.stderr(), "");
  });

  it("exits during the read of a body from a pipe that stays open", async (t) => {
    const { cwd, env } = await startWithEmulator(t);
    const run = await startSvcProcess(t, ["api", "POST", "/api/contracts", "--data", "-"], { cwd, env });
    // The write exceeds the capacity of a pipe, so it completes only when the process reads.
    await new Promise<void>((resolve) => run.child.stdin!.write("x".repeat(1_000_000), () => resolve()));
    await assertEndsInTime(run, { within: graceMs });
  });

  it("exits during the read of a named pipe without a writer", { skip: process.platform === "win32" }, async (t) => {
    const { cwd, env } = await startWithEmulator(t);
    const pipe = join(cwd, "pipe");
    await promisify(execFile)("mkfifo", [pipe]);
    const run = await startSvcProcess(t, ["api", "POST", "/api/contracts", "--data", "pipe"], { cwd, env });
    // The open call returns when the process reads the pipe.
    const writer = await open(pipe, "w");
    t.after(() => writer.close());
    await assertEndsInTime(run, { within: graceMs });
  });

  it("exits at the second signal if the child of emulator exec ignores both signals", async (t) => {
    for (const name of signalNames) {
      const cwd = await createTestFolder(t);
      const run = await startSvcProcess(t, ["emulator", "exec", "--", process.execPath, "-e", deaf], { cwd });
      await run.saw("deaf");
      run.child.kill(name);
      await run.saw(`heard ${name}`);
      await assertEndsInTime(run, { name, within: graceMs });
      // The child writes to the same pipe, so the pipe ends with the last process that holds it.
      await finished(run.child.stdout!);
    }
  });

  it("waits for the child of emulator exec and returns its exit code", async (t) => {
    const program =
      "for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => setTimeout(() => {" +
      "console.log('tidied after ' + name); process.exit(7) }, 1_500)); setInterval(() => {}, 1000); console.log('up')";
    for (const name of signalNames) {
      const run = await startSvcProcess(t, ["emulator", "exec", "--", process.execPath, "-e", program], {
        cwd: await createTestFolder(t),
      });
      await run.saw("up");
      const { exit } = await run.stop(name);
      await finished(run.child.stdout!);
      assert.deepEqual([exit, run.stdout()], [7, `up\ntidied after ${name}\n`]);
    }
  });

  it("ends emulator start and closes the state cleanly", async (t) => {
    for (const name of signalNames) {
      const cwd = await createTestFolder(t);
      const run = await startSvcProcess(t, ["emulator", "start", "--json", "--port", "0"], { cwd });
      await run.saw('"ready"');
      await assertEndsInTime(run, { name });
      assert.deepEqual((await readdir(join(cwd, ".svc"))).sort(), [
        ".gitignore",
        ".origin",
        "emulator.json",
        "emulator.json.history",
        "files",
      ]);
    }
  });

  it("ends webhooks listen and removes the webhook", async (t) => {
    const { emulator, cwd, env } = await startWithEmulator(t);
    const run = await startSvcProcess(t, ["webhooks", "listen", "--json"], { cwd, env });
    await run.saw('"ready"');
    await assertEndsInTime(run);
    assert.deepEqual((await emulator.control("GET", "webhooks")).body, []);
  });

  it("ends webhooks listen if the service hangs during the removal of the webhook", async (t) => {
    const cwd = await createTestFolder(t);
    const subscription = { id: 7, url: "x", only_for_activities: [], created_by_user: { id: 1 }, custom_headers: {} };
    const server = createServer((request, response) => {
      request.resume();
      if (request.method === "POST")
        response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(subscription));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const env = {
      SVC_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SVC_CLIENT_ID: "c",
      SVC_CLIENT_SECRET: "s",
      SVC_WEBHOOK_HMAC_KEY: Buffer.alloc(64, 7).toString("base64"),
    };
    const run = await startSvcProcess(t, ["webhooks", "listen", "--json"], { cwd, env });
    await run.saw('"ready"');
    await assertEndsInTime(run, { within: graceMs });
  });

  it("exits while following the emulator's requests", async (t) => {
    const { cwd, env } = await startWithEmulator(t);
    const run = await startSvcProcess(t, ["emulator", "requests", "--follow"], { cwd, env });
    await run.saw("Following");
    await assertEndsInTime(run);
  });

  it("exits while polling for the tokens of a device", async (t) => {
    const { cwd, env } = await startWithEmulator(t);
    const run = await startSvcProcess(t, ["auth", "device-login", "--client-id", "demo-cli"], {
      cwd,
      env: { ...env, SVC_TOKEN: "" },
    });
    await run.saw("enter the code");
    await assertEndsInTime(run);
  });

  it("ends a job with hanging requests and prints how to continue", async (t) => {
    const service = await startReceiver(t);
    // The request for the list of clusters fails at once, because the job does not depend on it.
    const requestReceived = new Promise<void>((resolve) =>
      service.respond(({ method }, response) => {
        if (method === "POST") resolve();
        else response.writeHead(404).end();
      }),
    );
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "rows.txt"), "c0\nc1\n");
    const argv = ["router", "map-clients", "rows.txt", "--cluster", "eu-1", "--base-url", service.url, "--yes"];
    const run = await startSvcProcess(t, argv, { cwd, env: { SVC_CLUSTER_KEY: "k" } });
    await requestReceived;
    await assertEndsInTime(run, { within: graceMs });
    assert.match(run.stderr(), /Resume it with: svc router jobs resume job_/);
  });

  it("ends the processes of svc run --jobs if it is killed", async (t) => {
    const cwd = await createTestFolder(t);
    const receiver = await startReceiver(t);
    const ended: Promise<unknown>[] = [];
    const started = new Promise<void>((resolve) => {
      const sockets = new Set<Socket>();
      receiver.respond((_, response) => {
        const socket = response.socket!;
        if (!sockets.has(socket)) ended.push(once(sockets.add(socket) && socket, "close"));
        if (ended.length === 2) resolve();
        response.end();
      });
    });
    const numbers = JSON.stringify(Array.from({ length: 40 }, (_, i) => i));
    const story = `steps:
  - { receiver: app, url: "${receiver.url}", subscribe: [CONTRACT_CREATED] }
  - for each: { a: ${numbers} }
    steps:
      - for each: { b: ${numbers} }
        steps: [{ svc: webhooks trigger CONTRACT_CREATED }]
`;
    for (const file of ["a.yaml", "b.yaml"]) await writeFile(join(cwd, file), story);
    const run = await startSvcProcess(t, ["run", "a.yaml", "b.yaml", "--jobs", "2"], { cwd });
    await started;
    run.child.kill("SIGKILL");
    await Promise.all(ended);
    assert.ok(receiver.received.length < 2 * 40 * 40, `${receiver.received.length} webhooks`);
  });
});
