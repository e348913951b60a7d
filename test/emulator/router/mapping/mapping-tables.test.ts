import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { bulkOperations, clusterKeys, createBulkBody, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const tables = Object.keys(bulkOperations) as (keyof typeof bulkOperations)[];

/** Requests that reach the owner of `id`, by table. */
const witness = {
  emails: (id: string) => ["GET", `/anything?email_hash=${id}`],
  clients: (id: string) => ["GET", `/anything?client_id=${id}`],
  creators: (id: string) => ["GET", `/contract-invite/creator/by_token/${id}`],
  counterparties: (id: string) => ["GET", `/contract-invite/counter_party/by_token/${id}`],
  teams: (id: string) => ["GET", `/anything?team_id=${id}`],
  integrations: (id: string) => ["GET", `/anything?external_id=${id}&integration_type=CHAT_B`],
} satisfies Record<keyof typeof bulkOperations, (id: string) => [string, string] | string[]>;

describe("mapping table", () => {
  for (const table of tables) {
    const { path, list } = bulkOperations[table];

    it(`maps ${table} to a cluster, and only removes rows of the given cluster`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const owner = async (id: string) => {
        const [method, target] = witness[table](id) as [string, string];
        await emulator.router(method, target);
        return emulator.listForwarded().map((line) => line.slice(0, 2));
      };
      const send = async (method: string, cluster: "eu-1" | "us-1", ids: string[]) => {
        const { status, headers, body } = await emulator.router(method, path, {
          body: createBulkBody(table, cluster, ids),
        });
        return { status, body, moved: headers.get("x-svc-moved") };
      };

      assert.deepEqual(await owner("a"), ["eu", "us"], "nobody owns it yet, so all are asked");
      assert.deepEqual(await send("POST", "us-1", ["a", "b", "b"]), { status: 200, body: true, moved: "0" });
      assert.deepEqual([await owner("a"), await owner("b")], [["us"], ["us"]]);

      assert.deepEqual(await send("POST", "eu-1", ["a", "c"]), { status: 200, body: true, moved: "1" });
      assert.deepEqual([await owner("a"), await owner("b"), await owner("c")], [["eu"], ["us"], ["eu"]]);

      assert.deepEqual(await send("DELETE", "us-1", ["a", "b", "unknown"]), { status: 200, body: true, moved: null });
      assert.deepEqual([await owner("a"), await owner("b")], [["eu"], ["eu", "us"]]);
      assert.deepEqual(await send("POST", "us-1", []), { status: 200, body: true, moved: "0" });
      assert.deepEqual(await send("DELETE", "us-1", []), { status: 200, body: true, moved: null });
    });

    for (const method of ["POST", "DELETE"]) {
      it(`rejects ${method} of ${table} without permission and changes nothing`, async (t) => {
        const emulator = await startRoutedEmulator(t, { strict: ["keys"] });
        const key = (value: string) => ({ "x-cluster-key": value });
        const mapped = { body: createBulkBody(table, "eu-1", ["a"]), headers: key(clusterKeys["eu-1"]) };
        await emulator.router("POST", path, mapped);
        const before = await emulator.control("GET", "state");

        const attempt = async (body: unknown, headers = {}) =>
          pickStatusAndBody(await emulator.router(method, path, { body, headers }));
        const wish = createBulkBody(table, "eu-1", ["a", "z"]);
        assert.deepEqual(await attempt(wish), { status: 401, body: { detail: "Missing cluster key" } });
        assert.deepEqual(await attempt(wish, key("guess")), { status: 401, body: { detail: "Invalid cluster key" } });
        assert.deepEqual(await attempt(wish, key(clusterKeys["us-1"])), {
          status: 403,
          body: { detail: "This cluster key is not of cluster eu-1" },
        });
        // An unknown cluster is detected before a key of another cluster (DECISIONS.md, R6).
        assert.deepEqual(await attempt(createBulkBody(table, "ap-9", ["a"]), key(clusterKeys["us-1"])), {
          status: 404,
          body: { detail: "Unknown cluster: ap-9" },
        });
        assert.equal(
          (await attempt('{"', { ...key("guess"), "content-type": "application/json" })).status,
          422,
          "broken JSON comes before the key",
        );
        assert.equal((await attempt({ [list]: 1 }, key("guess"))).status, 401, "the key comes before the fields");
        assert.equal((await attempt({ [list]: 1 }, key(clusterKeys["eu-1"]))).status, 422);
        assert.deepEqual((await emulator.control("GET", "state")).body, before.body);
      });
    }
  }

  it("rejects an unknown bearer token of a chat_a operation like an unknown key", async (t) => {
    const { router } = await startRoutedEmulator(t);
    const body = createBulkBody("teams", "eu-1", ["T1"]);
    const map = async (authorization: string) =>
      pickStatusAndBody(await router("POST", bulkOperations.teams.path, { body, headers: { authorization } }));
    const unknownKey = await router("POST", bulkOperations.teams.path, {
      body,
      headers: { "x-cluster-key": "something-else" },
    });
    assert.deepEqual(await map("Bearer something-else"), pickStatusAndBody(unknownKey));
    assert.deepEqual([unknownKey.status, (await map("Basic eDp5")).status], [401, 200]);
  });

  it("accepts the key of a chat_a operation as a bearer token", async (t) => {
    const { router } = await startRoutedEmulator(t, { strict: ["keys"] });
    const map = async (headers: Record<string, string>) =>
      (await router("POST", bulkOperations.teams.path, { body: createBulkBody("teams", "eu-1", ["T1"]), headers }))
        .status;

    assert.equal(await map({ authorization: `Bearer ${clusterKeys["eu-1"]}` }), 200);
    assert.equal(await map({ authorization: `Bearer ${clusterKeys["us-1"]}` }), 403);
    assert.equal(await map({ authorization: "Bearer something-else" }), 401);
    assert.equal(await map({ authorization: "Bearer something-else", "x-cluster-key": clusterKeys["eu-1"] }), 200);

    const email = {
      body: createBulkBody("emails", "eu-1", ["a"]),
      headers: { authorization: `Bearer ${clusterKeys["eu-1"]}` },
    };
    assert.equal(
      (await router("POST", bulkOperations.emails.path, email)).status,
      401,
      "other tables take the header alone",
    );
  });

  it("accepts a missing key with a finding unless keys are strict", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("emails", "eu-1", ["a"]);
    assert.equal((await emulator.router("GET", "/router/v1/cluster_emails/email/a")).status, 200);
  });

  for (const [name, path, missing] of [
    ["email_hash", (id: string) => `/router/v1/cluster_emails/email/${id}`, "No cluster mapping for this email hash"],
    ["client_id", (id: string) => `/router/v1/cluster_clients/client/${id}`, "No cluster mapping for this client id"],
  ] as const) {
    it(`looks up a ${name} with any valid key`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const show = async (id: string, headers = {}) =>
        pickStatusAndBody(await emulator.router("GET", path(id), { headers }));

      await emulator.map(name === "email_hash" ? "emails" : "clients", "us-1", ["a"]);
      const response = { status: 200, body: { [name]: "a", cluster_id: "us-1" } };
      assert.deepEqual(await show("a"), response);
      assert.deepEqual(await show("a", { "x-cluster-key": clusterKeys["eu-1"] }), response);
      assert.deepEqual(await show("b"), { status: 404, body: { detail: missing } });
      assert.deepEqual(await show("a", { "x-cluster-key": "guess" }), {
        status: 401,
        body: { detail: "Invalid cluster key" },
      });

      const strict = await startRoutedEmulator(t, { strict: ["keys"] });
      assert.deepEqual(pickStatusAndBody(await strict.router("GET", path("a"))), {
        status: 401,
        body: { detail: "Missing cluster key" },
      });
    });
  }

  it("stores keys that are names of object members", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const oddNames = ["__proto__", "constructor", "toString", "", "a\u0000b", "😀"];
    await emulator.map("emails", "eu-1", oddNames);
    for (const id of oddNames.filter((id) => id !== "")) {
      const response = await emulator.router("GET", `/router/v1/cluster_emails/email/${encodeURIComponent(id)}`);
      assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { email_hash: id, cluster_id: "eu-1" } });
    }
  });
});
