import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";
import { createSender } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

interface Line {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** An emulator in its own process that logs JSON. */
async function startWithJsonLog(
  t: TestContext,
  argv: readonly string[] = [],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
) {
  const folder = cwd ?? (await createTestFolder(t));
  const options = ["--port", "0", "--ephemeral", "--clock", "manual", "--log", "json", "--json"];
  const run = await startSvcProcess(t, ["emulator", "start", ...options, ...argv], {
    cwd: folder,
    env: { SVC_EMULATOR_TOKEN: "s3cret-of-the-run", ...env },
  });
  await run.saw('"event":"ready","router_url"');
  const { router_url: routerUrl } = JSON.parse(run.stdout().split("\n")[0]!) as { router_url: string };
  const lines = () =>
    run
      .stderr()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  return {
    run,
    lines,
    router: createSender(routerUrl),
    send: createSender(routerUrl, { authorization: "Bearer s3cret-of-the-run" }),
  };
}

describe("svc emulator start --log json", () => {
  it("writes one document per request and state change without secrets", async (t) => {
    const { run, lines, router, send } = await startWithJsonLog(t);
    await router("GET", "/router/v1/clusters/by_token/very-secret-token/");
    await send("POST", "/_emulator/reset");
    await send("POST", "/_emulator/clock/advance", { body: { by: "PT5M" } });
    await run.saw('"operation":"clock.advance"');
    const { exit } = await run.stop("SIGTERM");
    assert.equal(exit, 143);
    assert.equal(/very-secret|s3cret/.test(run.stderr()), false);
    assert.equal(run.stdout().trimEnd().split("\n").length, 1);
    const all = lines();
    for (const { time } of all) assert.equal(new Date(time).toISOString(), time);
    const summary = all.map(({ level, event, listener, operation, caller, status }) =>
      event === "request" ? [level, event, listener, operation, caller, status] : [level, event],
    );
    assert.deepEqual(
      summary.filter(([, event, listener]) => event !== "clock" && (listener ?? "router") === "router"),
      [
        ["info", "ready"],
        ["info", "request", "router", "catch-all", null, 200],
        ["info", "state"],
        ["info", "request", "router", "state.reset", "local", 204],
        ["info", "request", "router", "clock.advance", "local", 200],
        ["info", "stopping"],
        ["info", "stopped"],
      ],
    );
  });
});

describe("failing svc emulator start --log json", () => {
  it("ends with a document", async (t) => {
    const cwd = await createTestFolder(t);
    for (const argv of [["--seed", "missing.json"], ["--no-such-flag"]]) {
      const { exit, stderr } = await runCli(["emulator", "start", "--port", "0", "--log", "json", ...argv], { cwd });
      const { time, level, event, error } = JSON.parse(stderr) as Line & { error: { code: string; message: string } };
      assert.deepEqual([exit, new Date(time).toISOString(), level, event], [2, time, "error", "fatal"]);
      assert.match(error.message, /missing\.json|no-such-flag/);
    }
  });
});

describe("svc emulator start with SVC_GRACE", () => {
  it("completes a request in progress at SIGTERM", async (t) => {
    const cwd = await createTestFolder(t);
    const backend = await startReceiver(t);
    const seed = {
      clusters: [{ id: "eu-1", label: "eu", external_url: backend.url }],
      mappings: { cluster_clients: { "eu-1": ["somebody"] } },
    };
    await writeFile(join(cwd, "seed.json"), JSON.stringify(seed));
    const outcomes: Record<string, unknown> = {};
    for (const [grace, SVC_GRACE] of Object.entries({ none: "", long: "60s" })) {
      const { run, router } = await startWithJsonLog(t, ["--seed", "seed.json"], cwd, { SVC_GRACE });
      let stopped: ReturnType<typeof run.stop> | undefined;
      backend.respond(async (_, response) => {
        stopped = run.stop("SIGTERM");
        await run.saw('"event":"stopping"');
        // The wait exceeds the default grace period.
        await systemWallClock.sleep(1_500);
        response.writeHead(200).end();
      });
      const reply = await router("GET", "/somewhere", { headers: { "client-id": "somebody" } }).catch(() => undefined);
      outcomes[grace] = [reply?.status, (await stopped)?.exit];
    }
    assert.deepEqual(outcomes, { none: [502, 143], long: [200, 143] });
  });
});
