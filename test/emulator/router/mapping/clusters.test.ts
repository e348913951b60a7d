import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mappingTableHandlers } from "../../../../emulator/router/mapping/mapping-tables.ts";
import { mappingTables } from "../../../../emulator/router/mapping/tables.ts";
import { openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import type { Transaction } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import {
  bulkOperations,
  clusterKeys,
  type RoutedEmulator,
  startRoutedEmulator,
} from "../../../support/routed-emulator.ts";

const tables = Object.keys(bulkOperations) as (keyof typeof bulkOperations)[];
const offboard = (emulator: RoutedEmulator, cluster: string, body: unknown, headers = {}) =>
  emulator.router("DELETE", `/router/v1/clusters/${cluster}/workspace-data`, { body, headers });

const createOffboardingBody = (ids: string[]) => ({
  email_hash_list: ids,
  chat_a_team_id_list: ids,
  external_integrations: [{ external_id_list: ids, integration_type: "CHAT_B" }],
  client_ids: ids,
  creator_tokens: ids,
  cp_tokens: ids,
  user_codes: ids,
});

describe("cluster list", () => {
  it("returns the clusters in seed order, with URLs in the service's format", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const info = (cluster_id: string, cluster_label: string, url: string) => ({
      cluster_id,
      cluster_label,
      cluster_url: `${url}/`,
      cluster_oo_url: `${url}/oo`,
      cluster_wopi_oo_url: `${url}/wopi`,
      sidebar_backend_url: `${url}/sidebar`,
    });
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/router/v1/clusters/")), {
      status: 200,
      body: [info("eu-1", "eu", emulator.eu.url), info("us-1", "us", emulator.us.url)],
    });
  });

  it("reports a writable store", async (t) => {
    const emulator = await startRoutedEmulator(t);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/")), { status: 200, body: { database: true } });
  });
});

describe("workspace data deletion", () => {
  it("deletes the cluster's rows in every table, and no others", async (t) => {
    const emulator = await startRoutedEmulator(t, {
      mappings: { user_codes: { "eu-1": ["MINE", "KEPT"], "us-1": ["FOREIGN"] } },
    });
    for (const table of tables) {
      await emulator.map(table, "eu-1", ["mine", "kept"]);
      await emulator.map(table, "us-1", ["foreign"]);
    }
    const before = (await emulator.control("GET", "state")).body;

    const body = createOffboardingBody(["mine", "foreign", "unknown"]);
    assert.deepEqual(pickStatusAndBody(await offboard(emulator, "eu-1", body)), { status: 200, body: true });
    const after = (await emulator.control("GET", "state")).body;
    assert.notDeepEqual(after, before);

    const codes = async (code: string) => {
      emulator.listForwarded();
      await emulator.router("GET", `/x?user_code=${code}`);
      return emulator.listForwarded().map((line) => line.slice(0, 2));
    };
    assert.deepEqual(
      [await codes("mine"), await codes("kept"), await codes("foreign")],
      [["eu", "us"], ["eu"], ["us"]],
    );

    const lookup = async (id: string) =>
      (await emulator.router("GET", `/router/v1/cluster_emails/email/${id}`)).status === 200;
    assert.deepEqual(
      { mine: await lookup("mine"), kept: await lookup("kept"), foreign: await lookup("foreign") },
      { mine: false, kept: true, foreign: true },
    );

    assert.deepEqual(
      pickStatusAndBody(await offboard(emulator, "eu-1", body)),
      { status: 200, body: true },
      "again, and nothing left",
    );
    assert.deepEqual((await emulator.control("GET", "state")).body, after);
    assert.deepEqual(pickStatusAndBody(await offboard(emulator, "eu-1", {})), { status: 200, body: true });
    assert.deepEqual((await emulator.control("GET", "state")).body, after);
  });

  it("rejects a request without permission and changes nothing", async (t) => {
    const emulator = await startRoutedEmulator(t, { strict: ["keys"] });
    const key = (value: string) => ({ "x-cluster-key": value });
    const seeded = { body: { email_hash_list: ["a"], cluster_id: "eu-1" }, headers: key(clusterKeys["eu-1"]) };
    await emulator.router("POST", bulkOperations.emails.path, seeded);
    const before = (await emulator.control("GET", "state")).body;

    const attempt = async (cluster: string, headers = {}) =>
      pickStatusAndBody(await offboard(emulator, cluster, createOffboardingBody(["a"]), headers));
    assert.deepEqual(await attempt("eu-1"), { status: 401, body: { detail: "Missing cluster key" } });
    assert.deepEqual(await attempt("eu-1", key("x")), { status: 401, body: { detail: "Invalid cluster key" } });
    assert.deepEqual(await attempt("ap-9", key(clusterKeys["us-1"])), {
      status: 404,
      body: { detail: "Unknown cluster: ap-9" },
    });
    assert.deepEqual(await attempt("eu-1", key(clusterKeys["us-1"])), {
      status: 403,
      body: { detail: "This cluster key is not of cluster eu-1" },
    });
    const response = await offboard(emulator, "eu-1", { user_codes: [1] }, key(clusterKeys["eu-1"]));
    assert.deepEqual(pickStatusAndBody(response), {
      status: 422,
      body: {
        detail: [
          { type: "string_type", loc: ["body", "user_codes", 0], msg: "Input should be a valid string", input: 1 },
        ],
      },
    });
    assert.deepEqual((await emulator.control("GET", "state")).body, before);
  });

  it("deletes nothing if it fails midway", async () => {
    const store = openMemoryStore({ collections: Object.values(mappingTables), wall: systemWallClock });
    await store.transaction("test", (tx) => {
      for (const table of Object.values(mappingTables)) tx.map(table, "eu-1", ["a"]);
    });
    const failing = (tx: Transaction): Transaction =>
      Object.assign(Object.create(tx), {
        unmap(...[table, cluster, ids]: Parameters<Transaction["unmap"]>) {
          if (table === mappingTables.creator_tokens) throw new Error("the disk is gone");
          return tx.unmap(table, cluster, ids);
        },
      });
    const call = {
      clusters: [{ id: "eu-1", label: "eu", key: "k", destinations: [], url: "http://127.0.0.1:1", external: true }],
      caller: undefined,
      fail: () => assert.fail(),
      request: { operation: "clusters.delete-workspace-data" },
      store: {
        transaction: (name: string, work: (tx: Transaction) => unknown) =>
          store.transaction(name, (tx) => work(failing(tx))),
      },
    };
    const input = { params: { cluster_id: "eu-1" }, query: {}, headers: {}, body: createOffboardingBody(["a"]) };
    const run = mappingTableHandlers["clusters.delete-workspace-data"] as unknown as (
      handlerInput: typeof input,
      context: typeof call,
    ) => Promise<unknown>;

    await assert.rejects(run(input, call), /the disk is gone/);
    const sizes = Object.values(mappingTables).map((table) => store.size(table));
    assert.deepEqual(
      sizes,
      Object.values(mappingTables).map(() => 1),
    );
  });
});
