import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { open, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { environmentOf } from "../../../src/cli/commands/emulator/exec.ts";
import { testFolder } from "../../support/cli/cli-emulator.ts";
import { type SvcProcess, startMs, svcProcess } from "../../support/cli/process-of-svc.ts";
import { emulator } from "../../support/emulator.ts";
import { receiver } from "../../support/receiver.ts";

/** What has to be finished after Ctrl-C has at most a second. */
const graceMs = 1_000;

/**
 * Ends it by a signal, in less time than the same program needs to start ten times (half a second, where nothing else
 * runs), and what it has to finish first. Both are measured at the same moment: what else the machine does slows both.
 */
async function ends(
  run: SvcProcess,
  { name = "SIGINT", within = 0 }: { name?: "SIGINT" | "SIGTERM"; within?: number } = {},
): Promise<void> {
  const [{ exit, afterMs }, oneStart] = await Promise.all([run.stopped(name), startMs()]);
  assert.equal(exit, name === "SIGINT" ? 130 : 143, run.err());
  const allowed = within + 10 * oneStart;
  assert.ok(afterMs < allowed, `took ${Math.round(afterMs)} ms, of ${Math.round(allowed)}`);
}

/** A service that takes requests and never answers; `asked` resolves at the first. */
async function hanging(t: TestContext) {
  const service = await receiver(t);
  const asked = new Promise<void>((resolve) => service.answer(() => resolve()));
  return { url: service.url, asked };
}

async function withEmulator(t: TestContext) {
  const cwd = await testFolder(t);
  const world = await emulator(t);
  const host = { env: {} } as unknown as Parameters<typeof environmentOf>[1];
  return { world, cwd, env: environmentOf(world, host) };
}

const deaf =
  "process.on('SIGINT', () => {}); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('deaf');";

describe("a process of svc ends soon after Ctrl-C", () => {
  it("while a service hangs", async (t) => {
    const service = await hanging(t);
    const run = await svcProcess(t, ["router", "health", "--base-url", service.url], { cwd: await testFolder(t) });
    await service.asked;
    await ends(run);
    assert.equal(run.out() + run.err(), "");
  });

  it("while it reads a body from a pipe that stays open", async (t) => {
    const { cwd, env } = await withEmulator(t);
    const run = await svcProcess(t, ["api", "POST", "/api/contracts", "--data", "-"], { cwd, env });
    // More than a pipe holds: once it is taken, somebody reads.
    await new Promise<void>((resolve) => run.child.stdin!.write("x".repeat(1_000_000), () => resolve()));
    await ends(run, { within: graceMs });
  });

  it("while it reads a named pipe to which nobody writes", { skip: process.platform === "win32" }, async (t) => {
    const { cwd, env } = await withEmulator(t);
    const pipe = join(cwd, "pipe");
    await promisify(execFile)("mkfifo", [pipe]);
    const run = await svcProcess(t, ["api", "POST", "/api/contracts", "--data", "pipe"], { cwd, env });
    // Opens as soon as somebody reads.
    const writer = await open(pipe, "w");
    t.after(() => writer.close());
    await ends(run, { within: graceMs });
  });

  it("while a child of emulator exec ignores both signals: the child is killed", async (t) => {
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      const cwd = await testFolder(t);
      const run = await svcProcess(t, ["emulator", "exec", "--", process.execPath, "-e", deaf], { cwd });
      await run.saw("deaf");
      await ends(run, { name, within: graceMs });
      // It writes to the same pipe, which ends with the last who could; its id may be there for a while yet.
      await finished(run.child.stdout!);
    }
  });

  it("at once at the second Ctrl-C, whatever the first has left to do", async (t) => {
    const cwd = await testFolder(t);
    const program =
      "process.on('SIGINT', () => console.log('heard')); setInterval(() => {}, 1000); console.log('deaf');";
    const run = await svcProcess(t, ["emulator", "exec", "--", process.execPath, "-e", program], { cwd });
    await run.saw("deaf");
    run.child.kill("SIGINT");
    await run.saw("heard");
    await ends(run);
  });

  it("at emulator start, and the state is closed cleanly", async (t) => {
    const cwd = await testFolder(t);
    const run = await svcProcess(t, ["emulator", "start", "--json", "--port", "0"], { cwd });
    await run.saw('"ready"');
    await ends(run);
    assert.deepEqual((await readdir(join(cwd, ".svc"))).sort(), [
      ".gitignore",
      "emulator.json",
      "emulator.json.history",
      "files",
    ]);
  });

  it("at webhooks listen, and the subscription is gone", async (t) => {
    const { world, cwd, env } = await withEmulator(t);
    const run = await svcProcess(t, ["webhooks", "listen", "--json"], { cwd, env });
    await run.saw('"ready"');
    await ends(run);
    assert.deepEqual((await world.ask("GET", "webhooks")).body, []);
  });

  it("at webhooks listen, when the service hangs that should forget the subscription", async (t) => {
    const cwd = await testFolder(t);
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
    const run = await svcProcess(t, ["webhooks", "listen", "--json"], { cwd, env });
    await run.saw('"ready"');
    await ends(run, { within: graceMs });
  });

  it("while it follows the emulator's requests", async (t) => {
    const { cwd, env } = await withEmulator(t);
    const run = await svcProcess(t, ["emulator", "requests", "--follow"], { cwd, env });
    await run.saw("Following");
    await ends(run);
  });

  it("while it polls for the tokens of a device", async (t) => {
    const { cwd, env } = await withEmulator(t);
    const run = await svcProcess(t, ["auth", "device-login", "--client-id", "demo-cli"], {
      cwd,
      env: { ...env, SVC_TOKEN: "" },
    });
    await run.saw("enter the code");
    await ends(run);
  });

  it("while a job waits for calls that hang: says how to go on", async (t) => {
    const service = await receiver(t);
    // Where it is asked which clusters there are, it answers at once; the job does not depend on it.
    const asked = new Promise<void>((resolve) =>
      service.answer(({ method }, response) => {
        if (method === "POST") resolve();
        else response.writeHead(404).end();
      }),
    );
    const cwd = await testFolder(t);
    await writeFile(join(cwd, "rows.txt"), "c0\nc1\n");
    const argv = ["router", "map-clients", "rows.txt", "--cluster", "eu-1", "--base-url", service.url, "--yes"];
    const run = await svcProcess(t, argv, { cwd, env: { SVC_CLUSTER_KEY: "k" } });
    await asked;
    await ends(run, { within: graceMs });
    assert.match(run.err(), /Resume it with: svc router jobs resume job_/);
  });
});
