import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRateLimit } from "../../../../emulator/cluster/workspace/credentials.ts";
import { DeclaredFailureError, fail } from "../../../../src/api/failures.ts";
import { createSender, pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const intakes = "/api/v1/public/legal_intake/";
const key = "/api/v2.1/public/webhooks/hmac_key/";
const intake = { title: "Help", workflow_id: 201 };

const missingCredentials = { status: 401, body: { detail: "Authentication credentials were not provided." } };
const incorrectCredentials = { status: 401, body: { detail: "Incorrect authentication credentials." } };
const deniedResponse = { status: 403, body: { detail: "You do not have permission to perform this action." } };

describe("client-id and client-secret", () => {
  it("grants access to their own workspace", async (t) => {
    const { api } = await startTestEmulator(t);
    assert.equal((await api("GET", key)).status, 200);
  });

  it("requires both credentials and accepts no bearer token instead", async (t) => {
    const emulator = await startTestEmulator(t);
    const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
    const incomplete: Record<string, string>[] = [
      {},
      { "client-id": clientId },
      { "client-secret": clientSecret },
      { "client-id": "", "client-secret": "" },
      { authorization: "Bearer abc" },
    ];
    for (const headers of incomplete) {
      await assertRejected(
        emulator,
        () => createSender(url)("POST", intakes, { headers, body: intake }),
        missingCredentials,
      );
    }
  });

  it("rejects a client-secret of another client-id or cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
    const elsewhere = emulator.clusters[1]!;
    const pairs: [id: string, secret: string][] = [
      [clientId, "wrong"],
      [clientId, ""],
      ["unknown", clientSecret],
      [clientSecret, clientId],
      [elsewhere.clientId ?? "", elsewhere.clientSecret ?? ""],
    ];
    for (const [id, secret] of pairs) {
      const headers = { "client-id": id, "client-secret": secret };
      const expected = secret === "" ? missingCredentials : incorrectCredentials;
      await assertRejected(emulator, () => createSender(url)("POST", intakes, { headers, body: intake }), expected);
    }
  });

  it("checks credentials before the body", async (t) => {
    const { clusters } = await startTestEmulator(t);
    const response = await createSender(clusters[0]!.url)("POST", intakes, {
      headers: { "content-type": "application/json" },
      body: "{",
    });
    assert.deepEqual(pickStatusAndBody(response), missingCredentials);
  });
});

describe("unsupported method", () => {
  const notAllowed = { status: 405, body: { detail: 'Method "PUT" not allowed.' } };

  it("returns 405 only with valid credentials", async (t) => {
    const emulator = await startTestEmulator(t);
    const { url, clientId = "" } = emulator.clusters[0]!;
    assert.deepEqual(pickStatusAndBody(await emulator.api("PUT", intakes, { body: "{" })), notAllowed);
    await assertRejected(emulator, () => createSender(url)("PUT", intakes), missingCredentials);
    const headers = { "client-id": clientId, "client-secret": "wrong" };
    await assertRejected(emulator, () => createSender(url)("PUT", intakes, { headers }), incorrectCredentials);
  });

  for (const [method, path, allow] of [
    ["GET", "workspace/files/uploads/", "POST"],
    ["DELETE", "webhooks/hmac_key/", "GET"],
    ["DELETE", "counter_parties/1/contacts/bulk/", "PATCH"],
    ["PATCH", "contracts/T-1/key_pointers/bulk", "POST"],
    ["PUT", "contracts/by_external_metadata/status", "GET"],
  ] as const) {
    it(`is that of the fixed path, not of one with a parameter: ${method} ${path}`, async (t) => {
      const { api } = await startTestEmulator(t);
      const { status, headers } = await api(method, `/api/v2.1/public/${path}`, { body: {} });
      assert.deepEqual({ status, allow: headers.get("allow") }, { status: 405, allow });
    });
  }

  it("logs the reason of the rejection", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSender(emulator.clusters[0]!.url)("PUT", intakes);
    const { body } = await emulator.control("GET", "requests");
    const [{ status, failure } = {}] = (body as { items: { status: number; failure?: string }[] }).items;
    assert.deepEqual({ status, failure }, { status: 401, failure: "no-credentials" });
  });
});

describe("user-email", () => {
  it("attributes the request to the named member", async (t) => {
    const { api } = await startTestEmulator(t);
    for (const email of ["ben@northwind.example", " BEN@Northwind.example "]) {
      const { body } = await api("POST", intakes, { body: intake, headers: { "user-email": email } });
      assert.deepEqual((body as { created_by: unknown }).created_by, {
        id: 12,
        name: "Ben Okafor",
        email: "ben@northwind.example",
        designation: "Contract Manager",
      });
    }
  });

  it("must belong to an active member of the key's workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    // Cleo was deactivated, Dina is of another workspace.
    for (const email of ["cleo@northwind.example", "dina@contoso.example", "nobody@northwind.example"]) {
      const headers = { "user-email": email };
      await assertRejected(emulator, () => emulator.api("POST", intakes, { body: intake, headers }), deniedResponse);
    }
  });
});

describe("SVC_RATE_LIMIT", () => {
  it("limits requests per workspace and second", async (t) => {
    const emulator = await startTestEmulator(t, { rateLimit: 2 });
    const responses = await Promise.all([1, 2, 3, 4].map(() => emulator.api("GET", key)));
    const throttled = responses.filter(({ status }) => status === 429);
    // Four requests take less than a second. A slower machine causes fewer rejections.
    assert.ok(throttled.length > 0);
    assert.deepEqual(pickStatusAndBody(throttled[0]!), {
      status: 429,
      body: { detail: "Request was throttled. Expected available in 1 second." },
    });
    assert.equal(throttled[0]!.headers.get("retry-after"), "1");
    assert.equal((await (await createWorkspaceApi(emulator, 2))("GET", key)).status, 200);
  });

  it("counts accepted requests per workspace over the last wall-clock second", () => {
    let now = 0;
    const limit = createRateLimit(2, { now: () => now, monotonicNow: () => now, sleep: async () => {} });
    const isAllowed = (at: number, workspace = 1) => {
      now = at;
      try {
        limit(workspace, fail);
        return "served";
      } catch (error) {
        assert.ok(error instanceof DeclaredFailureError);
        return error.data;
      }
    };
    assert.deepEqual(
      [
        isAllowed(0),
        isAllowed(400),
        isAllowed(500),
        isAllowed(500, 2),
        isAllowed(999),
        isAllowed(1_000),
        isAllowed(1_399),
        isAllowed(1_400),
      ],
      ["served", "served", { seconds: 1 }, "served", { seconds: 1 }, "served", { seconds: 1 }, "served"],
    );
  });
});
