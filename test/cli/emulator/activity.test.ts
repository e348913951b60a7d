import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";
import { createContractRequest } from "../../support/contracts.ts";
import { createSender } from "../../support/emulator.ts";

/** An emulator run by `svc emulator start`. `ended` resolves with its output after it has stopped. */
async function startEmulatorCommand(t: TestContext, flags: string, options: RunOptions = {}) {
  const cwd = await createTestFolder(t);
  let signal: (name: "SIGTERM") => void = () => {};
  let visibleOutput = "";
  let look = () => {};
  const run = runCli(`emulator start --port 0 --clock manual --clock-start 2031-01-02T03:04:05Z ${flags}`, {
    cwd,
    ...options,
    onStart: (started) => {
      signal = started.signal;
    },
    onOutput: (stdout) => {
      visibleOutput = stripVTControlCharacters(stdout);
      look();
    },
  });
  t.after(() => signal("SIGTERM"));
  const saw = (text: string) =>
    new Promise<void>((resolve) => {
      look = () => visibleOutput.includes(text) && resolve();
      look();
    });
  await Promise.race([saw(flags.includes("json") ? '"ready"' : "Press Ctrl-C to stop it."), run]);
  const json = JSON.parse((await runCli("emulator env --json", { cwd })).stdout) as Record<string, string>;
  const env = { ...json, SVC_CONFIG_DIR: cwd };
  return {
    saw,
    run: (argv: string, options: RunOptions) => runCli(argv, { cwd: "/nonexistent", env, ...options }),
    svc: (argv: string, stdin = "") => runCli(argv, { cwd: "/nonexistent", env, stdin }),
    router: createSender(String(json.SVC_ROUTER_URL)),
    async stop() {
      signal("SIGTERM");
      return run;
    },
  };
}

const maskDurations = (text: string) =>
  text.replace(/ +\d+ ms/g, " N ms").replace(/"duration_ms":[\d.]+/g, '"duration_ms":0');

describe("activity log of svc emulator start", () => {
  it("shows requests, attempts and clock advances without secrets", async (t) => {
    const emulator = await startEmulatorCommand(t, "", { tty: true, columns: 120, env: { NO_COLOR: "1" } });
    await emulator.router("GET", "/router/v1/clusters/by_token/very-secret-token/");
    await emulator.svc(`webhooks create --title Mine --url http://127.0.0.1:9/ --only-for-activities CONTRACT_CREATED`);
    await emulator.svc("contracts create --data -", JSON.stringify(createContractRequest()));
    await emulator.saw("retrying, next 03:09:05");
    await emulator.svc("emulator clock advance --by PT5M");
    await emulator.saw("attempt 2");
    await emulator.saw("clock.advance");
    const { stdout } = await emulator.stop();
    const lines = maskDurations(stdout).split("Press Ctrl-C to stop it.\n")[1]!.split("\n");
    assert.equal(stdout.includes("very-secret-token"), false);
    const findLines = (word: string) => lines.filter((line) => line.includes(word));
    assert.deepEqual(
      [
        ...findLines("webhooks.create"),
        ...findLines("contracts.create"),
        ...findLines("webhook 1 "),
        ...findLines("time  "),
      ],
      [
        "03:04:05  201 N ms  POST   /api/v2.1/public/webhooks/  webhooks.create (http-receiver)",
        "03:04:05  201 N ms  POST   /api/v2.1/public/contracts/  contracts.create",
        "03:04:05  connection_refused N ms  webhook 1  CONTRACT_CREATED T-1  attempt 1, retrying, next 03:09:05",
        "03:09:05  connection_refused N ms  webhook 1  CONTRACT_CREATED T-1  attempt 2, retrying, next 03:19:05",
        "03:09:05  time  2031-01-02T03:04:05.000Z → 2031-01-02T03:09:05.000Z",
      ],
    );
    assert.deepEqual(
      lines.filter((line) => line.length > 120),
      [],
    );
  });

  it("numbers the attempts of the schedule, also after resends and in other commands", async (t) => {
    const emulator = await startEmulatorCommand(t, "", { tty: true, columns: 120, env: { NO_COLOR: "1" } });
    let startFollowing = () => {};
    const following = new Promise<void>((resolve) => {
      startFollowing = resolve;
    });
    const followed = new Promise<string>((resolve) => {
      let interrupt = () => {};
      void emulator.run("webhooks deliveries --follow", {
        onStart: ({ signal }) => {
          interrupt = () => signal("SIGINT");
        },
        onError: (stderr) => stderr.includes("Following") && startFollowing(),
        onOutput: (stdout) => {
          if (!stdout.includes("03:19:05")) return;
          resolve(stdout);
          interrupt();
        },
      });
    });
    await following;
    await emulator.svc(`webhooks create --title Mine --url http://127.0.0.1:9/ --only-for-activities CONTRACT_CREATED`);
    await emulator.svc("contracts create --data -", JSON.stringify(createContractRequest()));
    await emulator.saw("retrying, next 03:09:05");
    await emulator.svc("emulator snapshot save early");
    for (let i = 0; i < 2; i += 1) await emulator.svc("emulator deliveries resend 1");
    await emulator.svc("emulator clock advance --by PT5M");
    await emulator.saw("next 03:19:05");
    const diff = (await emulator.svc("emulator snapshot diff early")).stdout;
    const { attempts } = JSON.parse((await emulator.svc("emulator deliveries show 1 --json")).stdout);
    const { stdout } = await emulator.stop();
    const findLabels = (text: string) => text.match(/(?:attempt \d|resend)(?=,|:| of)/g);
    assert.deepEqual(
      [findLabels(stdout), findLabels(await followed), diff.match(/(?:attempt \d|resend) of delivery 1(?=:)/g)?.sort()],
      [
        ["attempt 1", "resend", "resend", "attempt 2"],
        ["attempt 1", "resend", "resend", "attempt 2"],
        ["attempt 2 of delivery 1", "resend of delivery 1", "resend of delivery 1"],
      ],
    );
    assert.deepEqual(
      (attempts as { number: number; scheduled_number: number | null }[]).map((row) => [
        row.number,
        row.scheduled_number,
      ]),
      [
        [1, 1],
        [2, null],
        [3, null],
        [4, 2],
      ],
    );
  });

  it("prints JSON documents with --json, the ready line first", async (t) => {
    const emulator = await startEmulatorCommand(t, "--json");
    await emulator.router("GET", "/router/v1/clusters/");
    await emulator.saw('"clusters.list"');
    const { stdout } = await emulator.stop();
    const documents = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(documents[0]?.event, "ready");
    assert.deepEqual(
      documents.filter(({ operation }) => operation === "clusters.list").map((one) => ({ ...one, duration_ms: 0 })),
      [
        {
          event: "request",
          at: "2031-01-02T03:04:05.000Z",
          listener: "router",
          service: "router",
          operation: "clusters.list",
          method: "GET",
          target: "/router/v1/clusters/",
          status: 200,
          failure: null,
          caller: null,
          findings: [],
          duration_ms: 0,
        },
      ],
    );
  });

  it("is plain in a pipe and silent with --quiet", async (t) => {
    for (const [flags, expected] of [
      ["", /^2031-01-02T03:04:05\.000Z {2}200 N ms {2}GET {4}\/router\/v1\/clusters\/ {2}clusters\.list$/m],
      ["--quiet", undefined],
    ] as const) {
      const emulator = await startEmulatorCommand(t, flags);
      await emulator.router("GET", "/router/v1/clusters/");
      if (expected) await emulator.saw("clusters.list");
      const { stdout } = await emulator.stop();
      if (expected) assert.match(maskDurations(stdout), expected);
      else assert.equal(stdout.split("Press Ctrl-C to stop it.\n")[1], "");
    }
  });

  it("counts the dropped lines of a flood", async (t) => {
    const emulator = await startEmulatorCommand(t, "--json");
    for (let i = 0; i < 10; i += 1) {
      await Promise.all(Array.from({ length: 100 }, () => emulator.router("GET", "/router/v1/clusters/")));
    }
    const { stdout } = await emulator.stop();
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { operation?: string; event: string; count?: number });
    const requestCount = events.filter(({ operation }) => operation === "clusters.list").length;
    const droppedCount = events.reduce((sum, { count = 0 }) => sum + count, 0);
    assert.equal(
      requestCount + droppedCount >= 1_000 && requestCount + droppedCount < 1_010,
      true,
      `${requestCount} + ${droppedCount}`,
    );
  });
});
