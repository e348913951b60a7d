import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contracts } from "../../../emulator/cluster/contracts/rows.ts";
import { signatories } from "../../../emulator/router/mapping/tables.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { compareStates } from "../../../emulator/travel/diff/compare.ts";
import { describeDiff } from "../../../emulator/travel/diff/describe-diff.ts";
import { webhookEvents } from "../../../emulator/webhooks/deliveries.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { hashEmail } from "../../../src/base/email-address.ts";
import { createDraftContract, createExecutedImport, createSentContract } from "../../support/contracts.ts";
import { measureCostRatio } from "../../support/cost-ratio.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { waitUntilIdle } from "../../support/rejections.ts";
import { bulkOperations, createBulkBody, startRoutedEmulator } from "../../support/routed-emulator.ts";
import { createWebhook, restore, save } from "./travel.ts";

interface Diff {
  readonly same: boolean;
  readonly total: number;
  readonly items: readonly {
    readonly what: string;
    readonly collection: string;
    readonly key: string | null;
    readonly fields: readonly object[];
  }[];
}

async function getDiff({ control }: TestEmulator, query: string): Promise<Diff> {
  const { status, body } = await control("GET", `snapshots/${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Diff;
}

const listChanges = ({ items }: Diff): readonly string[] => items.map(({ what }) => what);

describe("diff since a snapshot", () => {
  it("is empty after a restore", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await save(emulator, "drafted");
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.equal((await getDiff(emulator, "drafted/diff")).same, false);
    await restore(emulator, "drafted");
    assert.deepEqual(await getDiff(emulator, "drafted/diff"), {
      from: "drafted",
      to: null,
      same: true,
      items: [],
      total: 0,
    });
  });

  it("names the numbers that a created and deleted webhook has used", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "empty");
    const id = await createWebhook(emulator, "http://127.0.0.1:9/");
    assert.equal((await emulator.api("DELETE", `/api/v2.1/public/webhooks/${id}`)).status, 204);
    assert.deepEqual(listChanges(await getDiff(emulator, "empty/diff")), ["sequence webhook: 0 → 1"]);
  });

  it("describes a signature by its contract, event, delivery and schedule", async (t) => {
    const emulator = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond(503);
    await createWebhook(emulator, sink.url, "CONTRACT_SIGNED");
    const { id } = await createSentContract(emulator.api);
    // The e-mails were sent.
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    await save(emulator, "sent");
    const jo = { email: "jo@acme.example" };
    assert.equal((await emulator.control("POST", `contracts/${id}/sign`, { body: jo })).status, 200);
    await emulator.control("GET", "wait?outcome=retrying&timeout_ms=20000");
    await waitUntilIdle(emulator);
    const changes = await getDiff(emulator, "sent/diff");
    assert.deepEqual(listChanges(changes), [
      "contract T-1: SIGN → EXECUTED",
      "event 9: CONTRACT_SIGNED of T-1",
      "event 10: CONTRACT_PROCESS_METRIC_UPDATED of T-1",
      "event 11: CONTRACT_EXECUTED of T-1",
      "event 12: CONTRACT_PROCESS_METRIC_UPDATED of T-1",
      "delivery 1: CONTRACT_SIGNED to webhook 1, planned for 2031-01-02T03:10:05.000Z",
      "attempt 1 of delivery 1: 503 at 2031-01-02T03:05:05.000Z",
      "schedule: next attempt of delivery 1 is due at 2031-01-02T03:10:05.000Z",
      "invitation of jo@acme.example of T-1: PENDING → ENDED",
      "webhook 1: changed (failure_count)",
      "counterparty tokens: 0 added, 1 removed, 0 moved to another cluster",
    ]);
    const fields = Object.fromEntries(changes.items.map(({ what, fields }) => [what.split(":")[0], fields]));
    assert.deepEqual(fields["contract T-1"], [
      { field: "status", from: "SIGN", to: "EXECUTED" },
      { field: "signatories[0].action.is_success", to: true },
      { field: "signatories[0].action.notes", to: null },
      { field: "signatories[0].action.at", to: "2031-01-02T03:05:05.000Z" },
      { field: "updated_at", from: "2031-01-02T03:04:05.000Z", to: "2031-01-02T03:05:05.000Z" },
      { field: "executed_at", from: null, to: "2031-01-02T03:05:05.000Z" },
    ]);
    assert.deepEqual(fields["invitation of jo@acme.example of T-1"], [
      { field: "state", from: "PENDING", to: "ENDED" },
    ]);
    assert.deepEqual(changes.items.at(-2)?.fields, [{ field: "failure_count", from: 0, to: 1 }]);
    assert.doesNotMatch(JSON.stringify(changes), /"token":"(?!\[redacted\])/);
  });

  it("lists the fields of a new e-mail in the order of the schema", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "begun");
    await createSentContract(emulator.api);
    const { items } = await getDiff(emulator, "begun/diff");
    const { fields } = items.find(({ what }) => what.startsWith("e-mail"))!;
    assert.deepEqual(
      fields.map((each) => Object.values(each)[0]),
      ["id", "cluster_id", "workspace_id", "contract_id", "purpose", "recipient", "mode", "path", "token", "sent_at"],
    );
  });

  it("names each contract by its kind", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "begun");
    const body = await createExecutedImport();
    assert.equal((await emulator.api("POST", "/api/v2.1/public/contracts/executed_contracts/", { body })).status, 201);
    await createDraftContract(emulator.api);
    const changes = await getDiff(emulator, "begun/diff");
    const firstOnly = { ...changes, items: changes.items.slice(0, 1) };
    assert.deepEqual(await getDiff(emulator, "begun/diff?limit=1"), firstOnly);
    assert.deepEqual(
      listChanges(changes).filter((what) => /^(?:contract|event) .*(?:new|CONTRACT_CREATED)/.test(what)),
      [
        "contract H-1: new, EXECUTED",
        "contract T-2: new, DRAFT",
        "event 3: CONTRACT_CREATED of H-1",
        "event 4: CONTRACT_CREATED of T-2",
      ],
    );
  });

  it("counts the identifiers of a table that were added, removed or mapped to another cluster", async (t) => {
    const emulator = await startRoutedEmulator(t, { mappings: { cluster_clients: { "us-1": ["a", "b", "c", "d"] } } });
    await save(emulator, "mapped");
    await emulator.map("clients", "eu-1", ["a", "b", "e"]);
    await emulator.router("DELETE", bulkOperations.clients.path, { body: createBulkBody("clients", "us-1", ["c"]) });
    assert.deepEqual((await getDiff(emulator, "mapped/diff")).items, [
      {
        what: "cluster clients: 1 added, 1 removed, 2 moved to another cluster",
        collection: "cluster_clients",
        key: null,
        change: "changed",
        fields: [
          { field: "added", to: 1 },
          { field: "removed", to: 1 },
          { field: "moved", to: 2 },
        ],
      },
    ]);
  });

  it("shows no key that is a token or a hash", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "empty");
    await createSentContract(emulator.api);
    const { clusterKey } = emulator.clusters[0]!;
    const { status } = await emulator.router("POST", "/router/v1/contract_signatories/", {
      body: { signatory_hash: hashEmail("jo@acme.example"), cluster: "eu-1" },
      headers: { "x-cluster-key": clusterKey },
    });
    assert.equal(status, 201);
    const { items } = await getDiff(emulator, "empty/diff");
    assert.deepEqual(
      items
        .filter(({ collection }) => ["invitations", "signatories"].includes(collection))
        .map(({ what, key }) => [what, key]),
      [
        ["invitation of jo@acme.example of T-1: new, PENDING", null],
        ["signatory 1 of eu-1: new", null],
      ],
    );
  });

  it("lists what was deleted, with its former values", async (t) => {
    const emulator = await startTestEmulator(t);
    await createWebhook(emulator, "http://127.0.0.1:9/hooks", "CONTRACT_SIGNED");
    await emulator.control("POST", "faults", { body: { direction: "outgoing", effect: "drop" } });
    await save(emulator, "before");
    await emulator.api("DELETE", "/api/v2.1/public/webhooks/1");
    await emulator.control("DELETE", "faults/1");
    const [webhook, fault, ...others] = (await getDiff(emulator, "before/diff")).items;
    const { fields, ...change } = webhook!;
    assert.deepEqual(
      [change, fields[3], fields[4], fault, others],
      [
        { what: "webhook 1: gone", collection: "webhook_subscriptions", key: "1", change: "gone" },
        { field: "title", from: "Hooks" },
        { field: "url", from: "http://127.0.0.1:9/hooks" },
        { what: "fault 1: gone", collection: "faults", key: "1", change: "gone", fields: [] },
        [],
      ],
    );
  });

  it("is empty if only time has passed", async (t) => {
    const emulator = await startTestEmulator(t, { clock: { mode: "real", speed: 1_000 } });
    await save(emulator, "begun");
    assert.equal((await getDiff(emulator, "begun/diff")).same, true);
    await emulator.control("PUT", "clock", { body: { mode: "manual" } });
    assert.equal((await getDiff(emulator, "begun/diff")).same, false);
  });

  it("contains every row of a bulk job", async () => {
    const [before, after] = [1, 2].map(() => openMemoryStore({ collections: [signatories], wall: systemWallClock }));
    const hashes = Array.from({ length: 130_000 }, (_, i) => `h${i}`);
    await after!.transaction("map", (tx) => {
      for (const [id, hash] of hashes.entries())
        tx.put(signatories, { id, uuid: null, signatory_hash: hash, cluster: "eu-1" });
    });
    const { rows } = await compareStates(before!, after!, [signatories]);
    assert.deepEqual(
      rows.map(({ after }) => after?.signatory_hash),
      hashes,
    );
  });

  it("takes linear time in the number of contracts with new events", async () => {
    const describeMany = (count: number) => () => {
      const rows = [contracts, webhookEvents].flatMap((collection) =>
        Array.from({ length: count }, (_, id) => {
          const after = { id, activity: "CONTRACT_CREATED", contract_id: id, kind: "EXECUTED_CONTRACT" };
          return { collection, key: String(id), before: undefined, after };
        }),
      );
      const faults = { faults: [], last_id: 0, put_off: [] };
      const { items } = describeDiff(
        { rows, mappings: [], sequences: [] },
        faults,
        faults,
        () => undefined,
        rows.length,
      );
      assert.equal(items.at(-1)?.what, `event ${count - 1}: CONTRACT_CREATED of H-${count - 1}`);
    };
    const times = await measureCostRatio(describeMany(16_000), describeMany(4_000), 9);
    assert.ok(times < 9, `${times} times as long`);
  });
});
