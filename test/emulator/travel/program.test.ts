import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Emulator } from "../../../emulator/index.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createDraftContract, createSentContract, getContractStatus } from "../../support/contracts.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createWebhook, getRequestBytesSince, getState } from "./travel.ts";

describe("snapshot API of the library", () => {
  it("saves the state and restores it by name or by the returned value", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const at = emulator.clock.now();
    assert.deepEqual(await emulator.snapshot("drafted"), { name: "drafted", at });
    const drafted = await getState(emulator);
    const unnamedSnapshot = await emulator.snapshot();
    assert.deepEqual(unnamedSnapshot, { name: "snapshot-1", at });
    assert.deepEqual(await emulator.snapshot(), { name: "snapshot-2", at });

    await emulator.clock.advance({ by: "PT1H" });
    const otherContract = await createDraftContract(emulator.api);
    assert.deepEqual(await emulator.restore("drafted"), { backupSnapshot: "before-1" });
    assert.deepEqual([await getState(emulator), emulator.clock.now()], [drafted, at]);
    assert.deepEqual(await emulator.restore("before-1"), { backupSnapshot: "before-2" });
    assert.equal(await getContractStatus(emulator.api, otherContract), "DRAFT");
    assert.deepEqual(await emulator.restore(unnamedSnapshot), { backupSnapshot: "before-3" });
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
    assert.deepEqual(await getState(emulator), drafted);
  });

  it("rejects an existing, empty or reserved name and a missing snapshot", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.snapshot("taken");
    const existsMessage = "Snapshot taken already exists. Use another name, or { replace: true }";
    await assert.rejects(emulator.snapshot("Taken"), { name: "SnapshotExistsError", message: existsMessage });
    assert.equal((await emulator.snapshot("Taken", { replace: true })).name, "Taken");
    for (const name of ["../state", "", "before-1"])
      await assert.rejects(emulator.snapshot(name), { name: "InvalidOptionsError" });
    const message = "Snapshot gone not found. Known: Taken";
    await assert.rejects(emulator.restore("gone"), { name: "SnapshotNotFoundError", message: message });
    await assert.rejects(emulator.restore(undefined as never), {
      name: "SnapshotNotFoundError",
      message: "Snapshot undefined not found. Known: Taken",
    });
  });

  it("rejects a rewind without a history or to a time not in the past", async (t) => {
    const message = "The emulator has no history. Start it with a file or a store, and with historyBytes " + "above 0";
    await assert.rejects((await startTestEmulator(t)).rewind({ steps: 1 }), {
      name: "HistoryUnavailableError",
      message,
    });

    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    await assert.rejects(emulator.rewind({ to: "2031-01-02T03:04:06Z" }), {
      name: "RewindTargetInFutureError",
      message: "Cannot rewind to the future: virtual time is 2031-01-02T03:04:05.000Z",
    });
    for (const [target, problem] of [
      [undefined, "Invalid input: expected object, received undefined"],
      [5, "Invalid input: expected object, received number"],
      [{ to: Number.NaN }, "Invalid ISO datetime"],
      [{ to: 5, steps: 1 }, "exactly one of to, before and steps is required"],
    ] as const)
      await assert.rejects(emulator.rewind(target as never), {
        name: "InvalidOptionsError",
        message: `emulator.rewind: ${problem}`,
      });
    await assert.rejects(emulator.rewind({ steps: 7 }), {
      name: "RewindOutOfRangeError",
      message: "The history does not reach back that far. It has 0 requests and clock advances",
    });
  });
});

describe("fork of an emulator", () => {
  it("starts with the current state on separate ports without affecting the original", async (t) => {
    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    const contract = await createSentContract(emulator.api);
    await emulator.clock.advance({ by: "PT1M" });
    const state = await getState(emulator);
    const fork = await forkEmulator(t, emulator);
    assert.deepEqual(await getState(fork), state);
    assert.deepEqual([fork.file, fork.clock.mode, fork.clock.now()], [undefined, "manual", emulator.clock.now()]);
    const listAddresses = ({ routerUrl, clusters, token }: Emulator) => [
      routerUrl,
      token,
      ...clusters.map(({ url }) => url),
    ];
    assert.deepEqual(
      listAddresses(fork).filter((address) => listAddresses(emulator).includes(address)),
      [],
    );

    assert.equal((await fork.control("POST", `contracts/${contract.id}/sign`, { body: {} })).status, 200);
    await fork.clock.advance({ by: "PT1H" });
    assert.deepEqual(
      [await getContractStatus(fork.api, contract), await getContractStatus(emulator.api, contract)],
      ["EXECUTED", "SIGN"],
    );
    assert.deepEqual(await getState(emulator), state);
    const { body: snapshots } = await emulator.control("GET", "snapshots");
    assert.deepEqual(snapshots, []);
  });

  it("does not report the seed of the original as unused", async (t) => {
    const lines: string[] = [];
    const emulator = await startTestEmulator(t, { seed: "empty", log: (line) => lines.push(line) });
    await forkEmulator(t, emulator);
    assert.deepEqual(lines, []);
  });

  it("continues byte for byte like the original, even after the original closes", async (t) => {
    const emulator = await startTestEmulator(t, { deterministic: true });
    const sink = await startReceiver(t);
    sink.respond(503);
    await createWebhook(emulator, sink.url);
    await createDraftContract(emulator.api);
    const fork = await forkEmulator(t, emulator);
    const goOn = async (anyEmulator: TestEmulator) => {
      const from = sink.received.length;
      const advanced = await anyEmulator.clock.advance({ by: "PT2H35M" });
      const contract = await createDraftContract(anyEmulator.api);
      await anyEmulator.clock.advance({ untilIdle: true });
      return { advanced, contract, bytes: getRequestBytesSince(sink, from) };
    };
    const first = await goOn(emulator);
    await emulator.close();
    assert.equal(first.bytes.length, 5);
    assert.deepEqual(await goOn(fork), first);
  });

  it("copies uploads and scripted faults of the original", async (t) => {
    const emulator = await startTestEmulator(t);
    const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await emulator.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: url, file_id }] = (body as { files: [{ upload_url: string; file_id: string }] }).files;
    assert.equal(
      (await fetch(url, { method: "PUT", body: "bytes", headers: { "content-type": "application/pdf" } })).status,
      200,
    );
    await emulator.control("POST", "faults", {
      body: { direction: "incoming", operation: "contracts.create", status: 503, count: 1 },
    });
    const fork = await forkEmulator(t, emulator);
    const response = await fork.api("GET", `/api/v2.1/public/workspace/files/${file_id}/`);
    const { signed_url } = response.body as { signed_url: string };
    assert.ok(signed_url.startsWith(fork.clusters[0]!.url), signed_url);
    assert.equal(await (await fetch(signed_url)).text(), "bytes");
    const create = async ({ api }: TestEmulator) =>
      (await api("POST", "/api/v2.1/public/contracts/", { body: {} })).status;
    assert.deepEqual([await create(fork), await create(fork), await create(emulator)], [503, 400, 503]);
  });

  it("requires a running emulator", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.close();
    const closed = { name: "EmulatorClosedError", message: /^The emulator is closed/ };
    await assert.rejects(emulator.fork(), closed);
    await assert.rejects(emulator.snapshot(), closed);
    await assert.rejects(emulator.restore("any"), closed);
    await assert.rejects(emulator.rewind({ steps: 1 }), closed);
    await assert.rejects(emulator.clock.advance({ by: 1 }), closed);
  });

  it("can be forked again, several times concurrently", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const forks = await Promise.all([forkEmulator(t, emulator), forkEmulator(t, emulator), forkEmulator(t, emulator)]);
    const restartedEmulator = await forkEmulator(t, forks[0]);
    for (const fork of [...forks, restartedEmulator])
      assert.equal(await getContractStatus(fork.api, contract), "DRAFT");
    assert.equal(new Set([...forks, restartedEmulator].map(({ routerUrl }) => routerUrl)).size, 4);
  });
});

/** A fork that closes at the end of the test. */
async function forkEmulator(t: TestContext, emulator: Emulator): Promise<TestEmulator> {
  const fork = await emulator.fork();
  t.after(() => fork.close());
  const [{ url, clientId, clientSecret }] = fork.clusters as [Emulator["clusters"][number]];
  return Object.assign(fork, {
    router: createSender(fork.routerUrl),
    api: createSender(url, { "client-id": clientId ?? "", "client-secret": clientSecret ?? "" }),
    control: createSender(fork.controlUrl, { authorization: `Bearer ${fork.token}` }),
  });
}
