import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemWallClock, type WallClock } from "../../../src/base/clock.ts";
import { type CliEmulator, createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { type RunningCommand, startCommand } from "../../support/cli/running-command.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { findFreePort } from "../../support/free-port.ts";

/** A wall clock that shortens the polling interval to a few milliseconds. */
class FastWall implements WallClock {
  #onSleep = () => {};

  now(): number {
    return systemWallClock.now();
  }

  monotonicNow(): number {
    return systemWallClock.monotonicNow();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.#onSleep();
    return systemWallClock.sleep(ms / 50, signal);
  }

  /** Resolves after the next poll. */
  async looked(): Promise<void> {
    for (let i = 0; i < 2; i += 1) {
      await new Promise<void>((resolve) => {
        this.#onSleep = resolve;
      });
    }
  }
}

/** An app that listens only while it runs, always at the same address. */
async function createApp(t: TestContext) {
  let running: Server | undefined;
  const port = await findFreePort();
  const start = async (status: number) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    running = server;
  };
  const stop = async () => {
    running?.closeAllConnections();
    await new Promise((resolve) => running?.close(resolve) ?? resolve(undefined));
    running = undefined;
  };
  t.after(stop);
  return { start, stop, url: `http://127.0.0.1:${port}` };
}

async function startListener(
  svc: CliEmulator["svc"],
  argv: readonly string[],
  wall = new FastWall(),
  env: Record<string, string> = {},
): Promise<RunningCommand> {
  const listener = startCommand(svc, ["webhooks", "listen", "--json", ...argv], { wall, env });
  await listener.saw('"ready"');
  return listener;
}

const failSixTimes = async (svc: CliEmulator["svc"]) => {
  for (let i = 0; i < 6; i += 1) await svc("webhooks trigger CONTRACT_SIGNED");
};

const getEventTypes = (listener: RunningCommand) => listener.events().map(({ type }) => type);

describe("svc webhooks listen without deliveries", () => {
  it("reports a disabled webhook and enables it once the app accepts connections", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const { start, url } = await createApp(t);
    const listener = await startListener(svc, ["--forward-to", url]);
    await failSixTimes(svc);
    await listener.saw("webhook_disabled");
    assert.match(
      listener.stderr(),
      new RegExp(
        `^Webhook 1 is disabled after 6 consecutive failures\\. It will be enabled again when ${url} accepts connections\\.$`,
        "m",
      ),
    );
    await start(200);
    await listener.saw("webhook_enabled");
    assert.match(
      listener.stderr(),
      /^Webhook 1 is enabled again\. To resend undelivered deliveries: svc emulator webhooks resend 1$/m,
    );
    assert.equal((await svc("emulator webhooks resend 1")).exit, 0);
    listener.signal("SIGINT");
    assert.equal((await listener.completion).exit, 130);
    assert.deepEqual(getEventTypes(listener).slice(-7), ["webhook_enabled", ...Array(6).fill("delivery")]);
  });

  it("does so, and reports a deletion, with the token of a workspace, which cannot follow all events", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const create = ["emulator", "tokens", "create", "team", "--role", "operate", "--workspace", "Northwind Legal"];
    const { token } = await json<{ token: string }>(create);
    const { start, url } = await createApp(t);
    const env = { SVC_EMULATOR_TOKEN: token };
    const listener = await startListener(svc, ["--forward-to", url], new FastWall(), env);
    await failSixTimes(svc);
    await listener.saw("webhook_disabled");
    await start(200);
    await listener.saw("webhook_enabled");
    assert.equal((await svc("webhooks delete 1 --yes")).exit, 0);
    await listener.saw("webhook_deleted");
    assert.doesNotMatch(listener.stderr(), /no longer watched/);
    listener.signal("SIGINT");
    assert.equal((await listener.completion).exit, 130);
  });

  it("enables the webhook of an app with error responses after a restart of the app", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const { start, stop, url } = await createApp(t);
    await start(500);
    const wall = new FastWall();
    const listener = await startListener(svc, ["--forward-to", url], wall);
    await failSixTimes(svc);
    await listener.saw("webhook_disabled");
    assert.match(
      listener.stderr(),
      new RegExp(`when ${url} has restarted, or after svc emulator webhooks enable 1\\.$`, "m"),
    );
    await stop();
    await wall.looked();
    await start(200);
    await listener.saw("webhook_enabled");
    assert.equal((await svc("webhooks trigger CONTRACT_SIGNED")).exit, 0);
    listener.signal("SIGINT");
    await listener.completion;
  });

  it("leaves the webhook disabled with --no-enable and prints how to enable it", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const { start, url } = await createApp(t);
    const listener = await startListener(svc, ["--forward-to", url, "--no-enable"]);
    await failSixTimes(svc);
    await listener.saw("webhook_disabled");
    assert.match(listener.stderr(), /consecutive failures\. To enable it: svc emulator webhooks enable 1$/m);
    await start(200);
    await json("emulator webhooks enable 1");
    await listener.saw("webhook_enabled");
    assert.equal(listener.stderr().includes("accepts connections"), false, listener.stderr());
    listener.signal("SIGINT");
    await listener.completion;
  });

  it("reports that a user disabled or deleted the webhook or that another state lacks it", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const listener = await startListener(svc, []);
    await json("emulator webhooks disable 1");
    await listener.saw("webhook_disabled");
    await json("emulator webhooks enable 1");
    await listener.saw("webhook_enabled");
    assert.equal((await svc("emulator reset --yes")).exit, 0);
    await listener.saw("webhook_deleted");
    listener.signal("SIGINT");
    await listener.completion;
    assert.deepEqual(listener.stderr().split("\n").slice(-4), [
      "Webhook 1 was disabled by a user. To enable it: svc emulator webhooks enable 1",
      "Webhook 1 is enabled again. To resend undelivered deliveries: svc emulator webhooks resend 1",
      "Webhook 1 was deleted. To subscribe again, run svc webhooks listen again.",
      "",
    ]);
  });

  it("reports a revoked token, not the end of the emulator", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const { token } = await json<{ token: string }>("emulator tokens create ci --role operate");
    const listener = await startListener(svc, [], new FastWall(), { SVC_EMULATOR_TOKEN: token });
    assert.equal((await svc("emulator tokens revoke ci --yes")).exit, 0);
    while (!/no longer watched|has ended\. To/.test(listener.stderr())) await svc("emulator ready");
    assert.match(listener.stderr(), /^Webhook 1 is no longer watched: .* 401 The control token is invalid: .*$/m);
    assert.doesNotMatch(listener.stderr(), /has ended\. To start/);
    listener.signal("SIGINT");
    assert.equal((await listener.completion).exit, 130);
  });

  it("reports the end of the emulator and its return with another token and address", async (t) => {
    const cwd = await createTestFolder(t);
    const file = join(cwd, ".svc/emulator.json");
    const first = await startTestEmulator(t, { file });
    const listener = await startListener((argv, options) => runCli(argv, { cwd, ...options }), []);
    await first.close();
    await listener.saw("emulator_ended");
    await startTestEmulator(t, { file });
    await listener.saw("emulator_back");
    const webhooks = async () => JSON.parse((await runCli("emulator webhooks --json", { cwd })).stdout);
    assert.equal((await webhooks()).length, 1);
    listener.signal("SIGINT");
    await listener.completion;
    assert.deepEqual(await webhooks(), []);
    assert.deepEqual(getEventTypes(listener), ["version", "ready", "emulator_ended", "emulator_back"]);
    const lines = listener
      .stderr()
      .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
      .split("\n");
    assert.deepEqual(lines.slice(-3), [
      "The emulator at http://HOST has ended. To start it again: svc emulator start --detach",
      "The emulator at http://HOST is back.",
      "",
    ]);
  });

  it("does not report its own end as the end of an emulator that was restarted", async (t) => {
    const cwd = await createTestFolder(t);
    const file = join(cwd, ".svc/emulator.json");
    const svc = (argv: string | readonly string[], options = {}) => runCli(argv, { cwd, ...options });
    const first = await startTestEmulator(t, { file });
    const listener = await startListener(svc, ["--count", "1"]);
    await first.close();
    await listener.saw("emulator_ended");
    await startTestEmulator(t, { file });
    await listener.saw("emulator_back");
    assert.equal((await svc("webhooks trigger CONTRACT_CREATED")).exit, 0);
    await listener.completion;
    assert.deepEqual(getEventTypes(listener), ["version", "ready", "emulator_ended", "emulator_back", "delivery"]);
  });

  it("reports that another emulator uses the address of the ended emulator", async (t) => {
    const { svc, emulator: first } = await startCliEmulator(t);
    const listener = await startListener(svc, []);
    await first.close();
    await listener.saw("emulator_ended");
    const otherServer = createServer((_, response) => void response.writeHead(401).end("{}"));
    await new Promise<void>((resolve) =>
      otherServer.listen(Number(new URL(first.routerUrl).port), "127.0.0.1", resolve),
    );
    t.after(() => void otherServer.close());
    await listener.saw("webhook_deleted");
    assert.match(
      listener.stderr(),
      /^Another emulator is now running at .* To subscribe to it, run svc webhooks listen again\.$/m,
    );
    listener.signal("SIGINT");
    await listener.completion;
  });
});
