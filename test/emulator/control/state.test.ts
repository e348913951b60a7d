import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, createExecutedImport, getContractStatus } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { assertRejected } from "../../support/rejections.ts";
import { createWebhook } from "../travel/travel.ts";

describe("whole state on the control plane", () => {
  it("restores its IDs and clock when exported and imported again", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    const { body: state } = await emulator.control("GET", "state");
    assert.equal((await emulator.control("POST", "reset")).status, 204);
    assert.equal((await emulator.api("GET", `/api/v2.1/public/contracts/${contract.id}/status`)).status, 404);

    assert.deepEqual(pickStatusAndBody(await emulator.control("PUT", "state", { body: state })), {
      status: 200,
      body: { now: "2031-01-02T04:04:05.000Z", backup_snapshot: "before-1" },
    });
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
    assert.equal((await createDraftContract(emulator.api)).id, "T-2");
    assert.equal(((await emulator.control("GET", "clock")).body as { now: string }).now, "2031-01-02T04:04:05.000Z");
  });

  it("is saved before an import of another state, and can be restored", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body: state } = await emulator.control("GET", "state");
    const contract = await createDraftContract(emulator.api);
    const imported = { status: 200, body: { now: "2031-01-02T03:04:05.000Z", backup_snapshot: "before-1" } };
    assert.deepEqual(pickStatusAndBody(await emulator.control("PUT", "state", { body: state })), imported);
    assert.deepEqual(pickStatusAndBody(await emulator.control("PUT", "state", { body: state })).body, {
      ...imported.body,
      backup_snapshot: null,
    });
    assert.equal((await emulator.control("POST", "snapshots/before-1/restore")).status, 200);
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
  });

  it("continues numbering after its highest numbers, regardless of sequences", async (t) => {
    const emulator = await startTestEmulator(t);
    await createWebhook(emulator, "https://receiver.example/");
    const first = await createDraftContract(emulator.api);
    const { body: state } = await emulator.control("GET", "state");
    for (const sequences of [{}, { contract: 0, delivery: 0, webhook: 0 }, undefined]) {
      assert.equal((await emulator.control("PUT", "state", { body: { ...(state as object), sequences } })).status, 200);
      assert.equal((await createDraftContract(emulator.api)).id, "T-2");
      assert.equal(await getContractStatus(emulator.api, first), "DRAFT");
      await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
      const { body } = await emulator.control("GET", "deliveries");
      const ids = (body as { items: { id: number }[] }).items.map(({ id }) => id);
      assert.deepEqual(ids.sort(), [1, 2]);
    }
  });

  it("continues the numbers of people and of all parts of contracts and counterparties", async (t) => {
    const { api, control } = await startTestEmulator(t);
    const draft = await createDraftContract(api);
    const approvals = [{ name: "Finance", notes: "", approver_user_id: 12, order: 1 }];
    const address = { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom" };
    const supporting = { name: "Prices", file_name: "prices.txt", file_base64: "MTAgRVVSCg==" };
    for (const [path, body] of [
      ["contracts/executed_contracts/", await createExecutedImport()],
      [`contracts/approvals/${draft.id}/`, { approvals }],
      [`supported_documents/${draft.id}/`, supporting],
      ["counter_parties/1/addresses/", address],
    ] as const)
      assert.equal((await api("POST", `/api/v2.1/public/${path}`, { body })).status, 201, path);
    const { body: state } = await control("GET", "state");
    await control("PUT", "state", { body: { ...(state as object), sequences: {} } });
    const { body: imported } = await control("GET", "state");
    const readNumbers = (document: unknown) => (document as { sequences: Record<string, number> }).sequences;
    const numbers = {
      ...{ contract: 2, contract_version: 1, approval: 1, signatory: 1, supporting_document: 1, person: 1 },
      ...{ counterparty: 1, counterparty_contact: 1, counterparty_address: 1, webhook_event: 6 },
    };
    assert.deepEqual([readNumbers(state), readNumbers(imported)], [numbers, numbers]);
  });

  it("rejects invalid times and numbers without changes", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const { body: state } = await emulator.control("GET", "state");
    const { rows, sequences } = state as { rows: Record<string, object[]>; sequences: object };
    const changed = (name: string, change: object) => ({
      ...(state as object),
      rows: { ...rows, [name]: rows[name]!.map((row) => ({ ...row, ...change })) },
    });
    const cases = [
      [{ ...(state as object), sequences: { ...sequences, contract: 2 ** 53 - 1 } }, /: Sequence contract is at 9007/],
      [changed("contracts", { id: 2 ** 53 - 1 }), /: Sequence contract is at 9007/],
      [
        changed("contracts", { created_at: 9e15 }),
        /: contracts\[0\] is not a row of contracts: created_at: Time is outside/,
      ],
      [changed("clock", { manual_now: -9e15 }), /: clock\[0\] is not a row of clock: manual_now: Time is outside/],
      [
        changed("contracts", { created_by: 99 }),
        /: Row 1 of contracts has the created_by 99, and users has no such row$/,
      ],
      [
        changed("workspaces", { acting_user_id: 99 }),
        /: Row \d+ of workspaces has the acting_user_id 99, and users has/,
      ],
    ] as const;
    for (const [body, expected] of cases) {
      const response = await emulator.control("PUT", "state", { body });
      assert.equal(response.status, 400);
      assert.match((response.body as { error: { message: string } }).error.message, expected);
    }
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
  });

  it("includes the keys of its clusters, which remain valid after an import", async (t) => {
    const [from, to] = [await startTestEmulator(t), await startTestEmulator(t, { strict: ["keys"] })];
    assert.equal((await to.control("PUT", "state", { body: (await from.control("GET", "state")).body })).status, 200);
    const map = (key: string) =>
      to.router("POST", "/router/v1/cluster_emails/bulk", {
        headers: { "x-cluster-key": key },
        body: { cluster_id: "eu-1", email_hash_list: ["a"] },
      });
    assert.equal((await map(from.clusters[0]!.clusterKey)).status, 200);
    assert.equal((await map(to.clusters[0]!.clusterKey)).status, 401);
  });

  it("accepts an import larger than other request bodies", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body: state } = await emulator.control("GET", "state");
    const { mappings } = state as { mappings: Record<string, object> };
    const hashes = Array.from({ length: 20_000 }, (_, i) => i.toString(16).padStart(4_000, "0"));
    const body = {
      ...(state as object),
      mappings: { ...mappings, cluster_emails: Object.fromEntries(hashes.map((hash) => [hash, "us-1"])) },
    };
    assert.ok(JSON.stringify(body).length > 64 * 1_024 * 1_024);
    assert.equal((await emulator.control("PUT", "state", { body })).status, 200);
    const email_hash = hashes.at(-1);
    const response = await emulator.router("GET", `/router/v1/cluster_emails/email/${email_hash}`);
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { email_hash, cluster_id: "us-1" } });
  });

  it("still sends a delivery that an earlier version postponed", async (t) => {
    const sink = await startReceiver(t);
    const earlier = await startTestEmulator(t);
    await createWebhook(earlier, sink.url);
    const fault = { direction: "outgoing", effect: "delay", delay: "PT3M" };
    await earlier.control("POST", "faults", { body: fault });
    await createDraftContract(earlier.api);
    await earlier.control("GET", "clock");
    const text = JSON.stringify((await earlier.control("GET", "state")).body);
    const state = JSON.parse(
      text.replace('"postponement":', '"put_off":').replace('"webhook_deliveries":2', '"webhook_deliveries":1'),
    );
    assert.equal(state.rows.webhook_deliveries[0].put_off.effect, "delay");

    const { control } = await startTestEmulator(t);
    assert.equal((await control("PUT", "state", { body: state })).status, 200);
    await control("POST", "clock/advance", { body: { by: "PT3M" } });
    const { outcome, attempts } = (await control("GET", "deliveries/1")).body as {
      outcome: string;
      attempts: readonly { fault: { effect: string } | null }[];
    };
    assert.deepEqual([outcome, attempts.map(({ fault }) => fault?.effect)], ["delivered", ["delay"]]);
    assert.equal(sink.received.length, 1);
  });

  it("rejects a document that is not a state, without changes", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body: exported } = await emulator.control("GET", "state");
    for (const [state, message] of [
      [{ a: 1 }, /: The document is not an exported state: "svc_state" is missing$/],
      [{ svc_state: 99 }, /^This emulator cannot load the state: /],
      [{ svc_state: 1 }, /it has no clusters$/],
      [omitRows(exported, "apps"), /it has no apps$/],
      [omitRows(exported, "clock"), /it has no clock$/],
      [{ ...(exported as object), rows: 7 }, /^This emulator cannot load the state: /],
    ] as const) {
      const { status, body } = await emulator.control("PUT", "state", { body: state });
      const { code, message: text } = (body as { error: { code: string; message: string } }).error;
      assert.deepEqual([status, code], [400, "invalid_state"]);
      assert.match(text, message);
      assert.deepEqual((await emulator.control("GET", "state")).body, exported);
    }
  });

  it("rejects a state with other clusters", async (t) => {
    const otherEmulator = await startTestEmulator(t, { seed: { clusters: [{ id: "in-1", label: "in" }] } });
    const { body: foreign } = await otherEmulator.control("GET", "state");
    const emulator = await startTestEmulator(t);
    await assertRejected(emulator, () => emulator.control("PUT", "state", { body: foreign }), {
      status: 400,
      body: {
        error: {
          code: "foreign_clusters",
          message: "The state has the clusters in-1, but this emulator runs eu-1, us-1.",
          hint: "Start an emulator with a seed that has those clusters, then import.",
        },
      },
    });
  });
});

it("emulator exports the state in chunks with one row per line", async (t) => {
  const emulator = await startTestEmulator(t);
  await createDraftContract(emulator.api);
  const response = await fetch(`${emulator.controlUrl}/state`, {
    headers: { authorization: `Bearer ${emulator.token}` },
  });
  const text = await response.text();
  assert.deepEqual(
    ["content-type", "content-length", "transfer-encoding"].map((name) => response.headers.get(name)),
    ["application/json", null, "chunked"],
  );
  const { rows } = JSON.parse(text) as { rows: { users: object[] } };
  assert.ok(text.includes(`\n${JSON.stringify(rows.users[0])},\n${JSON.stringify(rows.users[1])},\n`));
});

describe("reset of the emulator", () => {
  it("restores the seed, numbers and time, and clears the schedule", async (t) => {
    const running = await startTestEmulator(t, { autoSignMs: 60_000 });
    const before = await running.control("GET", "state");
    await createDraftContract(running.api, { auto_send: true });
    await running.control("POST", "clock/advance", { body: { by: "PT10S" } });
    assert.deepEqual(pickStatusAndBody(await running.control("POST", "reset")), { status: 204, body: "" });

    const shape = ({ body }: { body: unknown }) =>
      Object.entries((body as { rows: Record<string, unknown[]> }).rows).map(([name, rows]) => [name, rows.length]);
    assert.deepEqual(shape(await running.control("GET", "state")), shape(before));
    assert.deepEqual((await running.control("GET", "clock")).body, {
      now: "2031-01-02T03:04:05.000Z",
      mode: "manual",
      speed: 1,
      next_due: null,
      pending: 0,
    });
  });

  it("preserves every key and secret, because programs use them", async (t) => {
    const { control, clusters, api } = await startTestEmulator(t);
    const keys = await control("GET", "workspaces");
    const apps = async () =>
      ((await control("GET", "state")).body as { rows: { apps: unknown; clusters: unknown } }).rows;
    const { apps: before, clusters: rows } = await apps();
    const jwks = await (await fetch(`${clusters[0]!.url}/.well-known/jwks.json`)).json();
    await control("POST", "reset");
    assert.deepEqual((await control("GET", "workspaces")).body, keys.body);
    assert.deepEqual(await apps().then((after) => [after.apps, after.clusters]), [before, rows]);
    assert.deepEqual(await (await fetch(`${clusters[0]!.url}/.well-known/jwks.json`)).json(), jwks);
    assert.equal((await createDraftContract(api)).id, "T-1");
  });

  it("preserves the clock mode and the request log", async (t) => {
    const { control } = await startTestEmulator(t);
    await control("PUT", "clock", { body: { mode: "auto" } });
    await control("POST", "reset");
    assert.equal(((await control("GET", "clock")).body as { mode: string }).mode, "auto");
    const { body } = await control("GET", "requests?operation=clock.set");
    assert.equal((body as { total: number }).total, 1);
  });
});

/** An exported state without one of its collections. */
function omitRows(state: unknown, name: string): object {
  const { rows, ...rest } = state as { rows: Record<string, unknown> };
  return { ...rest, rows: { ...rows, [name]: [] } };
}
