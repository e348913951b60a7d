import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";

const listTargets = async (emulator: TestEmulator): Promise<string[]> =>
  ((await emulator.control("GET", "requests")).body as { items: { target: string }[] }).items.map(
    ({ target }) => target,
  );

describe("secret under an undeclared name", () => {
  it("is hidden in the request log and in traces, at any position", async (t) => {
    const emulator = await startTestEmulator(t);
    const [cluster] = emulator.clusters;
    const { user_code, device_code } = await startDeviceAuthorization(emulator);
    const secrets = [cluster!.clientSecret!, cluster!.hmacKey!, emulator.token, user_code, device_code];
    const app = await startReceiver(t);
    for (const secret of secrets) {
      const value = encodeURIComponent(secret);
      for (const target of [
        `/api/v2.1/public/contracts/?x=${value}`,
        `/api/v2.1/public/contracts/?query=${value}&${value}=1&${value}`,
        `/api/v2.1/public/contracts/${value}/status/`,
        `/api/v2.1/public/nowhere/${value}/`,
        `/api/v2.1/public/nowhere%2F${value}`,
      ]) {
        await emulator.api("GET", target);
        await emulator.router("POST", target);
      }
      const body = { title: "a", url: `${app.url}/${value}?x=${value}`, only_for_activities: ["CONTRACT_CREATED"] };
      await emulator.api("POST", `/api/v2.1/public/webhooks/?x=${value}`, { body });
    }
    await emulator.api("POST", "/api/v2.1/public/webhooks/activities/trigger/", {});
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    const { causes } = (
      (await emulator.control("GET", "state")).body as { rows: { causes: readonly { id: string }[] } }
    ).rows;
    const output = [
      ...(await listTargets(emulator)),
      ...(await Promise.all(
        causes.map(async ({ id }) => JSON.stringify((await emulator.control("GET", `traces/${id}`)).body)),
      )),
    ].join("\n");
    assert.ok(causes.length >= secrets.length && output.includes("/nowhere/[redacted]"));
    const leaked = secrets.filter((secret) => output.includes(secret) || output.includes(encodeURIComponent(secret)));
    assert.deepEqual(leaked, []);
  });

  it("is the only hidden part of a request target", async (t) => {
    const emulator = await startTestEmulator(t);
    const targets = [
      [
        "/api/v2.1/public/contracts/?limit=2&query=Mutual%20NDA%20with%20Acme&filter__display_status[$in]=SIGN,DRAFT",
        undefined,
      ],
      ["/api/v2.1/public/contracts/T-1/status/", undefined],
      ["/api/v2.1/public/contrcts/T-1/?page=2", "/api/v2.1/public/contrcts/T-1/?page=[redacted]"],
      ["/api/v2.1/nope/s3cr3t/12/token/mine", "/api/v2.1/nope/[redacted]/12/token/[redacted]"],
    ] as const;
    for (const [target] of targets) await emulator.api("GET", target);
    const listedTargets = (await listTargets(emulator)).filter((target) => target.startsWith("/api/"));
    assert.deepEqual(
      listedTargets,
      targets.map(([target, expected]) => expected ?? target),
    );
  });
});
