import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { maxBlackholeMails } from "../../../../emulator/router/apps/mailer.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

describe("mailer blackhole", () => {
  it("accepts and stores every mail without a response body", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const path = "/router/v1/mailer/inbound/blackhole";
    const headers = { "content-type": "message/rfc822" };
    const body = Buffer.from([0xff, 0x00, 0x41]);
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", path, { body, headers })), {
      status: 200,
      body: {},
    });
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", path)), { status: 200, body: {} });
    assert.deepEqual(emulator.listForwarded(), []);

    const { body: state } = await emulator.control("GET", "state");
    assert.match(JSON.stringify(state), /"content_type":"message\/rfc822","body_base64":"\/wBB"/);
  });
});

interface StoredMail {
  readonly id: number;
  readonly content_type: string | null;
  readonly body_base64: string;
}

/** Returns the e-mails that the blackhole stored, oldest first. */
async function listStoredMails({ control }: Pick<TestEmulator, "control">): Promise<readonly StoredMail[]> {
  const { rows } = (await control("GET", "state")).body as { rows: { blackhole_mails?: StoredMail[] } };
  return rows.blackhole_mails ?? [];
}

describe("unauthenticated mail", () => {
  const path = "/router/v1/mailer/inbound/blackhole";

  it("is limited in number by dropping the oldest", async (t) => {
    const emulator = await startTestEmulator(t);
    for (let sent = 0; sent < maxBlackholeMails.count + 3; sent += 50) {
      const some = Array.from({ length: Math.min(50, maxBlackholeMails.count + 3 - sent) });
      await Promise.all(some.map(() => emulator.router("POST", path, { body: "x" })));
    }
    const ids = (await listStoredMails(emulator)).map(({ id }) => id);
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [maxBlackholeMails.count, 4, maxBlackholeMails.count + 3]);
  });

  it("is limited in size, but always includes the newest mail", async (t) => {
    const emulator = await startTestEmulator(t);
    // About a third of the byte limit after base64 encoding.
    const third = Buffer.alloc(Math.floor(maxBlackholeMails.bytes / 4) - 100);
    const sizes = [third, third, third, third, "small", Buffer.alloc(maxBlackholeMails.bytes), "last"];
    const mailIds: number[][] = [];
    for (const body of sizes) {
      assert.equal((await emulator.router("POST", path, { body, headers: { "content-type": "x/y" } })).status, 200);
      mailIds.push((await listStoredMails(emulator)).map(({ id }) => id));
    }
    assert.deepEqual(mailIds, [[1], [1, 2], [1, 2, 3], [2, 3, 4], [2, 3, 4, 5], [6], [7]]);
  });
});
