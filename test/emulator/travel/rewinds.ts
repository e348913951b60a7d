import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import type { StoreOptionsFactory } from "../../support/postgres/each-store.ts";
import { startReceiver } from "../../support/receiver.ts";
import { assertRejected } from "../../support/rejections.ts";
import { createWebhook, getRequestBytesSince, getState, restore } from "./travel.ts";

/** An emulator with a stored state and a stopped clock. */
async function startStoredEmulator(place: StoreOptionsFactory, t: TestContext, more: EmulatorOptions = {}) {
  const options = { deterministic: true, ...(await place(t)), ...more };
  return { options, on: await startTestEmulator(t, options) };
}

export async function rewind({ ask }: TestEmulator, body: object): Promise<Record<string, unknown>> {
  const answer = pickStatusAndBody(await ask("POST", "rewind", { body }));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as Record<string, unknown>;
}

/** The exported state, byte for byte. */
async function exportState({ controlUrl, token }: TestEmulator): Promise<string> {
  return (await fetch(`${controlUrl}/state`, { headers: { authorization: `Bearer ${token}` } })).text();
}

/** The trace reference of the newest request for an operation. */
async function findLastRequestRef({ ask }: TestEmulator, operation: string): Promise<string> {
  const { body } = await ask("GET", `requests?operation=${operation}`);
  const ids = (body as { items: { id: number }[] }).items.map(({ id }) => id);
  return `request:${Math.max(...ids)}`;
}

export const advance = ({ ask }: TestEmulator, target: object) => ask("POST", "clock/advance", { body: target });
const listSnapshots = async ({ ask }: TestEmulator) => (await ask("GET", "snapshots")).body as { name: string }[];

export const refusal = (status: number, code: string, message: string, hint: string) => ({
  status,
  body: { error: { code, message, hint } },
});
export const keptBesides = "`svc emulator snapshot list` shows the saved states.";
/** The error if the history is complete. */
const createOutOfRangeResponse = (lacks: string, ...hints: readonly string[]) =>
  refusal(
    409,
    "rewind_out_of_range",
    `Cannot rewind ${lacks}. It reaches back to the beginning of the state. Nothing was changed.`,
    [...hints, keptBesides].join(" "),
  );
const noHistory = refusal(
  409,
  "no_history",
  "This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0.",
  "Save snapshots with `svc emulator snapshot save NAME`.",
);

/** Defines the tests of rewinding for one kind of store. */
export function testRewind(place: StoreOptionsFactory): void {
  it("undoes a clock advance with or without due entries, also on a running clock", async (t) => {
    const { on } = await startStoredEmulator(place, t, { deterministic: false, clock: { mode: "real", speed: 1 } });
    const sink = await startReceiver(t);
    sink.answer(503);
    const minutesSince = (begin: number) => Math.floor((on.clock.now() - begin) / 60_000);
    for (const isAnythingDue of [false, true]) {
      if (isAnythingDue) {
        const hook = { title: "x", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
        await on.api("POST", "/api/v2.1/public/webhooks/", { body: hook });
        await createDraftContract(on.api);
        await on.ask("GET", "wait?outcome=retrying");
      }
      const begin = on.clock.now();
      await advance(on, { by: "PT2H35M" });
      assert.equal(minutesSince(begin), 155);
      await rewind(on, { steps: 1 });
      assert.equal(minutesSince(begin), 0);
    }
    assert.equal(sink.received.length, 6);
  });

  it("does not count reads of the log as steps", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    const sink = await startReceiver(t);
    await createWebhook(on, sink.url);
    await createDraftContract(on.api);
    await advance(on, { until_idle: true });
    const there = await exportState(on);
    await advance(on, { by: "P31D" });
    assert.deepEqual((await on.ask("GET", "deliveries")).body, { items: [], total: 0 });
    await on.ask("GET", "trace?of=webhook:1");
    const { undone } = await rewind(on, { steps: 1 });
    assert.deepEqual([undone, await exportState(on)], [1, there]);
  });

  it("restores the state exported before a request, from which the run repeats", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    const sink = await startReceiver(t);
    sink.answer(503);
    await createWebhook(on, sink.url);
    const contract = await createSentContract(on.api);
    await advance(on, { until_idle: true });
    const there = await exportState(on);
    const goOn = async () => {
      const from = sink.received.length;
      const signed = await on.ask("POST", `contracts/${contract.id}/sign`, { body: {} });
      const advanced = await advance(on, { by: "PT2H35M" });
      const made = await createDraftContract(on.api);
      return { signed: signed.body, advanced: advanced.body, made, bytes: getRequestBytesSince(sink, from) };
    };
    const first = await goOn();
    const left = await getState(on);
    const before = await findLastRequestRef(on, "emulator-contracts.sign");
    const { undone, ...rest } = await rewind(on, { before });
    assert.deepEqual(rest, { now: "2031-01-02T08:19:05.000Z", backup_snapshot: "before-1", dropped: [] });
    // The signature, the clock advance, and the created contract.
    assert.equal(undone, 3);
    assert.equal(await exportState(on), there);
    assert.deepEqual(await goOn(), first);
    await restore(on, "before-1");
    assert.deepEqual(await getState(on), left);
  });

  it("undoes one request or clock advance at a time, also after restarts", async (t) => {
    const { on, options } = await startStoredEmulator(place, t);
    const states = [await exportState(on)];
    for (const step of [
      () => createDraftContract(on.api),
      () => advance(on, { by: "PT1H" }),
      () => createDraftContract(on.api),
    ]) {
      await step();
      states.push(await exportState(on));
    }
    await on.close();
    const again = await startTestEmulator(t, options);
    await createDraftContract(again.api);
    await rewind(again, { steps: 1 });
    // The restart began a new sequence of IDs.
    const { rows } = JSON.parse(states[3]!);
    assert.deepEqual(JSON.parse(await exportState(again)).rows, rows);
    await rewind(again, { steps: 1 });
    assert.equal(await exportState(again), states[2]);
    await rewind(again, { steps: 2 });
    assert.equal(await exportState(again), states[0]);
    assert.deepEqual(
      pickStatusAndBody(await again.ask("POST", "rewind", { body: { steps: 1 } })),
      createOutOfRangeResponse("1 step: the history is empty"),
    );
  });

  for (const mode of ["manual", "real"] as const) {
    it(`undoes a signature and its internal requests in clock mode ${mode}`, async (t) => {
      const { on } = await startStoredEmulator(
        place,
        t,
        mode === "manual" ? {} : { deterministic: false, clock: { mode } },
      );
      const things = async () => {
        const { rows, mappings } = JSON.parse(await exportState(on));
        // In mode real, activities after a response may precede or follow the export.
        return mode === "real" ? rows.contracts : { rows: { ...rows, clock: [] }, mappings };
      };
      let id = "";
      const steps = [
        async () => {
          id = (await createDraftContract(on.api)).id;
        },
        () => on.api("POST", `/api/v2.1/public/contracts/${id}/send_to_counterparties`),
        () => on.ask("POST", `contracts/${id}/sign`, { body: {} }),
      ];
      const states: object[] = [];
      for (const step of steps) {
        states.push(await things());
        await step();
      }
      for (const state of states.reverse()) {
        assert.equal((await rewind(on, { steps: 1 })).undone, 1);
        assert.deepEqual(await things(), state);
      }
    });
  }

  it("restores the state and the time of a given virtual time", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    const sink = await startReceiver(t);
    sink.answer(503);
    await createWebhook(on, sink.url);
    await createDraftContract(on.api);
    await advance(on, { by: "PT9M" });
    const there = JSON.parse(await exportState(on)).rows;
    await advance(on, { by: "PT5H" });
    const { now } = await rewind(on, { to: "2031-01-02T03:13:05.000Z" });
    assert.equal(now, "2031-01-02T03:13:05.000Z");
    assert.deepEqual(JSON.parse(await exportState(on)).rows, there);
    await rewind(on, { to: "2031-01-02T03:10:00.000Z" });
    assert.equal(on.clock.now(), Date.parse("2031-01-02T03:10:00.000Z"));
    const { body } = await on.ask("GET", "deliveries");
    const [delivery] = (body as { items: { attempts: unknown[]; next_attempt_at: string }[] }).items;
    assert.deepEqual([delivery!.attempts.length, delivery!.next_attempt_at], [2, "2031-01-02T03:19:05.000Z"]);
  });

  it("follows the history of the snapshot after a restore", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    await createDraftContract(on.api);
    const one = await exportState(on);
    await createDraftContract(on.api);
    await on.snapshot("two");
    await createDraftContract(on.api);
    const third = await findLastRequestRef(on, "contracts.create");
    await restore(on, "two");
    await assertRejected(
      on,
      () => on.ask("POST", "rewind", { body: { before: third } }),
      createOutOfRangeResponse(`to before ${third}: the history does not include it`),
    );
    await rewind(on, { steps: 1 });
    assert.equal(await exportState(on), one);
  });

  it("starts a new history with an imported or reset state", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    await createDraftContract(on.api);
    await on.ask("POST", "reset");
    const reset = await exportState(on);
    await createDraftContract(on.api);
    await rewind(on, { steps: 1 });
    assert.equal(await exportState(on), reset);
    const { status } = await on.ask("POST", "rewind", { body: { steps: 1 } });
    assert.equal(status, 409);
  });

  it("saves no backup if it undoes no step", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    await createDraftContract(on.api);
    await rewind(on, { steps: 1 });
    await createDraftContract(on.api);
    const state = await getState(on);
    const now = "2031-01-02T03:04:05.000Z";
    for (let i = 0; i < 11; i += 1) {
      assert.deepEqual(await rewind(on, { to: now }), { now, backup_snapshot: null, undone: 0, dropped: [] });
    }
    assert.deepEqual(await getState(on), state);
    assert.deepEqual(
      (await listSnapshots(on)).map(({ name }) => name),
      ["before-1"],
    );
  });

  it("is available to programs", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    const state = await getState(on);
    await createDraftContract(on.api);
    assert.deepEqual(await on.rewind({ steps: 1 }), { backupSnapshot: "before-1" });
    assert.deepEqual(await getState(on), state);
    for (const target of [{ steps: 0 }, { before: "T 1" }, { to: "yesterday" }]) {
      await assert.rejects(on.rewind(target), { name: "InvalidOptionsError" });
    }
    await assert.rejects(on.rewind({ before: "request:99" }), { name: "RewindOutOfRangeError" });
  });
}

/** Defines the tests of rejected rewinds, which change nothing, for one kind of store. */
export function testRejectedRewind(place: StoreOptionsFactory): void {
  it("rejects a future time (time-in-future) and an unknown cause (rewind-out-of-range)", async (t) => {
    const { on } = await startStoredEmulator(place, t);
    await createDraftContract(on.api);
    const ahead = "Cannot rewind to the future: virtual time is 2031-01-02T03:04:05.000Z.";
    const cases: [object, ReturnType<typeof refusal>][] = [
      [
        { to: "2031-01-02T03:04:06Z" },
        refusal(400, "time_in_future", ahead, "Advance the clock with `svc emulator clock advance`."),
      ],
      [{ before: "request:999" }, createOutOfRangeResponse("to before request:999: the history does not include it")],
      [
        { before: "event:1" },
        createOutOfRangeResponse(
          "to before event:1: the history does not include it",
          "Use a cause, such as request:12. `svc emulator trace REF` shows it.",
        ),
      ],
      [
        { steps: 50 },
        createOutOfRangeResponse(
          "50 steps: the history has 1",
          "`svc emulator rewind --steps 1` goes back to its beginning.",
        ),
      ],
      [
        { to: "2030-01-01T00:00:00Z" },
        createOutOfRangeResponse("to 2030-01-01T00:00:00Z: the history does not include that time"),
      ],
    ];
    for (const [body, expected] of cases) await assertRejected(on, () => on.ask("POST", "rewind", { body }), expected);
    for (const body of [{}, { steps: 1, before: "request:1" }, { steps: 0 }, { before: "../x" }]) {
      assert.equal((await on.ask("POST", "rewind", { body })).status, 400, JSON.stringify(body));
    }
    assert.deepEqual(await listSnapshots(on), []);
  });

  it("returns no-history in memory and without a history", async (t) => {
    const { on } = await startStoredEmulator(place, t, { historyBytes: 0 });
    for (const one of [on, await startTestEmulator(t)]) {
      await createDraftContract(one.api);
      await assertRejected(one, () => one.ask("POST", "rewind", { body: { steps: 1 } }), noHistory);
    }
  });
}
