import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { registry } from "../../../src/api/registry.ts";
import { findPlaceholders } from "../../../src/base/urls.ts";
import { startTestEmulator, type TestResponse } from "../../support/emulator.ts";

const getMessage = ({ status, body }: TestResponse) => [
  status,
  (body as { error?: { message: string } }).error?.message,
];

describe("request to the control plane with an unknown field", () => {
  it("creates no token with access to all workspaces when its workspace is misspelled", async (t) => {
    const { control } = await startTestEmulator(t);
    const body = { role: "operate", workspce: "Contoso Procurement" };
    assert.deepEqual(getMessage(await control("POST", "tokens/team-a", { body })), [
      400,
      'body must not contain "workspce" (allowed: role, workspace)',
    ]);
    assert.deepEqual((await control("GET", "tokens")).body, []);
  });

  it("names a field of an inner object, of a query and of a body that the operation does not have", async (t) => {
    const { control } = await startTestEmulator(t);
    const error = { code: "ECONNREFUSED", message: "refused", cause: "?" };
    const record = { webhook: 1, activity: "CONTRACT_CREATED", label: "x", headers: {}, body: "", status: null };
    assert.deepEqual(getMessage(await control("POST", "deliveries", { body: { ...record, duration_ms: 1, error } })), [
      400,
      'error must not contain "cause" (allowed: code, message)',
    ]);
    assert.deepEqual(getMessage(await control("GET", "tokens?workspace=1")), [
      400,
      'query must not contain "workspace" (allowed: none)',
    ]);
    assert.deepEqual(getMessage(await control("GET", "emails?contrct=1")), [
      400,
      'query must not contain "contrct" (allowed: contract, recipient, purpose, limit, offset)',
    ]);
    assert.deepEqual(getMessage(await control("PUT", "snapshots/now", { body: { replace: true } })), [
      400,
      'body must not contain "replace" (allowed: none)',
    ]);
    assert.deepEqual((await control("PUT", "snapshots/now", { body: {} })).status, 201);
  });

  it("is rejected by every operation except the import of a state, whose reader validates it", async (t) => {
    const { control } = await startTestEmulator(t);
    const operations = registry.filter(
      ({ id, service, auth }) => service.name === "emulator" && auth === "control-token" && id !== "state.import",
    );
    for (const { id, method, path, request } of operations) {
      if (!("body" in request) && method === "GET") continue;
      const names = findPlaceholders(path);
      const target = names.reduce<string>((result, name) => result.replace(`{${name}}`, "1"), path);
      const response = await control(String(method), target.replace("/_emulator", ""), { body: { svc_unknown: 1 } });
      const message = JSON.stringify(response.body);
      assert.deepEqual([id, response.status, message.includes("svc_unknown")], [id, 400, true], message);
    }
  });
});
