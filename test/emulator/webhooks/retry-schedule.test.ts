import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import demo from "../../../fixtures/seeds/demo.json" with { type: "json" };
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

/** The attempts for one contract at a dead receiver, by the minute. */
async function listAttemptTimes(t: TestContext, options: EmulatorOptions) {
  const { api, control, clock } = await startTestEmulator(t, options);
  const sink = await startReceiver(t);
  sink.respond(500);
  const only_for_activities = ["CONTRACT_CREATED"];
  const path = "/api/v2.1/public/webhooks/";
  const response = await api("POST", path, { body: { title: "dead", url: sink.url, only_for_activities } });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  await createDraftContract(api);
  await clock.advance({ untilIdle: true });
  const { items } = (await control("GET", "/deliveries")).body as { items: Delivery[] };
  const [webhook] = (await control("GET", "/webhooks")).body as { status: string; retry_schedule: string[] }[];
  const { status, retry_schedule } = webhook!;
  return {
    retry_schedule,
    status,
    deliveries: items.map(({ outcome, max_attempts, created_at, attempts }) => ({
      outcome,
      max_attempts,
      seconds: attempts.map(({ at }) => (Date.parse(at) - Date.parse(created_at)) / 1_000),
    })),
  };
}

interface Delivery {
  readonly outcome: string;
  readonly max_attempts: number;
  readonly created_at: string;
  readonly attempts: readonly { readonly at: string }[];
}

const seedWith = (retry_schedule: readonly string[]) => ({
  ...demo,
  workspaces: demo.workspaces.map((one) => ({ ...one, retry_schedule })),
});

describe("retry schedule of a workspace", () => {
  it("follows the specification by default", async (t) =>
    assert.deepEqual(await listAttemptTimes(t, {}), {
      retry_schedule: ["5m", "10m", "20m", "40m", "80m", "160m"],
      status: "DISABLED_BY_ERROR",
      deliveries: [{ outcome: "skipped_disabled", max_attempts: 7, seconds: [0, 300, 900, 2_100, 4_500, 9_300] }],
    }));

  it("follows the option, and a delivery ends after its last retry", async (t) =>
    assert.deepEqual(await listAttemptTimes(t, { retrySchedule: ["30s", "PT2M"] }), {
      retry_schedule: ["30s", "PT2M"],
      status: "ACTIVE",
      deliveries: [{ outcome: "failed", max_attempts: 3, seconds: [0, 30, 150] }],
    }));

  it("follows the seed if the seed defines it", async (t) =>
    assert.deepEqual(await listAttemptTimes(t, { seed: seedWith(["10s"]), retrySchedule: ["30s", "2m"] }), {
      retry_schedule: ["10s"],
      status: "ACTIVE",
      deliveries: [{ outcome: "failed", max_attempts: 2, seconds: [0, 10] }],
    }));

  it("may contain no retries", async (t) =>
    assert.deepEqual(await listAttemptTimes(t, { retrySchedule: [] }), {
      retry_schedule: [],
      status: "ACTIVE",
      deliveries: [{ outcome: "failed", max_attempts: 1, seconds: [0] }],
    }));

  it("counts the attempts that another schedule made or planned", async (t) => {
    const sink = await startReceiver(t);
    sink.respond(500);
    const countMaxAttempts = async (before: readonly string[], after: readonly string[], minutes: number) => {
      const { api, control, clock } = await startTestEmulator(t, { retrySchedule: [...before] });
      const body = { title: "dead", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
      await api("POST", "/api/v2.1/public/webhooks/", { body });
      await createDraftContract(api);
      await clock.advance({ by: minutes * 60_000 });
      const other = await startTestEmulator(t, { retrySchedule: [...after] });
      await other.control("PUT", "/state", { body: (await control("GET", "/state")).body as object });
      const { items } = (await other.control("GET", "/deliveries")).body as { items: Delivery[] };
      return items.map(({ outcome, attempts, max_attempts }) => [outcome, attempts.length, max_attempts]);
    };
    assert.deepEqual(await countMaxAttempts(["1m", "2m"], ["1m", "1m", "1m"], 5), [["failed", 3, 3]]);
    assert.deepEqual(await countMaxAttempts(["1m", "2m", "10m"], ["1m"], 5), [["retrying", 3, 4]]);
    assert.deepEqual(await countMaxAttempts(["1m", "2m", "10m"], ["1m", "1m", "1m", "1m"], 5), [["retrying", 3, 5]]);
  });

  it("rejects a delay that is not a duration", async (t) => {
    await assert.rejects(startTestEmulator(t, { retrySchedule: ["soon"] }), {
      name: "InvalidOptionsError",
      message: 'startEmulator: retrySchedule.0 must be a duration of at most 365 days (5m, PT5M), got "soon"',
    });
    await assert.rejects(startTestEmulator(t, { seed: seedWith(["366d"]) }), {
      name: "InvalidOptionsError",
      message: /workspaces\[0\]\.retry_schedule\[0\] must be a duration of at most 365 days \(5m, PT5M\), got "366d"/,
    });
  });
});
