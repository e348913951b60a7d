import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it } from "node:test";
import { testFolder } from "../../support/cli/cli-emulator.ts";
import { draft } from "../../support/contracts.ts";
import { emulator, plain, sender } from "../../support/emulator.ts";
import { receiver } from "../../support/receiver.ts";
import { restore, save, stateOf, subscribed } from "./travel.ts";

describe("what is under way at a restore", () => {
  it("leaves a note and no outcome: an attempt that nobody has answered yet", async (t) => {
    const lines: string[] = [];
    const on = await emulator(t, { log: (line) => lines.push(line) });
    const sink = await receiver(t);
    await subscribed(on, sink.url);
    await save(on, "quiet");
    const quiet = await stateOf(on);
    const asked = new Promise<ServerResponse>((resolve) => sink.answer((_, response) => resolve(response)));
    await draft(on.api);
    const response = await asked;

    assert.deepEqual((await restore(on, "quiet")).dropped, [{ kind: "deliver", ref: "1" }]);
    response.writeHead(200).end();
    await on.ask("POST", "clock/advance", { body: { until_idle: true } });
    assert.deepEqual(lines, [
      "deliver 1 was under way when another state was put in: its outcome is of the state that was left",
    ]);
    assert.deepEqual(await on.ask("GET", "deliveries").then(({ body }) => body), { items: [], total: 0 });
    assert.deepEqual(await stateOf(on), quiet);
  });

  it("ends without going on: time that somebody moves", async (t) => {
    const on = await emulator(t);
    const sink = await receiver(t);
    await subscribed(on, sink.url);
    await save(on, "quiet");
    const asked = new Promise<ServerResponse>((resolve) => sink.answer((_, response) => resolve(response)));
    await draft(on.api);
    const advancing = on.ask("POST", "clock/advance", { body: { by: "PT9H" } });
    await asked;
    await restore(on, "quiet");
    const { status, reason, to } = (await advancing).body as Record<string, string>;
    assert.deepEqual([status, reason, to], ["stopped", "state_replaced", "2031-01-02T03:04:05.000Z"]);
    assert.equal((await on.ask("POST", "clock/advance", { body: { by: "PT1M" } })).status, 200);
  });
});

describe("beside the rows of the state", () => {
  it("the hits of scripted faults come back", async (t) => {
    const on = await emulator(t);
    const fault = { direction: "incoming", operation: "contracts.create", status: 503, count: 2 };
    await on.ask("POST", "faults", { body: fault });
    const create = async () => (await on.api("POST", "/api/v2.1/public/contracts/", { body: {} })).status;
    assert.equal(await create(), 503);
    await save(on, "hit-once");
    assert.deepEqual([await create(), await create()], [503, 400]);
    await on.ask("POST", "faults", { body: { direction: "outgoing", effect: "drop" } });
    await restore(on, "hit-once");
    assert.deepEqual(
      ((await on.ask("GET", "faults")).body as { id: number; hit: number }[]).map(({ id, hit }) => [id, hit]),
      [[1, 1]],
    );
    assert.deepEqual([await create(), await create()], [503, 400]);
  });

  it("uploaded bytes come back, after a reset and a restart too", async (t) => {
    const file = join(await testFolder(t), "emulator.json");
    const options = { file, port: 0 };
    const first = await emulator(t, options);
    const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await first.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: url }] = (body as { files: [{ upload_url: string }] }).files;
    const sent = await fetch(url, { method: "PUT", body: "bytes", headers: { "content-type": "application/pdf" } });
    assert.equal(sent.status, 200);
    await save(first, "uploaded");
    await first.ask("POST", "reset");
    await first.close();
    const second = await emulator(t, options);
    await restore(second, "uploaded");
    const sha256 = createHash("sha256").update("bytes").digest("hex");
    assert.match(JSON.stringify(await stateOf(second)), new RegExp(sha256));
  });

  it("keeps what was served meanwhile as it is: the log of requests", async (t) => {
    const on = await emulator(t);
    await save(on, "begun");
    await sender(on.routerUrl)("GET", "/health");
    const health = async () => (await on.ask("GET", "requests?operation=health.show")).body as { total: number };
    const before = await health();
    await restore(on, "begun");
    assert.deepEqual(await health(), before);
    assert.deepEqual(plain(await on.ask("DELETE", "snapshots/begun")), { status: 204, body: "" });
  });
});
