import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";

const status = "/api/v2.1/public/contracts/";

async function startBillingApp(t: TestContext) {
  const emulator = await startTestEmulator(t);
  const authorization = `Basic ${Buffer.from("billing:demo-billing-password").toString("base64")}`;
  return {
    ...emulator,
    /** Sends an event through the router and returns the findings of the cluster. */
    async bill(body: object) {
      const response = await emulator.router("POST", "/router/v1/billing/webhook", {
        body,
        headers: { authorization },
      });
      assert.deepEqual(pickStatusAndBody(response), { status: 200, body: {} });
      const { items } = (await emulator.control("GET", "requests")).body as {
        items: { findings: { code: string; detail: string }[] }[];
      };
      return items.flatMap(({ findings }) => findings).map(({ code, detail }) => `${code}: ${detail}`);
    },
    /** Plan and suspension of each workspace. */
    async plans() {
      const all = (await emulator.control("GET", "workspaces")).body as {
        id: number;
        plan: string;
        is_suspended: boolean;
      }[];
      return all.map(({ id, plan, is_suspended }) => [id, plan, is_suspended]);
    },
  };
}

const createBillingEvent = (event_type: string, subscription?: object, overrides: object = {}) => ({
  event_type,
  content: { customer: { id: "eu-1_1" }, ...(subscription && { subscription }) },
  ...overrides,
});

describe("billing event at an emulated cluster", () => {
  it("stores the plan of the workspace", async (t) => {
    const { bill, plans } = await startBillingApp(t);
    assert.deepEqual(
      await bill(createBillingEvent("subscription_created", { plan_id: "business", status: "active" })),
      [],
    );
    assert.deepEqual(await plans(), [
      [1, "business", false],
      [2, null, false],
      [3, null, false],
    ]);
    const items = { status: "active", subscription_items: [{ item_price_id: "team-EUR-yearly" }] };
    await bill(createBillingEvent("subscription_changed", items));
    assert.deepEqual((await plans())[0], [1, "team-EUR-yearly", false]);
  });

  for (const [event_type, subscription, end] of [
    ["subscription_cancelled", { plan_id: "business", status: "cancelled" }, "subscription_reactivated"],
    ["subscription_paused", undefined, "subscription_resumed"],
  ] as const) {
    it(`suspends the workspace's API after ${event_type} until ${end}`, async (t) => {
      const { bill, api, plans } = await startBillingApp(t);
      assert.equal((await api("GET", status)).status, 200);
      await bill(createBillingEvent(event_type, subscription));
      assert.equal((await plans())[0]?.[2], true);
      assert.deepEqual(pickStatusAndBody(await api("GET", status)), {
        status: 403,
        body: { detail: "This workspace is suspended." },
      });
      await bill(createBillingEvent(end));
      assert.equal((await api("GET", status)).status, 200);
    });
  }

  it("ignores an event older than the last one", async (t) => {
    const { bill, plans } = await startBillingApp(t);
    await bill(createBillingEvent("subscription_cancelled", { status: "cancelled" }, { occurred_at: 2_000 }));
    assert.deepEqual(
      await bill(createBillingEvent("subscription_activated", { status: "active" }, { occurred_at: 1_000 })),
      ["late-billing-event: A later event of the workspace arrived first"],
    );
    assert.equal((await plans())[0]?.[2], true);
  });

  it("does not change the plan for an invoice", async (t) => {
    const { bill, plans } = await startBillingApp(t);
    const before = await plans();
    await bill({ event_type: "payment_failed", content: { customer: { id: "eu-1_1" }, invoice: { id: "7" } } });
    assert.deepEqual(await plans(), before);
  });

  for (const customer of ["eu-1_99", "eu-1_3", "eu-1_northwind"]) {
    it(`records a finding for the unknown workspace of ${customer}`, async (t) => {
      const { bill, plans } = await startBillingApp(t);
      const before = await plans();
      const event = { event_type: "subscription_created", content: { customer: { id: customer } } };
      assert.deepEqual(await bill(event), [`unknown-workspace: eu-1 has no workspace for the customer ${customer}`]);
      assert.deepEqual(await plans(), before);
    });
  }
});
