import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { contentHash, contentHashHeader } from "../../../src/schemes/webhook.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../../support/receiver.ts";

interface Scene extends TestEmulator {
  readonly target: Receiver;
  /** Emits two activities of one contract in sequence and sends the deliveries that are due. */
  happen(...activities: readonly string[]): Promise<void>;
  /** Deliveries, oldest first: outcome, and attempts as `+minutes status-or-error`. */
  log(): Promise<string[]>;
}

async function startWithFault(t: TestContext, fault: object): Promise<Scene> {
  const running = await startTestEmulator(t);
  const { api, control } = running;
  const target = await startReceiver(t);
  const contract = await createDraftContract(api);
  const activities = ["CONTRACT_SIGNED", "CONTRACT_VOIDED", "CONTRACT_EXECUTED"];
  const hook = { title: "test", url: `${target.url}/hooks/a`, only_for_activities: activities };
  assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body: hook })).status, 201);
  assert.equal((await control("POST", "faults", { body: { direction: "outgoing", ...fault } })).status, 201);
  const begin = running.clock.now();
  return Object.assign(running, {
    target,
    async happen(...activities: readonly string[]) {
      for (const activity of activities) {
        const { status } = await control("POST", "activities", {
          body: { activity, contract_id: contract.number, wait: true },
        });
        assert.equal(status, 200);
      }
    },
    async log() {
      const { body } = await control("GET", "deliveries");
      const { items } = body as { items: Item[] };
      return items.toReversed().map(({ activity, outcome, attempts }) => {
        const each = attempts.map(
          ({ at, status, error }) => `+${(Date.parse(at) - begin) / 60_000} ${status ?? error?.code}`,
        );
        return [`${activity} ${outcome}`, ...each].join(", ");
      });
    },
  });
}

interface Item {
  readonly activity: string;
  readonly outcome: string;
  readonly attempts: readonly {
    readonly at: string;
    readonly status: number | null;
    readonly error: { readonly code: string } | null;
    readonly resend: boolean;
    readonly fault: Fault | null;
  }[];
}

interface Fault {
  readonly effect: string;
}

const hashHeader = contentHashHeader.toLowerCase();
const parseActivity = ({ body }: ReceivedRequest) =>
  (JSON.parse(body.toString("utf8")) as { activity: string }).activity;
const listReceived = ({ target }: Scene) => target.received.map(parseActivity);
const isGenuine = ({ clusters }: Scene, { body, headers }: ReceivedRequest) =>
  contentHash(clusters[0]!.hmacKey!, body) === headers[hashHeader];

describe("fault for outgoing webhooks", () => {
  it("sends the same bytes twice and counts them once with duplicate", async (t) => {
    const fixture = await startWithFault(t, { effect: "duplicate", count: 1 });
    await fixture.happen("CONTRACT_SIGNED", "CONTRACT_EXECUTED");
    assert.deepEqual(listReceived(fixture), ["CONTRACT_SIGNED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"]);
    assert.deepEqual(fixture.target.received[1]!.body, fixture.target.received[0]!.body);
    assert.ok(fixture.target.received.every((each) => isGenuine(fixture, each)));
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED delivered, +0 200", "CONTRACT_EXECUTED delivered, +0 200"]);
  });

  it("sends nothing with drop, and retries on schedule", async (t) => {
    const fixture = await startWithFault(t, { effect: "drop", attempt: 1 });
    await fixture.happen("CONTRACT_SIGNED");
    assert.deepEqual(listReceived(fixture), []);
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED retrying, +0 dropped"]);
    await fixture.control("POST", "clock/advance", { body: { by: "PT5M" } });
    assert.deepEqual(listReceived(fixture), ["CONTRACT_SIGNED"]);
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED delivered, +0 dropped, +5 200"]);
  });

  it("changes the body after signing with tamper", async (t) => {
    const fixture = await startWithFault(t, { effect: "tamper", count: 1 });
    await fixture.happen("CONTRACT_SIGNED", "CONTRACT_SIGNED");
    const [request, good] = fixture.target.received;
    assert.equal(isGenuine(fixture, request!), false);
    assert.equal(isGenuine(fixture, good!), true);
    assert.deepEqual(JSON.parse(request!.body.toString()), { tampered: true, ...JSON.parse(good!.body.toString()) });
    assert.equal(request!.headers[hashHeader], good!.headers[hashHeader]);
  });

  it("signs unchanged bytes with another key with wrong_key", async (t) => {
    const fixture = await startWithFault(t, { effect: "wrong_key", count: 1 });
    await fixture.happen("CONTRACT_SIGNED", "CONTRACT_SIGNED");
    const [request, good] = fixture.target.received;
    assert.deepEqual(request!.body, good!.body);
    assert.equal(isGenuine(fixture, request!), false);
    assert.equal(isGenuine(fixture, good!), true);
  });

  it("sends once after the given virtual time with delay", async (t) => {
    const fixture = await startWithFault(t, { effect: "delay", delay: "PT3M" });
    await fixture.happen("CONTRACT_SIGNED");
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED waiting"]);
    const { body } = await fixture.control("POST", "clock/advance", { body: { by: "PT10M" } });
    assert.deepEqual(
      (body as { ran: { kind: string; outcome: string }[] }).ran.map(({ kind, outcome }) => `${kind} ${outcome}`),
      ["deliver delivered"],
    );
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED delivered, +3 200"]);
  });

  it("does not delay a resend, whose caller waits for the response", async (t) => {
    const fixture = await startWithFault(t, { effect: "delay", activity: "CONTRACT_VOIDED" });
    await fixture.happen("CONTRACT_VOIDED");
    await fixture.control("POST", "deliveries/1/resend");
    assert.deepEqual(await fixture.log(), ["CONTRACT_VOIDED delivered, +0 200"]);
  });

  it("neither counts a resend as the postponed attempt nor blames the fault for it", async (t) => {
    const fixture = await startWithFault(t, { effect: "delay", delay: "PT3M" });
    fixture.target.respond(500);
    await fixture.happen("CONTRACT_SIGNED");
    await fixture.control("POST", "deliveries/1/resend");
    const read = async () => {
      const { body } = await fixture.control("GET", "deliveries/1");
      const { attempts, postponement } = body as Pick<Item, "attempts"> & { postponement: Fault | null };
      return [attempts.map(({ resend, fault }) => [resend, fault?.effect]), postponement?.effect];
    };
    assert.deepEqual(await read(), [[[true, undefined]], "delay"]);
    fixture.target.respond(200);
    await fixture.control("POST", "clock/advance", { body: { by: "PT10M" } });
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED delivered, +0 500, +3 200"]);
    const attempts = [
      [true, undefined],
      [false, "delay"],
    ];
    assert.deepEqual(await read(), [attempts, undefined]);
  });

  it("counts only scheduled attempts", async (t) => {
    const fixture = await startWithFault(t, { effect: "drop", attempt: 2 });
    fixture.target.respond(500);
    await fixture.happen("CONTRACT_SIGNED");
    await fixture.control("POST", "deliveries/1/resend");
    await fixture.control("POST", "clock/advance", { body: { by: "PT5M" } });
    assert.deepEqual(await fixture.log(), ["CONTRACT_SIGNED retrying, +0 500, +0 500, +5 dropped"]);
  });

  it("sends the next delivery first with reorder", async (t) => {
    const fixture = await startWithFault(t, { effect: "reorder", count: 1 });
    await fixture.happen("CONTRACT_SIGNED", "CONTRACT_EXECUTED");
    assert.deepEqual(listReceived(fixture), ["CONTRACT_EXECUTED"]);
    await fixture.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(listReceived(fixture), ["CONTRACT_EXECUTED", "CONTRACT_SIGNED"]);
  });

  it("moves a waiting delivery directly after the next one with reorder", async (t) => {
    const fixture = await startWithFault(t, { effect: "reorder", attempt: 2, count: 1 });
    fixture.target.respond(500);
    await fixture.happen("CONTRACT_SIGNED", "CONTRACT_EXECUTED");
    fixture.target.respond(200);
    await fixture.control("POST", "clock/advance", { body: { by: "PT6M" } });
    assert.deepEqual(listReceived(fixture).slice(2), ["CONTRACT_EXECUTED", "CONTRACT_SIGNED"]);
    assert.deepEqual(await fixture.log(), [
      `CONTRACT_SIGNED delivered, +0 500, +${5 + 1 / 60} 200`,
      "CONTRACT_EXECUTED delivered, +0 500, +5 200",
    ]);
  });

  const spared = [
    { webhook: 99 },
    { activity: "CONTRACT_VOIDED" },
    { contract: 99 },
    { attempt: 2 },
    { path: "/other/*" },
  ];
  for (const matcher of spared) {
    it(`does not affect attempts that do not match ${JSON.stringify(matcher)}`, async (t) => {
      const fixture = await startWithFault(t, { effect: "drop", ...matcher });
      await fixture.happen("CONTRACT_SIGNED");
      assert.deepEqual(listReceived(fixture), ["CONTRACT_SIGNED"]);
    });
  }

  for (const matcher of [{ webhook: 1 }, { activity: "CONTRACT_SIGNED" }, { contract: 1 }, { path: "/hooks/*" }]) {
    it(`matches attempts by ${JSON.stringify(matcher)}`, async (t) => {
      const fixture = await startWithFault(t, { effect: "drop", ...matcher });
      await fixture.happen("CONTRACT_SIGNED");
      assert.deepEqual(listReceived(fixture), []);
    });
  }

  it("ends with a reset", async (t) => {
    const { control } = await startWithFault(t, { effect: "drop" });
    assert.equal((await control("POST", "reset")).status, 204);
    assert.deepEqual((await control("GET", "faults")).body, []);
  });
});
