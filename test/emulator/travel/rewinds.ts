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
async function startStoredEmulator(
  createStoreOptions: StoreOptionsFactory,
  t: TestContext,
  more: EmulatorOptions = {},
) {
  const options = { deterministic: true, ...(await createStoreOptions(t)), ...more };
  return { options, emulator: await startTestEmulator(t, options) };
}

export async function rewind({ control }: TestEmulator, body: object): Promise<Record<string, unknown>> {
  const response = pickStatusAndBody(await control("POST", "rewind", { body }));
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return response.body as Record<string, unknown>;
}

/** The exported state, byte for byte. */
async function exportState({ controlUrl, token }: TestEmulator): Promise<string> {
  return (await fetch(`${controlUrl}/state`, { headers: { authorization: `Bearer ${token}` } })).text();
}

/** The trace reference of the newest request for an operation. */
async function findLastRequestRef({ control }: TestEmulator, operation: string): Promise<string> {
  const { body } = await control("GET", `requests?operation=${operation}`);
  const ids = (body as { items: { id: number }[] }).items.map(({ id }) => id);
  return `request:${Math.max(...ids)}`;
}

export const advance = ({ control }: TestEmulator, target: object) =>
  control("POST", "clock/advance", { body: target });
const listSnapshots = async ({ control }: TestEmulator) =>
  (await control("GET", "snapshots")).body as { name: string }[];

export const createRejection = (status: number, code: string, message: string, hint: string) => ({
  status,
  body: { error: { code, message, hint } },
});
export const savedStatesHint = "`svc emulator snapshot list` shows the saved states.";
/** The error if the history is complete. */
const createOutOfRangeResponse = (lacks: string, ...hints: readonly string[]) =>
  createRejection(
    409,
    "rewind_out_of_range",
    `Cannot rewind ${lacks}. It reaches back to the beginning of the state. Nothing was changed.`,
    [...hints, savedStatesHint].join(" "),
  );
const createMissingCauseResponse = (cause: string, newest: number) =>
  createRejection(
    409,
    "rewind_out_of_range",
    `Cannot rewind to before ${cause}, which does not exist: the newest number is ${newest}. Nothing was changed.`,
    `\`svc emulator requests\` lists the requests. ${savedStatesHint}`,
  );
const noHistory = createRejection(
  409,
  "no_history",
  "This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0.",
  "Save snapshots with `svc emulator snapshot save NAME`.",
);

/** Defines the tests of rewinding for one kind of store. */
export function testRewind(createStoreOptions: StoreOptionsFactory): void {
  it("undoes a clock advance with or without due entries, also on a running clock", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t, {
      deterministic: false,
      clock: { mode: "real", speed: 1 },
    });
    const sink = await startReceiver(t);
    sink.respond(503);
    const minutesSince = (begin: number) => Math.floor((emulator.clock.now() - begin) / 60_000);
    for (const isAnythingDue of [false, true]) {
      if (isAnythingDue) {
        const hook = { title: "x", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
        await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: hook });
        await createDraftContract(emulator.api);
        await emulator.control("GET", "wait?outcome=retrying");
      }
      const begin = emulator.clock.now();
      await advance(emulator, { by: "PT2H35M" });
      assert.equal(minutesSince(begin), 155);
      await rewind(emulator, { steps: 1 });
      assert.equal(minutesSince(begin), 0);
    }
    assert.equal(sink.received.length, 6);
  });

  for (const mode of ["manual", "real"] as const) {
    it(`does not count clock settings that change nothing as steps in clock mode ${mode}`, async (t) => {
      const more = mode === "manual" ? {} : { deterministic: false, clock: { mode } };
      const { emulator } = await startStoredEmulator(createStoreOptions, t, more);
      await createDraftContract(emulator.api);
      for (const body of [{ mode }, { speed: 1 }, { mode, speed: 1 }]) {
        assert.equal((await emulator.control("PUT", "clock", { body })).status, 200, JSON.stringify(body));
      }
      const { undone, steps } = await rewind(emulator, { steps: 1 });
      const [{ what } = { what: "" }] = steps as { what: string }[];
      assert.deepEqual([undone, what], [1, "contracts.create POST /api/v2.1/public/contracts/"]);
    });
  }

  it("does not count reads of the log as steps", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    const sink = await startReceiver(t);
    await createWebhook(emulator, sink.url);
    await createDraftContract(emulator.api);
    await advance(emulator, { until_idle: true });
    const content = await exportState(emulator);
    await advance(emulator, { by: "P31D" });
    assert.deepEqual((await emulator.control("GET", "deliveries")).body, { items: [], total: 0 });
    await emulator.control("GET", "trace?of=webhook:1");
    const { undone } = await rewind(emulator, { steps: 1 });
    assert.deepEqual([undone, await exportState(emulator)], [1, content]);
  });

  it("does not count changes of tokens as steps, since it does not undo them", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    await createDraftContract(emulator.api);
    for (const name of ["valid", "revoked"]) {
      assert.equal((await emulator.control("POST", `tokens/${name}`, { body: { role: "read" } })).status, 201);
    }
    assert.equal((await emulator.control("DELETE", "tokens/revoked")).status, 204);
    const { undone, steps } = await rewind(emulator, { steps: 1 });
    const whats = (steps as { what: string }[]).map(({ what }) => what);
    assert.deepEqual([undone, whats], [1, ["contracts.create POST /api/v2.1/public/contracts/"]]);
    const tokens = (await emulator.control("GET", "tokens")).body as { name: string }[];
    assert.deepEqual(
      tokens.map(({ name }) => name),
      ["valid"],
    );
  });

  it("restores the state exported before a request, from which the run repeats", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    const sink = await startReceiver(t);
    sink.respond(503);
    await createWebhook(emulator, sink.url);
    const contract = await createSentContract(emulator.api);
    await advance(emulator, { until_idle: true });
    const content = await exportState(emulator);
    const goOn = async () => {
      const from = sink.received.length;
      const signed = await emulator.control("POST", `contracts/${contract.id}/sign`, { body: {} });
      const response = await advance(emulator, { by: "PT2H35M" });
      const newContract = await createDraftContract(emulator.api);
      return {
        signed: signed.body,
        advanced: response.body,
        made: newContract,
        bytes: getRequestBytesSince(sink, from),
      };
    };
    const first = await goOn();
    const expectedState = await getState(emulator);
    const before = await findLastRequestRef(emulator, "emulator-contracts.sign");
    const { undone, steps, ...rest } = await rewind(emulator, { before });
    assert.deepEqual(rest, { now: "2031-01-02T08:19:05.000Z", backup_snapshot: "before-1", dropped: [] });
    // The signature, the clock advance, and the created contract.
    assert.equal(undone, 3);
    const toCommand = ({ what, contract }: { what: string; contract: string | null }) => [what.split(" ")[0], contract];
    assert.deepEqual((steps as { what: string; contract: string | null }[]).map(toCommand), [
      ["contracts.create", "T-2"],
      ["clock.advance", null],
      ["emulator-contracts.sign", "T-1"],
    ]);
    assert.equal(await exportState(emulator), content);
    // The numbers of the undone requests are reused.
    const { body } = await emulator.control("GET", `requests?id=${before.replace("request:", "")}`);
    const { items } = body as { items: readonly { operation: string }[] };
    assert.deepEqual(items.map(({ operation }) => operation).sort(), ["emulator-contracts.sign", "state.export"]);
    assert.deepEqual(await goOn(), first);
    await restore(emulator, "before-1");
    assert.deepEqual(await getState(emulator), expectedState);
  });

  it("undoes one request or clock advance at a time, also after restarts", async (t) => {
    const { emulator, options } = await startStoredEmulator(createStoreOptions, t);
    const states = [await exportState(emulator)];
    for (const step of [
      () => createDraftContract(emulator.api),
      () => advance(emulator, { by: "PT1H" }),
      () => createDraftContract(emulator.api),
    ]) {
      await step();
      states.push(await exportState(emulator));
    }
    await emulator.close();
    const restartedEmulator = await startTestEmulator(t, options);
    await createDraftContract(restartedEmulator.api);
    await rewind(restartedEmulator, { steps: 1 });
    // The restart began a new sequence of IDs.
    const { rows } = JSON.parse(states[3]!);
    assert.deepEqual(JSON.parse(await exportState(restartedEmulator)).rows, rows);
    await rewind(restartedEmulator, { steps: 1 });
    assert.equal(await exportState(restartedEmulator), states[2]);
    await rewind(restartedEmulator, { steps: 2 });
    assert.equal(await exportState(restartedEmulator), states[0]);
    assert.deepEqual(
      pickStatusAndBody(await restartedEmulator.control("POST", "rewind", { body: { steps: 1 } })),
      createOutOfRangeResponse("1 step: the history is empty"),
    );
  });

  for (const mode of ["manual", "real"] as const) {
    it(`undoes a signature and its internal requests in clock mode ${mode}`, async (t) => {
      const { emulator } = await startStoredEmulator(
        createStoreOptions,
        t,
        mode === "manual" ? {} : { deterministic: false, clock: { mode } },
      );
      const countThings = async () => {
        const { rows, mappings } = JSON.parse(await exportState(emulator));
        // In mode real, activities after a response may precede or follow the export.
        return mode === "real" ? rows.contracts : { rows: { ...rows, clock: [] }, mappings };
      };
      let id = "";
      const steps = [
        async () => {
          id = (await createDraftContract(emulator.api)).id;
        },
        () => emulator.api("POST", `/api/v2.1/public/contracts/${id}/send_to_counterparties`),
        () => emulator.control("POST", `contracts/${id}/sign`, { body: {} }),
      ];
      const states: object[] = [];
      for (const step of steps) {
        states.push(await countThings());
        await step();
      }
      for (const state of states.reverse()) {
        assert.equal((await rewind(emulator, { steps: 1 })).undone, 1);
        assert.deepEqual(await countThings(), state);
      }
    });
  }

  it("restores the state and the time of a given virtual time", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    const sink = await startReceiver(t);
    sink.respond(503);
    await createWebhook(emulator, sink.url);
    await createDraftContract(emulator.api);
    await advance(emulator, { by: "PT9M" });
    const rows = JSON.parse(await exportState(emulator)).rows;
    await advance(emulator, { by: "PT5H" });
    const { now } = await rewind(emulator, { to: "2031-01-02T03:13:05.000Z" });
    assert.equal(now, "2031-01-02T03:13:05.000Z");
    assert.deepEqual(JSON.parse(await exportState(emulator)).rows, rows);
    await rewind(emulator, { to: "2031-01-02T03:10:00.000Z" });
    assert.equal(emulator.clock.now(), Date.parse("2031-01-02T03:10:00.000Z"));
    const { body } = await emulator.control("GET", "deliveries");
    const [delivery] = (body as { items: { attempts: unknown[]; next_attempt_at: string }[] }).items;
    assert.deepEqual([delivery!.attempts.length, delivery!.next_attempt_at], [2, "2031-01-02T03:19:05.000Z"]);
  });

  it("follows the history of the snapshot after a restore", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    await createDraftContract(emulator.api);
    const value = await exportState(emulator);
    await createDraftContract(emulator.api);
    await emulator.snapshot("two");
    await createDraftContract(emulator.api);
    const third = await findLastRequestRef(emulator, "contracts.create");
    await restore(emulator, "two");
    await assertRejected(
      emulator,
      () => emulator.control("POST", "rewind", { body: { before: third } }),
      createOutOfRangeResponse(`to before ${third}: the history does not include it`),
    );
    await rewind(emulator, { steps: 1 });
    assert.equal(await exportState(emulator), value);
  });

  it("starts a new history with an imported or reset state", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    await createDraftContract(emulator.api);
    await emulator.control("POST", "reset");
    const reset = await exportState(emulator);
    await createDraftContract(emulator.api);
    await rewind(emulator, { steps: 1 });
    assert.equal(await exportState(emulator), reset);
    const { status } = await emulator.control("POST", "rewind", { body: { steps: 1 } });
    assert.equal(status, 409);
  });

  it("saves no backup if it undoes no step", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    await createDraftContract(emulator.api);
    await rewind(emulator, { steps: 1 });
    await createDraftContract(emulator.api);
    const state = await getState(emulator);
    const now = "2031-01-02T03:04:05.000Z";
    for (let i = 0; i < 11; i += 1) {
      assert.deepEqual(await rewind(emulator, { to: now }), {
        now,
        backup_snapshot: null,
        undone: 0,
        steps: [],
        dropped: [],
      });
    }
    assert.deepEqual(await getState(emulator), state);
    assert.deepEqual(
      (await listSnapshots(emulator)).map(({ name }) => name),
      ["before-1"],
    );
  });

  it("is available to programs", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    const state = await getState(emulator);
    await createDraftContract(emulator.api);
    assert.deepEqual(await emulator.rewind({ steps: 1 }), { backupSnapshot: "before-1" });
    assert.deepEqual(await getState(emulator), state);
    for (const target of [{ steps: 0 }, { before: "T 1" }, { to: "yesterday" }]) {
      await assert.rejects(emulator.rewind(target), { name: "InvalidOptionsError" });
    }
    await assert.rejects(emulator.rewind({ before: "request:99" }), { name: "RewindOutOfRangeError" });
  });
}

/** Defines the tests of rejected rewinds, which change nothing, for one kind of store. */
export function testRejectedRewind(createStoreOptions: StoreOptionsFactory): void {
  it("rejects a future time (time-in-future) and an unknown cause (rewind-out-of-range)", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t);
    await createDraftContract(emulator.api);
    const ahead = "Cannot rewind to the future: virtual time is 2031-01-02T03:04:05.000Z.";
    const cases: [object, ReturnType<typeof createRejection>][] = [
      [
        { to: "2031-01-02T03:04:06Z" },
        createRejection(400, "time_in_future", ahead, "Advance the clock with `svc emulator clock advance`."),
      ],
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
    for (const [body, expected] of cases)
      await assertRejected(emulator, () => emulator.control("POST", "rewind", { body }), expected);
    for (const before of ["request:999", "advance:999"]) {
      const response = pickStatusAndBody(await emulator.control("POST", "rewind", { body: { before } }));
      // The rewind is a request too, and the newest.
      const newest = Number((await findLastRequestRef(emulator, "snapshots.rewind")).replace("request:", ""));
      assert.deepEqual(response, createMissingCauseResponse(before, newest));
    }
    for (const body of [{}, { steps: 1, before: "request:1" }, { steps: 0 }, { before: "../x" }]) {
      assert.equal((await emulator.control("POST", "rewind", { body })).status, 400, JSON.stringify(body));
    }
    assert.deepEqual(await listSnapshots(emulator), []);
  });

  it("returns no-history in memory and without a history", async (t) => {
    const { emulator } = await startStoredEmulator(createStoreOptions, t, { historyBytes: 0 });
    for (const anyEmulator of [emulator, await startTestEmulator(t)]) {
      await createDraftContract(anyEmulator.api);
      await assertRejected(anyEmulator, () => anyEmulator.control("POST", "rewind", { body: { steps: 1 } }), noHistory);
    }
  });
}
