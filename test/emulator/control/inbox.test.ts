import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

interface Row {
  readonly headers: readonly (readonly [string, string])[];
  readonly [key: string]: unknown;
}

describe("inbox of an emulated cluster", () => {
  it("clusters.inbox returns bytes and headers as received, oldest first", async (t) => {
    const { control, router } = await startTestEmulator(t);
    const body = Buffer.from('{ "a": "\u00e4",\n "b":1.0 }');
    const response = await router("POST", "/some/path?x=1", {
      body,
      headers: { "X-Cluster-Id": "us-1", "X-Signature": "abc", "content-type": "application/json" },
    });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: { cluster_id: "us-1", method: "POST", path: "/some/path" },
    });
    await router("GET", "/other", { headers: { "x-cluster-id": "us-1" } });
    const { body: inbox } = await control("GET", "clusters/us-1/inbox");
    const { items, total } = inbox as { items: Row[]; total: number };
    assert.equal(total, 2);
    const { headers, ...first } = items[0]!;
    assert.deepEqual(first, {
      id: 1,
      at: "2031-01-02T03:04:05.000Z",
      method: "POST",
      target: "/some/path?x=1",
      body: body.toString("base64"),
      status: 200,
    });
    const value = (name: string) => headers.find(([key]) => key.toLowerCase() === name)?.[1];
    assert.deepEqual([value("x-signature"), value("content-type")], ["abc", "application/json"]);
    assert.deepEqual((await control("GET", "clusters/eu-1/inbox")).body, { items: [], total: 0 });
  });

  it("filters by path, returns the newest requests, and is empty after a reset", async (t) => {
    const { control, router } = await startTestEmulator(t);
    for (const path of ["/a/1", "/a/2", "/b/3"]) await router("GET", path, { headers: { "x-cluster-id": "eu-1" } });
    const targets = async (query: string) => {
      const { body } = await control("GET", `clusters/eu-1/inbox?${query}`);
      const { items, total } = body as { items: Row[]; total: number };
      return [total, ...items.map(({ target }) => target)];
    };
    assert.deepEqual(await targets("path=/a/*"), [2, "/a/1", "/a/2"]);
    assert.deepEqual(await targets("path=/b/3"), [1, "/b/3"]);
    assert.deepEqual(await targets("limit=1"), [3, "/b/3"]);
    await control("POST", "reset");
    assert.deepEqual(await targets(""), [0]);
  });

  it("retains the newest requests up to a size and counts dropped ones", async (t) => {
    const { control, router } = await startTestEmulator(t, { inboxBytes: 10_000, requestLogBytes: 2_000 });
    const body = Buffer.from(Array.from({ length: 2_048 }, (_, i) => i % 256));
    const headers = { "x-cluster-id": "eu-1", "content-type": "application/octet-stream" };
    for (const path of ["/1", "/2", "/3", "/4", "/5", "/6"]) await router("POST", path, { headers, body });
    const { items } = (await control("GET", "clusters/eu-1/inbox")).body as { items: Row[] };
    const usage = (await control("GET", "usage")).body as Record<string, Record<string, number>>;
    assert.deepEqual(
      items.map(({ target, body: sent }) => [target, sent]),
      ["/4", "/5", "/6"].slice(-items.length).map((target) => [target, body.toString("base64")]),
    );
    const { bytes, ...amount } = usage.inboxes!;
    assert.deepEqual(amount, { count: items.length, max_bytes: 20_000, dropped: 6 - items.length });
    assert.ok(items.length >= 2 && bytes! > items.length * body.length && bytes! <= 10_000, JSON.stringify(usage));
    const { max_bytes, dropped } = usage.requests!;
    assert.equal(max_bytes, 2_000);
    assert.ok(dropped! > 0);
  });

  it("shows the seed's scripted responses", async (t) => {
    const running = await startTestEmulator(t, {
      seed: {
        clusters: [{ id: "eu-1", label: "eu" }],
        apps: { answers: [{ path: "/scripted", method: "PUT", status: 202, headers: { "x-a": "b" }, body: [1] }] },
      },
    });
    const response = await running.router("PUT", "/scripted", { headers: { "x-cluster-id": "eu-1" } });
    assert.deepEqual(pickStatusAndBody(response), { status: 202, body: [1] });
    assert.equal(response.headers.get("x-a"), "b");
    const { body } = await running.control("GET", "clusters/eu-1/inbox");
    assert.equal((body as { items: Row[] }).items[0]!.status, 202);
  });

  it("exists only for emulated clusters", async (t) => {
    const otherReceiver = await startReceiver(t);
    const { control } = await startTestEmulator(t, {
      seed: { clusters: [{ id: "x-1", label: "x", external_url: otherReceiver.url }] },
    });
    assert.deepEqual(pickStatusAndBody(await control("GET", "clusters/x-1/inbox")), {
      status: 409,
      body: {
        error: {
          code: "external_cluster",
          message: `Cluster x-1 is external (${otherReceiver.url}). The emulator does not store its data or requests.`,
        },
      },
    });
    assert.deepEqual(pickStatusAndBody(await control("GET", "clusters/none/inbox")), {
      status: 404,
      body: { error: { code: "no_such_cluster", message: "Cluster none not found. Known: x-1." } },
    });
  });
});
