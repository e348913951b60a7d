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
    const emulator = await startTestEmulator(t, { deterministic: true });
    const sink = await startReceiver(t);
    sink.respond(503);
    await createWebhook(emulator, sink.url);
    const contract = await createSentContract(emulator.api);
    await save(emulator, "sent");

    const goOn = async () => {
      const from = sink.received.length;
      const signed = await emulator.control("POST", `contracts/${contract.id}/sign`, { body: {} });
      const response = await emulator.control("POST", "clock/advance", { body: { by: "PT2H35M" } });
      const created = await createDraftContract(emulator.api);
      const details = await emulator.api("GET", `/api/v2.1/public/contracts/${created.id}/`);
      return {
        signed: signed.body,
        advanced: response.body,
        details: details.body,
        bytes: getRequestBytesSince(sink, from),
      };
    };
    const first = await goOn();
    assert.equal(first.bytes.length, 5);
    assert.equal((await restore(emulator, "sent")).now, "2031-01-02T03:04:05.000Z");
    assert.deepEqual(await goOn(), first);
  });

  it("restores the saved state and backs up the previous one", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    await save(emulator, "drafted");
    const saved = await getState(emulator);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    const otherContract = await createDraftContract(emulator.api);
    const expectedState = await getState(emulator);

    assert.deepEqual(await restore(emulator, "drafted"), {
      name: "drafted",
      now: "2031-01-02T03:04:05.000Z",
      backup_snapshot: "before-1",
      dropped: [],
    });
    assert.deepEqual(await getState(emulator), saved);
    assert.equal((await restore(emulator, "before-1")).backup_snapshot, "before-2");
    assert.deepEqual(await getState(emulator), expectedState);
    assert.deepEqual(
      [await getContractStatus(emulator.api, contract), await getContractStatus(emulator.api, otherContract)],
      ["DRAFT", "DRAFT"],
    );
  });

  it("backs up the state before the first of several restores, and only changes", async (t) => {
    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    await createDraftContract(emulator.api);
    await save(emulator, "drafted");
    await createDraftContract(emulator.api);
    const restored = await Promise.all([
      restore(emulator, "drafted"),
      restore(emulator, "drafted"),
      restore(emulator, "drafted"),
    ]);
    assert.deepEqual(
      restored.map((each) => each.backup_snapshot),
      ["before-1", null, null],
    );
  });

  it("marks requests of the previous state, because their numbers are reused", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await save(emulator, "drafted");
    await createDraftContract(emulator.api);
    await restore(emulator, "drafted");
    await createDraftContract(emulator.api);
    const { body } = await emulator.control("GET", "requests?operation=contracts.create");
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
    for (const id of now) assert.equal((await emulator.control("GET", `traces/request:${id}`)).status, 200);
  });

  it("marks a stream of the previous state that ends after its number was reused", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "empty");
    const client = new AbortController();
    const headers = { authorization: `Bearer ${emulator.token}` };
    const watch = (query: string, signal = t.signal) =>
      fetch(`${emulator.controlUrl}/requests/events?${query}`, { headers, signal });
    assert.equal((await watch("service=router", client.signal)).status, 200);
    const { body: ends } = await watch("operation=requests.watch&reads=true");
    await restore(emulator, "empty");
    for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
    client.abort();
    for await (const chunk of ends!) if (Buffer.from(chunk).includes("requests.watch")) break;
    const { body } = await emulator.control("GET", "requests?id=2&reads=true");
    assert.deepEqual(
      (body as { items: { operation: string; replaced?: true }[] }).items.map((item) => [
        item.operation,
        item.replaced,
      ]),
      [
        ["contracts.create", undefined],
        ["requests.watch", true],
      ],
    );
  });

  it("uses separate names for concurrent backups", async (t) => {
    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    const saved = await Promise.all([1, 2].map(() => emulator.control("PUT", "snapshots/twice")));
    assert.deepEqual(saved.map(({ status }) => status).sort(), [201, 409]);
  });
});
