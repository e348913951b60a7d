import assert from "node:assert/strict";
import { describe, it } from "node:test";
import demo from "../../../fixtures/seeds/demo.json" with { type: "json" };
import { startCliEmulator, startCliEmulatorWithReceiver } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const specifiedNote = "This is the schedule of the specification.\n";

describe("svc webhooks schedule", () => {
  it("lists each scheduled attempt with its reason", async (t) => {
    const { svc, app, json, webhook } = await startCliEmulatorWithReceiver(t);
    app.respond(500);
    await svc("webhooks trigger CONTRACT_SIGNED");
    await svc("emulator clock advance --by PT5M");
    assert.deepEqual(await json("webhooks schedule"), [
      {
        at: "2031-01-02T03:19:05.000Z",
        delivery: 1,
        webhook_id: webhook,
        activity: "CONTRACT_SIGNED",
        contract_id: 1,
        composite_id: "T-1",
        attempt: 3,
        reason: "10 minutes after failed attempt 2 (status 500)",
      },
    ]);
    await svc("emulator clock advance --by PT1H10M");
    const [last] = await json<{ reason: string }[]>("webhooks schedule");
    assert.equal(last!.reason, "80 minutes after failed attempt 5 (status 500); one more failure disables the webhook");
    await svc("emulator clock advance --by PT1H20M");
    const [skipped] = await json<{ attempt: number; reason: string }[]>("webhooks schedule");
    assert.deepEqual(
      [skipped!.attempt, skipped!.reason],
      [7, "160 minutes after failed attempt 6 (status 500); will be skipped: the webhook is DISABLED_BY_ERROR"],
    );
  });

  it("prints the retry schedule without an emulator", async () => {
    const { stdout, stderr } = await runCli("webhooks schedule --rule --from 2031-01-02T03:04:05Z --json");
    assert.equal(stderr, specifiedNote);
    const rows = JSON.parse(stdout) as { attempt: number; at: string; after: string; reason: string }[];
    assert.deepEqual(
      rows.map(({ attempt, at, after }) => [attempt, at.slice(11, 19), after]),
      [
        [1, "03:04:05", "0 minutes"],
        [2, "03:09:05", "5 minutes"],
        [3, "03:19:05", "15 minutes"],
        [4, "03:39:05", "35 minutes"],
        [5, "04:19:05", "75 minutes"],
        [6, "05:39:05", "155 minutes"],
        [7, "08:19:05", "315 minutes"],
      ],
    );
    assert.match(
      rows[6]!.reason,
      /^160 minutes after failed attempt 6 \(skipped unless the webhook is enabled again: 6 consecutive failures/,
    );
    const ticking = await runCli("webhooks schedule --rule --from 2031-01-02T03:04:05Z --worker-tick --json=at,reason");
    assert.deepEqual((JSON.parse(ticking.stdout) as object[])[1], {
      at: "2031-01-02T03:10:00.000Z",
      reason: "5 minutes after failed attempt 1, rounded up to the next whole minute",
    });
  });

  it("prints the retry rule of the running emulator's webhooks", async (t) => {
    const { svc, json } = await startCliEmulator(t, { retrySchedule: ["30s", "PT2M"] });
    const rule = ["webhooks", "schedule", "--rule", "--from", "2031-01-02T03:04:05Z"];
    const without = await svc([...rule, "--json"]);
    assert.equal((JSON.parse(without.stdout) as object[]).length, 7);
    assert.equal(without.stderr, specifiedNote);
    await json([
      "webhooks",
      "create",
      "--title",
      "app",
      "--url",
      "http://127.0.0.1:9/",
      "--only-for-activities",
      "CONTRACT_SIGNED",
    ]);
    const { exit, stdout, stderr } = await svc([...rule, "--json=attempt,at,after,reason"]);
    assert.deepEqual(
      [exit, JSON.parse(stdout), stderr],
      [
        0,
        [
          { attempt: 1, at: "2031-01-02T03:04:05.000Z", after: "0 minutes", reason: "immediately" },
          { attempt: 2, at: "2031-01-02T03:04:35.000Z", after: "30 s", reason: "30 s after failed attempt 1" },
          {
            attempt: 3,
            at: "2031-01-02T03:06:35.000Z",
            after: "2 min 30 s",
            reason: "2 minutes after failed attempt 2",
          },
        ],
        "This is the schedule of the webhooks of the running emulator.\n",
      ],
    );
  });

  it("lists the 50 next attempts, as many as --limit says, or all", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    app.respond(500);
    // The sixth failure of a webhook would disable it.
    for (let count = 1; count <= 16; count += 1)
      await svc(`webhooks create --title app --url ${app.url} --only-for-activities CONTRACT_SIGNED`);
    for (let count = 1; count <= 3; count += 1) await svc("webhooks trigger CONTRACT_SIGNED");
    const list = async (flags: string) => {
      const { stdout, stderr } = await svc(`webhooks schedule --json=delivery ${flags}`);
      return [(JSON.parse(stdout) as { delivery: number }[]).map(({ delivery }) => delivery), stderr];
    };
    const ids = Array.from({ length: 51 }, (_, at) => at + 1);
    assert.deepEqual(await list(""), [ids.slice(0, 50), "50 of 51 shown. For all: --all\n"]);
    assert.deepEqual(await list("--limit 2"), [[1, 2], "2 of 51 shown. For all: --all\n"]);
    assert.deepEqual(await list("--all"), [ids, ""]);
    const { exit, stderr } = await svc("webhooks schedule --rule --all");
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: --all cannot be used with --rule"]);
  });

  it("prints the specified retry rule if the webhooks of the emulator have different schedules", async (t) => {
    const seeded = {
      ...demo,
      workspaces: demo.workspaces.map((one, i) => ({ ...one, retry_schedule: ["1m", `${i + 2}m`] })),
    };
    const { svc, emulator } = await startCliEmulator(t, { seed: seeded });
    for (const cluster of emulator.clusters.slice(0, 2)) {
      const env = {
        SVC_CONTRACTS_URL: cluster.url,
        SVC_CLIENT_ID: cluster.clientId,
        SVC_CLIENT_SECRET: cluster.clientSecret,
      };
      const result = await svc(
        "webhooks create --title app --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED",
        { env: env as Record<string, string> },
      );
      assert.equal(result.exit, 0, result.stderr);
    }
    const { stdout, stderr } = await svc("webhooks schedule --rule --json");
    assert.equal((JSON.parse(stdout) as object[]).length, 7);
    assert.equal(stderr, specifiedNote);
  });

  it("prints the specified retry rule if the configured emulator is unreachable", async (t) => {
    const { svc, emulator } = await startCliEmulator(t, { retrySchedule: ["30s", "PT2M"] });
    await emulator.close();
    const { exit, stdout, stderr } = await svc("webhooks schedule --rule --json");
    assert.deepEqual([exit, (JSON.parse(stdout) as object[]).length, stderr], [0, 7, specifiedNote]);
  });

  it("exits 2 for an invalid time, and for --from without --rule", async () => {
    assert.equal((await runCli("webhooks schedule --rule --from yesterday")).exit, 2);
    assert.equal((await runCli("webhooks schedule --from 2031-01-02T03:04:05Z")).exit, 2);
  });
});
