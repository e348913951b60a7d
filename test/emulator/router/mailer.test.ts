import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plain } from "../../support/emulator.ts";
import { routed } from "../../support/routed.ts";

describe("the mailer's blackhole", () => {
  it("takes whatever comes, keeps it, and tells nobody", async (t) => {
    const world = await routed(t);
    const path = "/router/v1/mailer/inbound/blackhole";
    const headers = { "content-type": "message/rfc822" };
    const body = Buffer.from([0xff, 0x00, 0x41]);
    assert.deepEqual(plain(await world.router("POST", path, { body, headers })), { status: 200, body: {} });
    assert.deepEqual(plain(await world.router("POST", path)), { status: 200, body: {} });
    assert.deepEqual(world.reached(), []);

    const { body: state } = await world.ask("GET", "state");
    assert.match(JSON.stringify(state), /"content_type":"message\/rfc822","body_base64":"\/wBB"/);
  });
});
