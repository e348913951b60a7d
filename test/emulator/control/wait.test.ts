import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator, type TestResponse } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const now = "2031-01-02T03:04:05.000Z";
const long = "timeout_ms=20000";

const triggerActivity = ({ control }: TestEmulator, activity: string) =>
  control("POST", "activities", { body: { activity } });

/**
 * Sends a wait request, and checks that it is still pending after the responses to later requests. `receive` requires a
 * response after at most a thousand more requests, long before the timeout.
 */
async function startPendingWait(
  { control }: TestEmulator,
  query: string,
): Promise<{ readonly pendingResponse: Promise<TestResponse>; receive(): Promise<TestResponse> }> {
  let isAnswered = false;
  const pendingResponse = control("GET", `wait?${query}&timeout_ms=20000`).finally(() => {
    isAnswered = true;
  });
  for (let i = 0; i < 3; i += 1) await control("GET", "clock");
  assert.equal(isAnswered, false);
  return {
    pendingResponse,
    async receive() {
      for (let i = 0; i < 1_000 && !isAnswered; i += 1) await control("GET", "clock");
      assert.equal(isAnswered, true);
      return pendingResponse;
    },
  };
}

describe("GET /_emulator/wait", () => {
  it("returns immediately if the condition is already met", async (t) => {
    const running = await startTestEmulator(t);
    await createDraftContract(running.api);
    assert.deepEqual(pickStatusAndBody(await running.control("GET", `wait?activity=CONTRACT_CREATED&${long}`)), {
      status: 200,
      body: {
        reached: true,
        now,
        activities: [{ activity: "CONTRACT_CREATED", contract_id: 1, composite_id: "T-1", at: now }],
        deliveries: [],
        contract: null,
      },
    });
  });

  it("waits for an activity, even without a webhook", async (t) => {
    const running = await startTestEmulator(t);
    await createDraftContract(running.api);
    const wait = await startPendingWait(running, "activity=CONTRACT_VOIDED");
    await triggerActivity(running, "CONTRACT_VOIDED");
    const { body } = await wait.receive();
    assert.deepEqual((body as { reached: boolean }).reached, true);
  });

  it("counts only activities of the contract after the given time", async (t) => {
    const running = await startTestEmulator(t);
    await createDraftContract(running.api);
    await running.control("POST", "clock/advance", { body: { by: "PT1M" } });
    const since = "2031-01-02T03:05:05Z";
    const wait = await startPendingWait(running, `activity=CONTRACT_CREATED&count=2&since=${since}`);
    await createDraftContract(running.api);
    await createDraftContract(running.api);
    const { activities } = (await wait.receive()).body as { activities: { contract_id: number }[] };
    assert.deepEqual(
      activities.map(({ contract_id }) => contract_id),
      [3, 2],
    );
    const otherResponse = await running.control(
      "GET",
      "wait?activity=CONTRACT_CREATED&contract=T-2&count=2&timeout_ms=0",
    );
    assert.equal((otherResponse.body as { reached: boolean }).reached, false);
  });

  it("returns the contract when its status changes", async (t) => {
    const running = await startTestEmulator(t);
    const contract = await createSentContract(running.api);
    const contractIds = { contract_id: contract.number, composite_id: contract.id };
    const status = `contract=${contract.id}&contract_status=EXECUTED`;
    assert.deepEqual(pickStatusAndBody(await running.control("GET", `wait?${status}&timeout_ms=0`)), {
      status: 200,
      body: {
        reached: false,
        now,
        activities: [],
        deliveries: [],
        contract: { ...contractIds, contract_status: "SIGN" },
      },
    });
    const wait = await startPendingWait(running, status);
    await running.control("POST", `contracts/${contract.id}/sign`, { body: {} });
    assert.deepEqual(((await wait.receive()).body as { contract: object }).contract, {
      ...contractIds,
      contract_status: "EXECUTED",
    });
  });

  it("returns the delivery with the outcome, or other deliveries after a timeout", async (t) => {
    const running = await startTestEmulator(t);
    const target = await startReceiver(t);
    target.respond(500);
    await running.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "Hooks", url: target.url, only_for_activities: ["CONTRACT_CREATED"] },
    });
    await createDraftContract(running.api);
    await running.control("GET", `wait?outcome=retrying&${long}`);
    const row = { id: 1, webhook_id: 1, activity: "CONTRACT_CREATED", contract_id: 1, composite_id: "T-1" };
    const over = await running.control("GET", "wait?outcome=delivered&webhook=1&timeout_ms=1");
    assert.deepEqual(pickStatusAndBody(over), {
      status: 200,
      body: { reached: false, now, activities: [], deliveries: [{ ...row, outcome: "retrying" }], contract: null },
    });
    const wait = await startPendingWait(running, "outcome=delivered&activity=CONTRACT_CREATED");
    target.respond(200);
    await running.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const { reached, deliveries } = (await wait.receive()).body as { reached: boolean; deliveries: object[] };
    assert.deepEqual({ reached, deliveries }, { reached: true, deliveries: [{ ...row, outcome: "delivered" }] });
    const isReachedSince = async (time: string) =>
      ((await running.control("GET", `wait?outcome=delivered&since=${time}&timeout_ms=1`)).body as { reached: boolean })
        .reached;
    assert.deepEqual(
      [await isReachedSince(now), await isReachedSince("2031-01-02T03:04:05.001Z")],
      [true, false],
      "the delivery was created at the first time",
    );
  });

  it("accepts a new webhook and a deleted one with deliveries, but not an unknown one", async (t) => {
    const running = await startTestEmulator(t);
    const body = { title: "Hooks", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
    for (let i = 0; i < 2; i += 1) await running.api("POST", "/api/v2.1/public/webhooks/", { body });
    await createDraftContract(running.api);
    await running.api("POST", "/api/v2.1/public/webhooks/", { body });
    for (const id of [2, 3]) await running.api("DELETE", `/api/v2.1/public/webhooks/${id}`);
    await running.api("POST", "/api/v2.1/public/webhooks/", { body });
    const wait = (id: number) => running.control("GET", `wait?outcome=delivered&webhook=${id}&timeout_ms=1`);
    const statuses = await Promise.all([1, 2, 3, 4, 5].map(async (id) => (await wait(id)).status));
    assert.deepEqual(statuses, [200, 200, 404, 200, 404]);
  });

  it("returns other activities after a timeout", async (t) => {
    const running = await startTestEmulator(t);
    await createDraftContract(running.api);
    const { body } = await running.control("GET", "wait?activity=CONTRACT_SIGNED&timeout_ms=1");
    assert.deepEqual(body, {
      reached: false,
      now,
      activities: [
        { activity: "CONTRACT_CREATED", contract_id: 1, composite_id: "T-1", at: now },
        { activity: "COUNTER_PARTY_CONTACT_CREATED", contract_id: null, composite_id: null, at: now },
        { activity: "COUNTER_PARTY_CREATED", contract_id: null, composite_id: null, at: now },
      ],
      deliveries: [],
      contract: null,
    });
  });

  it("ends when the emulator stops", async (t) => {
    const running = await startTestEmulator(t);
    const { pendingResponse } = await startPendingWait(running, "activity=CONTRACT_SIGNED");
    await Promise.allSettled([running.close(), pendingResponse]);
  });

  it("rejects an unknown contract", async (t) => {
    const { control } = await startTestEmulator(t);
    assert.equal((await control("GET", `wait?contract=T-9&contract_status=SIGN&${long}`)).status, 404);
  });

  const mistakes = [
    ["", "one of activity, outcome and contract_status is required"],
    ["contract_status=SIGN", "contract_status requires contract"],
    ["contract=1&contract_status=SIGN&outcome=failed", "contract_status cannot be used with activity or outcome"],
    ["activity=CONTRACT_SIGNED&webhook=1", "webhook requires outcome"],
  ] as const;
  for (const [query, words] of mistakes) {
    it(`rejects an invalid query: ${words}`, async (t) => {
      const { control } = await startTestEmulator(t);
      const { status, body } = await control("GET", `wait?${query}`);
      assert.equal(status, 400);
      const { error } = body as { error: { code: string; message: string } };
      assert.equal(error.code, "invalid_input");
      assert.ok(error.message.includes(words));
    });
  }
});
