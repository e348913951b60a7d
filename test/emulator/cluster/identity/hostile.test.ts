import assert from "node:assert/strict";
import { it } from "node:test";
import { createSender, startTestEmulator } from "../../../support/emulator.ts";

const paths = ["/api/v1/oauth/token/", "/api/v1/oauth/authorize/", "/router/v1/oauth2.0/token/"];

const bodies: Record<string, string | Uint8Array> = {
  nothing: "",
  "a list": "[1]",
  null: "null",
  "100,000 levels": "[".repeat(100_000),
  "no UTF-8": Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  "wrong types": '{"grant_type":["authorization_code"],"client_id":7,"device_code":{}}',
  "a member called __proto__": '{"__proto__":{"grant_type":"refresh_token","client_id":"demo-cli"}}',
  "an inherited name": '{"grant_type":"toString","client_id":"constructor","device_code":7}',
};

for (const path of paths) {
  for (const [label, body] of Object.entries(bodies)) {
    for (const type of ["application/json", "application/x-www-form-urlencoded"]) {
      it(`${path} rejects ${label} as ${type} without changes`, async (t) => {
        const emulator = await startTestEmulator(t);
        const before = (await emulator.control("GET", "state")).body;
        const { url } = emulator.clusters[0]!;
        const { status } = await createSender(url)("POST", path, { body, headers: { "content-type": type } });
        assert.ok(status >= 400 && status < 500, String(status));
        assert.deepEqual((await emulator.control("GET", "state")).body, before);
      });
    }
  }
}

it("userinfo and authorization reject malformed and oversized credentials", async (t) => {
  const emulator = await startTestEmulator(t);
  const { url } = emulator.clusters[0]!;
  for (const authorization of [
    "Bearer",
    "Bearer a.b.c",
    `Bearer ${"x.".repeat(4_000)}`,
    "Bearer eyJhbGciOiJSUzI1NiJ9.bnVsbA.x",
  ]) {
    const response = await createSender(url)("GET", "/api/v1/oauth/userinfo/", { headers: { authorization } });
    assert.equal(response.status, 401, authorization.slice(0, 40));
  }
  const name = `svc_session${new URL(emulator.routerUrl).port}`;
  const cookie = `${name}=eu-1_${"x".repeat(4_000)}; ${name}=%ff`;
  const response = await createSender(url)("GET", "/api/v1/oauth/authorize/?client_id=demo-cli", {
    headers: { cookie },
  });
  assert.equal(response.status, 400);
});
