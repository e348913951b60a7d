import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emulator, plain, sender } from "../../support/emulator.ts";

describe("a path that a cluster does not know", () => {
  it("is 404 below the public API in any version, with the nearest operation of its own, and no matter for the inbox", async (t) => {
    const on = await emulator(t);
    for (const path of [
      "/api/v2.1/public/contract/",
      "/api/v2/public/contracts/",
      "/api/v3/public/contracts/",
      "/api/v10.2/public/webhooks/",
      "/api/v1/public/",
    ]) {
      assert.deepEqual(plain(await on.api("GET", path)), { status: 404, body: { detail: "Not found." } }, path);
    }
    const { body } = await on.ask("GET", "clusters/eu-1/inbox");
    assert.equal((body as { total: number }).total, 0);
    assert.equal(
      (await on.api("GET", "/api/v2/public/contracts/")).headers.get("x-svc-nearest"),
      "contracts.list GET /api/v2.1/public/contracts/",
    );
  });

  it("is echoed elsewhere, as what the router forwards, and noted in the inbox", async (t) => {
    const on = await emulator(t);
    assert.deepEqual(plain(await sender(on.clusters[1]!.url)("POST", "/public/things?x=1", { body: {} })), {
      status: 200,
      body: { cluster_id: "us-1", method: "POST", path: "/public/things" },
    });
    const { body } = await on.ask("GET", "clusters/us-1/inbox");
    assert.equal((body as { total: number }).total, 1);
  });
});
