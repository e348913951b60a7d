import assert from "node:assert/strict";
import { it } from "node:test";
import { startEmulatorProcess } from "../../support/emulator-process.ts";

it("emulator rejects requests as usual when the built-in objects are frozen", async (t) => {
  const env = { NODE_OPTIONS: "--frozen-intrinsics", NODE_NO_WARNINGS: "1" };
  const { api } = await startEmulatorProcess(t, { ephemeral: true }, env);
  const { status, body } = await api("GET", "/api/v2.1/public/contracts/T-99/status");
  assert.deepEqual([status, body], [404, { detail: "Not found." }]);
});
