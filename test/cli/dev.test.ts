import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { addCleanup } from "../support/cleanup.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../support/cli/run-cli.ts";
import { startCommand } from "../support/cli/running-command.ts";
import { createMovedWallClock } from "../support/clocks/moved-wall-clock.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { findFreePort } from "../support/free-port.ts";
import { startReceiver } from "../support/receiver.ts";

const create = [
  ...["contracts", "create", "--contract-template-id", "101", "--set", "contract_data={}", "--set"],
  'counter_party_details=[{"is_individual":true,"poc_details":{"first_name":"Jo","email":"jo@acme.example"}}]',
];

/** A folder with `svc` and a session of svc dev in the background. */
async function createDevFolder(t: TestContext) {
  const cwd = await createTestFolder(t);
  const env = { SVC_CONFIG_DIR: cwd };
  const svc = (argv: string | readonly string[], options: RunOptions = {}) => runCli(argv, { cwd, env, ...options });
  const dev = (...flags: readonly string[]) => {
    const session = startCommand(svc, ["dev", ...flags]);
    addCleanup(t, () => session.stop());
    return session;
  };
  return { cwd, svc, dev, file: join(cwd, ".svc/emulator.json") };
}

/** An app that can be stopped and restarted on the same port. */
async function startApp(t: TestContext) {
  let server = createServer();
  const port = await findFreePort();
  const start = async () => {
    server = createServer((request, response) => void request.resume().on("end", () => response.end("ok")));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  };
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await start();
  t.after(stop);
  return { start, stop, port, url: `http://localhost:${port}` };
}

describe("svc dev at a terminal", () => {
  it("reports keys that cannot be read", async (t) => {
    const { svc } = await createDevFolder(t);
    const stdin = new PassThrough();
    const onError = (stderr: string) => void (stderr.includes("? keys") && !stdin.destroyed && stdin.write("?"));
    const onOutput = (stdout: string) => void (/q {2}quit/.test(stdout) && stdin.destroy(new Error("keyboard lost")));
    const { exit, stderr } = await svc("dev --port 0", { tty: true, stdin, onError, onOutput });
    assert.deepEqual([exit, /keyboard lost/.test(stderr)], [1, true], stderr);
  });
});

describe("svc dev in a pipe", () => {
  it("reports that the environment names another emulator", async (t) => {
    const { cwd } = await createDevFolder(t);
    const env = { SVC_CONFIG_DIR: cwd, SVC_EMULATOR_URL: "http://user:secret@emulator.example:4010/_emulator" };
    const svc = (argv: string | readonly string[], options: RunOptions = {}) => runCli(argv, { cwd, ...options, env });
    const session = startCommand(svc, ["dev", "--json", "--port", "0"]);
    addCleanup(t, () => session.stop());
    await session.saw('"type":"ready"');
    session.signal("SIGINT");
    const { stderr } = await session.completion;
    assert.equal(
      stderr.split("\n")[0],
      "warning: SVC_EMULATOR_URL (http://emulator.example:4010) is ignored: svc dev uses the emulator of this folder",
    );
  });

  it("starts one emulator for concurrent sessions of a folder", async (t) => {
    const { dev } = await createDevFolder(t);
    const sessions = ["--json", "--json", "--json"].map((flag) => dev(flag, "--port", "0"));
    await Promise.all(sessions.map((session) => session.saw('"type":"ready"')));
    const readies = sessions.map((session) => session.events()[0]);
    assert.deepEqual(readies.map((ready) => ready?.started).sort(), [false, false, true]);
    assert.equal(new Set(readies.map((ready) => ready?.router_url)).size, 1);
    for (const session of sessions) session.signal("SIGINT");
    assert.deepEqual(
      await Promise.all(sessions.map(async ({ completion }) => (await completion).exit)),
      [130, 130, 130],
    );
  });

  it("starts an emulator and prints requests and deliveries as JSON lines after a ready line", async (t) => {
    const { svc, dev, cwd, file } = await createDevFolder(t);
    const { port, url } = await startApp(t);
    const session = dev("--forward-to", String(port), "--port", "0", "--activities", "CONTRACT_CREATED", "--json");
    await session.saw('"type":"ready"');
    const [ready] = session.events();
    assert.deepEqual(
      { ...ready, state: undefined },
      { ...ready, type: "ready", ui: "1.0", started: true, state: undefined, webhook_id: 1, forward_to: url },
    );
    assert.equal(ready?.state, file);
    for (const name of ["router_url", "contracts_url", "receiver_url"]) assert.match(String(ready?.[name]), /^http:/);
    for (const name of ["client_id", "client_secret", "hmac_key"]) assert.match(String(ready?.[name]), /^\S+$/);

    const target = "/api/v1/auth/captcha-config";
    await fetch(`${ready?.router_url}${target}`);
    assert.equal((await svc(create)).exit, 0);
    await session.saw('"type":"attempt"');
    session.signal("SIGINT");
    assert.equal((await session.completion).exit, 130);
    const events = session.events();
    const proxied = events.filter(({ type, status }) => type === "request" && status === 200);
    assert.deepEqual(
      proxied.map((request) => request.target),
      [target],
    );
    assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(["ready", "request", "delivery", "attempt"]));
    const delivery = events.find(({ type }) => type === "delivery")!;
    const { activity, composite_id, verified, forwarded } = delivery;
    assert.deepEqual([activity, composite_id, verified], ["CONTRACT_CREATED", "T-1", true]);
    assert.equal((forwarded as { status: number }).status, 200);
    assert.equal(existsSync(`${file}.run`), false);
    const secondResult = await svc("emulator status", { cwd });
    assert.equal(secondResult.exit, 5);
  });

  it("shows how to end the emulator of the folder if that is suspended", async (t) => {
    const { svc, file } = await createDevFolder(t);
    await startTestEmulator(t, { file });
    const silent = await startReceiver(t);
    silent.respond((_, response) => void response.destroy());
    const content = JSON.parse(await readFile(`${file}.run`, "utf8"));
    await writeFile(`${file}.run`, JSON.stringify({ ...content, router_url: silent.url }));
    const { exit, stderr } = await svc("dev", { wall: createMovedWallClock() });
    const hint = `It may be busy: try again. If it is suspended, resume it with fg. To end it, run kill -9 ${process.pid}.`;
    const error = `The emulator of this folder does not respond at ${silent.url}.`;
    assert.deepEqual([exit, stderr], [75, `error: ${error}\n  ${hint}\n`]);
  });

  it("joins the emulator of the folder and leaves it unchanged", async (t) => {
    const { dev, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file });
    const session = dev("--json");
    await session.saw('"type":"ready"');
    const [{ started, router_url: routerUrl, forward_to: forwardTo }] = session.events() as [Record<string, unknown>];
    assert.deepEqual([started, routerUrl, forwardTo], [false, emulator.routerUrl, null]);
    session.signal("SIGTERM");
    assert.equal((await session.completion).exit, 143);
    assert.deepEqual((await emulator.control("GET", "webhooks")).body, []);
  });

  it("shows all times by the emulator's clock, including retries during an advance", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file, clock: { mode: "manual" } });
    const target = await startReceiver(t);
    target.respond(500);
    const session = dev("--forward-to", target.url, "--activities", "CONTRACT_CREATED", "--json");
    await session.saw('"type":"ready"');
    assert.equal((await svc(create)).exit, 0);
    await emulator.clock.advance({ by: "PT15M" });
    await session.saw('"attempt":3');
    session.signal("SIGINT");
    await session.completion;
    const timesOf = (type: string) => session.events().flatMap((event) => (event.type === type ? [event.at] : []));
    assert.deepEqual([session.events()[0]?.times, timesOf("delivery").length], ["virtual", 3]);
    assert.deepEqual(timesOf("delivery"), timesOf("attempt"));
  });

  it("shows the reason that the app gives for a rejection, unchanged", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    await startTestEmulator(t, { file });
    const target = await startReceiver(t);
    target.respond((_, response) => response.writeHead(500).end("The database is down."));
    const session = dev("--forward-to", target.url, "--activities", "CONTRACT_CREATED");
    await session.saw("ready");
    assert.equal((await svc(create)).exit, 0);
    await session.saw(" ms: The database is down.\n");
    session.signal("SIGINT");
    await session.completion;
  });

  it("shows when a failed attempt is repeated, unless the webhook is disabled", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file });
    const target = await startReceiver(t);
    target.respond(500);
    const session = dev("--forward-to", target.url, "--activities", "CONTRACT_CREATED");
    await session.saw("ready");
    assert.equal((await svc(create)).exit, 0);
    await session.saw("attempt 1, retrying, next 2031-01-02T03:09:05.000Z\n");
    await emulator.clock.advance({ by: "PT2H35M" });
    await session.saw("attempt 6, retry at 2031-01-02T08:19:05.000Z will be skipped: the webhook is disabled\n");
    session.signal("SIGINT");
    await session.completion;
  });

  it("reports when the app is down and when the app is back", async (t) => {
    const { dev, svc } = await createDevFolder(t);
    const { port, url, stop, start } = await startApp(t);
    await stop();
    const flags = ["--forward-to", String(port), "--port", "0", "--activities", "CONTRACT_CREATED"];
    const session = dev(...flags);
    await session.saw(`${url} refuses connections: webhooks fail until your app runs there.`);
    assert.equal((await svc(create)).exit, 0);
    await session.saw("no response: connection refused (ECONNREFUSED)");
    await session.saw("attempt 1, retrying");
    await start();
    await session.saw(`${url} accepts connections again.`);
    assert.equal((await svc("emulator deliveries resend 1")).exit, 0);
    await session.saw("CONTRACT_CREATED T-1  verified  200 in ");
    session.signal("SIGINT");
    const { exit, stdout } = await session.completion;
    assert.equal(exit, 130);
    assert.match(stdout, /^ready {2}emulator started, state in \.svc\/emulator\.json\n {2}router {7}http:/);
    assert.equal(stdout.includes("\x1b"), false);
  });

  it("reports once that the app is back after its failures disabled the webhook", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file });
    const { url, stop, start } = await startApp(t);
    await stop();
    const session = dev("--forward-to", url, "--activities", "CONTRACT_CREATED", "--json");
    await session.saw('"type":"app_down"');
    assert.equal((await svc(create)).exit, 0);
    await emulator.clock.advance({ by: "PT2H35M" });
    await session.saw("webhook_disabled");
    await start();
    await session.saw("webhook_enabled");
    await session.saw("app_up");
    session.signal("SIGINT");
    const { stderr } = await session.completion;
    assert.deepEqual(stderr.match(/accepts connections again|is enabled again/g)?.sort(), [
      "accepts connections again",
      "is enabled again",
    ]);
  });

  it("continues after deletion of the webhook and after a restart on another port", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const first = await startTestEmulator(t, { file });
    const target = await startReceiver(t);
    const session = dev("--forward-to", target.url, "--json");
    await session.saw('"type":"ready"');
    assert.equal((await svc("webhooks delete 1 --yes")).exit, 0);
    await session.saw('"type":"subscribed","webhook_id":2');
    await first.close();
    await session.saw("emulator_ended");
    await startTestEmulator(t, { file });
    await session.saw("emulator_back");
    assert.equal((await svc(create)).exit, 0);
    await session.saw("CONTRACT_CREATED");
    session.signal("SIGINT");
    assert.equal((await session.completion).exit, 130);
    assert.deepEqual(
      session.events().flatMap(({ type }) => (["request", "delivery", "attempt"].includes(String(type)) ? [] : [type])),
      ["ready", "webhook_deleted", "subscribed", "emulator_ended", "emulator_back"],
    );
  });

  it("does not report a deleted webhook as remaining when the emulator has ended", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file });
    const session = dev("--json");
    await session.saw('"type":"ready"');
    assert.equal((await svc("webhooks delete 1 --yes")).exit, 0);
    await session.saw('"type":"subscribed","webhook_id":2');
    await emulator.close();
    await session.saw("emulator_ended");
    session.signal("SIGINT");
    const { stderr } = await session.completion;
    assert.deepEqual(stderr.match(/Webhook \d was not deleted|svc webhooks delete \d/g), [
      "Webhook 2 was not deleted",
      "svc webhooks delete 2",
    ]);
  });

  it("does not report an error of an app that had not responded before the end of the session", async (t) => {
    const { dev, svc, file } = await createDevFolder(t);
    const emulator = await startTestEmulator(t, { file });
    const target = await startReceiver(t);
    const reached = new Promise<void>((resolve) => target.respond(() => resolve()));
    const session = dev("--forward-to", target.url, "--activities", "CONTRACT_CREATED", "--json");
    await session.saw('"type":"ready"');
    assert.equal((await svc(create)).exit, 0);
    await reached;
    session.signal("SIGINT");
    await session.completion;
    const { body } = await emulator.control("GET", "deliveries/1");
    const [{ status, response_body }] = (body as { attempts: [Record<string, unknown>] }).attempts;
    assert.deepEqual([status, response_body], [503, "svc ended before the app responded"]);
  });

  for (const [flags, message] of [
    [["--base-url", "http://127.0.0.1:1"], /--base-url cannot be used with svc dev/],
    [["--profile", "staging"], /--profile cannot be used with svc dev/],
    [["--forward-to", "ftp://x"], /--forward-to/],
    [["--activities", "CONTRACT_SIGND"], /"CONTRACT_SIGND"/],
  ] as const) {
    it(`exits with 2 for svc dev ${flags.join(" ")}`, async (t) => {
      const { svc, file } = await createDevFolder(t);
      const { exit, stdout, stderr } = await svc(["dev", ...flags]);
      assert.deepEqual([exit, stdout], [2, ""], stderr);
      assert.match(stderr, message);
      assert.equal(existsSync(file), false);
    });
  }
});
