import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createDraftContract, createSentContract, getContractStatus } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createWebhook, getRequestBytesSince, getState, restore, save } from "./travel.ts";

describe("snapshot restore", () => {
  it("repeats the same run byte for byte, with the same time, IDs and retries", async (t) => {
    const on = await startTestEmulator(t, { deterministic: true });
    const sink = await startReceiver(t);
    sink.answer(503);
    await createWebhook(on, sink.url);
    const contract = await createSentContract(on.api);
    await save(on, "sent");

    const goOn = async () => {
      const from = sink.received.length;
      const signed = await on.ask("POST", `contracts/${contract.id}/sign`, { body: {} });
      const advanced = await on.ask("POST", "clock/advance", { body: { by: "PT2H35M" } });
      const made = await createDraftContract(on.api);
      const details = await on.api("GET", `/api/v2.1/public/contracts/${made.id}/`);
      return {
        signed: signed.body,
        advanced: advanced.body,
        details: details.body,
        bytes: getRequestBytesSince(sink, from),
      };
    };
    const first = await goOn();
    assert.equal(first.bytes.length, 5);
    assert.equal((await restore(on, "sent")).now, "2031-01-02T03:04:05.000Z");
    assert.deepEqual(await goOn(), first);
  });

  it("restores the saved state and backs up the previous one", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    await save(on, "drafted");
    const saved = await getState(on);
    await on.ask("POST", "clock/advance", { body: { by: "PT1H" } });
    const other = await createDraftContract(on.api);
    const left = await getState(on);

    assert.deepEqual(await restore(on, "drafted"), {
      name: "drafted",
      now: "2031-01-02T03:04:05.000Z",
      backup_snapshot: "before-1",
      dropped: [],
    });
    assert.deepEqual(await getState(on), saved);
    assert.equal((await restore(on, "before-1")).backup_snapshot, "before-2");
    assert.deepEqual(await getState(on), left);
    assert.deepEqual(
      [await getContractStatus(on.api, contract), await getContractStatus(on.api, other)],
      ["DRAFT", "DRAFT"],
    );
  });

  it("backs up the state before the first of several restores, and only changes", async (t) => {
    const on = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    await createDraftContract(on.api);
    await save(on, "drafted");
    await createDraftContract(on.api);
    const restored = await Promise.all([restore(on, "drafted"), restore(on, "drafted"), restore(on, "drafted")]);
    assert.deepEqual(
      restored.map((each) => each.backup_snapshot),
      ["before-1", null, null],
    );
  });

  it("marks requests of the previous state, because their numbers are reused", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    await save(on, "drafted");
    await createDraftContract(on.api);
    await restore(on, "drafted");
    await createDraftContract(on.api);
    const { body } = await on.ask("GET", "requests?operation=contracts.create");
    const rows = (body as { items: { id: number; replaced?: true }[] }).items.map(({ id, replaced = false }) => ({
      id,
      replaced,
    }));
    assert.deepEqual(
      rows.map(({ replaced }) => replaced),
      [false, true, false],
    );
    const now = rows.filter(({ replaced }) => !replaced).map(({ id }) => id);
    assert.equal(new Set(now).size, now.length);
    for (const id of now) assert.equal((await on.ask("GET", `traces/request:${id}`)).status, 200);
  });

  it("uses separate names for concurrent backups", async (t) => {
    const on = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    const saved = await Promise.all([1, 2].map(() => on.ask("PUT", "snapshots/twice")));
    assert.deepEqual(saved.map(({ status }) => status).sort(), [201, 409]);
  });
});
