import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { activities } from "../../src/api/activities.ts";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { stories } from "./causes.ts";
import { createOperationCall } from "./operation-call.ts";

const operations: readonly Operation[] = registry;
/** Operations with declared activities, except the manual trigger. */
const causing = operations.filter(({ id, emits = [] }) => emits.length > 0 && id !== "activities.fire");

/** Every activity emitted so far, in order. */
async function listActivities({ control }: TestEmulator): Promise<string[]> {
  const { body } = await control("GET", "state");
  const { rows } = body as { rows: { webhook_events: { id: number; activity: string }[] } };
  return rows.webhook_events.sort((a, b) => a.id - b.id).map(({ activity }) => activity);
}

const advanceClock = ({ control }: TestEmulator) => control("POST", "clock/advance", { body: { by: "PT2M" } });

/** The process metrics of the first contract, or undefined without a contract. */
async function getMetrics({ api }: TestEmulator): Promise<unknown> {
  const { status, body } = await api("GET", "/api/v2.1/public/contracts/1/process_metrics/");
  return status === 200 ? body : undefined;
}

/** The activities that the last step of a story emits, and the operations that it calls. */
async function playStory(t: TestContext, story: (typeof stories)[string][number]) {
  const emulator = await startTestEmulator(t);
  const act = await story({ ...emulator, call: createOperationCall(emulator) });
  await advanceClock(emulator);
  const before = await listActivities(emulator);
  const metrics = await getMetrics(emulator);
  const { status, body } = await act();
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
  const after = await getMetrics(emulator);
  const { body: log } = await emulator.control("GET", "requests");
  const calledOperations = (log as { items: { operation: string }[] }).items.map(({ operation }) => operation);
  await advanceClock(emulator);
  const emitted = (await listActivities(emulator)).slice(before.length);
  if (metrics && after) {
    const differ = !isDeepStrictEqual(metrics, after);
    assert.equal(emitted.includes("CONTRACT_PROCESS_METRIC_UPDATED"), differ, JSON.stringify([metrics, after]));
  }
  await emulator.close();
  return { emitted, called: calledOperations };
}

describe("declared activities of operations", () => {
  for (const { id, emits = [] } of causing) {
    it(`lists exactly the activities that ${id} emits`, async (t) => {
      const caused = new Set<string>();
      for (const story of stories[id] ?? []) {
        const { emitted, called } = await playStory(t, story);
        assert.ok(called.includes(id), `${id} was not called`);
        for (const activity of emitted) caused.add(activity);
      }
      assert.deepEqual([...caused].sort(), [...emits].sort());
    });
  }

  it("covers every activity", () => {
    const caused = new Set(causing.flatMap(({ emits = [] }) => emits));
    assert.deepEqual(
      activities.filter((activity) => !caused.has(activity)),
      [],
    );
  });

  it("emits no activity for operations without a declaration", async (t) => {
    const emulator = await startTestEmulator(t);
    const call = createOperationCall(emulator);
    await call("contracts.create", {}, { ...contract, ...metadata });
    await call("contracts.create", {}, contract);
    await call("contracts.send", { composite_id: "T-2" });
    await advanceClock(emulator);
    const before = await listActivities(emulator);
    const without = operations.filter(
      ({ id, emits = [], request, service }) =>
        emits.length === 0 &&
        !excludedOperations.test(id) &&
        request.body?.kind !== "stream" &&
        service.name !== "storage",
    );
    for (const { id, examples } of without) {
      const [example] = examples;
      await call(id, example?.params, example?.body).catch(() => assert.fail(id));
    }
    assert.deepEqual((await listActivities(emulator)).slice(before.length), []);
  });
});

/** Operations that stop the emulator, never end, advance time, or replace the state. */
const excludedOperations = /^(clock|state|activities)\.|\.(watch|stop|wait)$/;

const metadata = { external_metadata: { id: "deal-1" } };
const contract = {
  contract_template_id: 101,
  contract_data: {},
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Acme Inc.",
      poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
    },
  ],
};
