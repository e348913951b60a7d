import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";

const path = "/.well-known/openid-configuration";

/** Browsers send the cookies of all programs on localhost to every port. */
describe("request head", () => {
  it("can have many cookies, also if it is forwarded to a cluster", async (t) => {
    const { router, control } = await startTestEmulator(t);
    const headers = { cookie: "x".repeat(60_000) };
    assert.equal((await router("GET", path, { headers })).status, 200);
    assert.equal((await control("GET", "clock", { headers })).status, 200);
  });

  it("is rejected if it is larger than 64 KiB", async (t) => {
    const { router } = await startTestEmulator(t);
    assert.equal((await router("GET", path, { headers: { cookie: "x".repeat(66_000) } })).status, 431);
  });
});
