import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, mock, type TestContext } from "node:test";
import { createClient } from "../../../src/client/index.ts";
import { startTestEmulator } from "../../support/emulator.ts";

/** Never responds to the first request, and returns 204 for all others. */
async function startHangingReceiver(t: TestContext) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (requests === 1) server.emit("first");
    else response.writeHead(204).end(() => server.emit("second"));
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, first: once(server, "first"), second: once(server, "second") };
}

/** Replaces the globals of a program while an emulator retries a delivery to a hanging receiver. */
async function assertWorksWithFakeTimers(t: TestContext, replace: () => () => void): Promise<void> {
  const { url, second } = await startHangingReceiver(t);
  const hanging = await startHangingReceiver(t);
  // Loaded with a real clock, as programs do. The 5 minutes until the second attempt take 30 ms.
  const restore = replace();
  t.after(restore);
  const emulator = await startTestEmulator(t, {
    clock: { mode: "real", speed: 10_000 },
    webhookResponseTimeoutMs: 100,
  });
  assert.equal(
    (await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: createWebhookRequest(url) })).status,
    201,
  );
  assert.equal((await emulator.control("POST", "activities", { body: { activity: "CONTRACT_CREATED" } })).status, 200);
  await second;
  const client = createClient({ baseUrls: { contracts: hanging.url }, credentials, retries: 0, timeoutMs: 100 });
  await assert.rejects(client.call("contracts.status", { params: { composite_id: "T-1" } }), { name: "NetworkError" });
  await client.close();
  await emulator.restore(await emulator.snapshot());
  await emulator.close();
}

const credentials = { clientId: "id", clientSecret: "secret" };
const createWebhookRequest = (url: string) => ({ title: "app", url, only_for_activities: ["CONTRACT_CREATED"] });

describe("emulator inside a test process", () => {
  it("runs under fake timers and a fake Date", { timeout: 20_000 }, (t) =>
    assertWorksWithFakeTimers(t, () => {
      mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"], now: 0 });
      return () => mock.timers.reset();
    }),
  );

  it("runs when Date is frozen or was set back, and fetch is stubbed", { timeout: 20_000 }, (t) =>
    assertWorksWithFakeTimers(t, () => {
      const hourAgo = Date.now() - 3_600_000;
      const mocks = [
        mock.method(Date, "now", () => hourAgo),
        mock.method(globalThis, "fetch", () => Promise.reject(new Error("no request expected"))),
      ];
      return () => {
        for (const clockMock of mocks) clockMock.mock.restore();
      };
    }),
  );
});
