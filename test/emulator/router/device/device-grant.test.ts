import assert from "node:assert/strict";
import { describe, it } from "node:test";
import demo from "../../../../fixtures/seeds/demo.json" with { type: "json" };
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { createOAuthError, startDeviceAuthorization } from "../../../support/identity/devices.ts";
import { assertRejected } from "../../../support/rejections.ts";

const path = "/router/v1/oauth2.0/device/code/";
const decidePath = "/router/v1/oauth2.0/device/cluster_info/";
const minute = 60_000;

describe("device authorization request", () => {
  it("returns the codes and the verification URL", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status, headers, body } = await emulator.router("POST", path, { body: { client_id: "demo-cli" } });
    const { device_code, user_code, ...rest } = body as Record<string, string>;
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.match(device_code!, /^[\w-]{43}$/);
    assert.match(user_code!, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.deepEqual(rest, {
      verification_uri: `${emulator.routerUrl}/_emulator/device`,
      verification_uri_complete: `${emulator.routerUrl}/_emulator/device?user_code=${user_code}`,
      expires_in: 900,
      interval: 5,
    });
  });

  it("can be a form from a standard client, unless --strict=bodies is set", async (t) => {
    const body = "client_id=demo-cli&scope=openid";
    const headers = { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" };
    const lenient = await startTestEmulator(t);
    assert.equal((await lenient.router("POST", path, { body, headers })).status, 200);
    const strict = await startTestEmulator(t, { strict: ["bodies"] });
    await assertRejected(strict, () => strict.router("POST", path, { body, headers }), {
      status: 422,
      body: {
        detail: [
          {
            type: "model_attributes_type",
            loc: ["body"],
            msg: "Input should be a valid dictionary or object to extract fields from",
            input: body,
          },
        ],
      },
    });
  });

  it("is rejected for an unknown client", async (t) => {
    const emulator = await startTestEmulator(t);
    const begin = () => emulator.router("POST", path, { body: { client_id: "nobody" } });
    await assertRejected(emulator, begin, createOAuthError("invalid_client"));
    assert.equal((await begin()).headers.get("cache-control"), "no-store");
  });

  it("device-grant.create-client rejects long names and clients over the limit (client-name-too-long, too-many-clients)", async (t) => {
    const oauth_clients = Array.from({ length: 9_999 }, (_, i) => ({ client_id: `cli_${i}`, client_name: "x" }));
    const { router } = await startTestEmulator(t, { seed: { ...demo, oauth_clients } });
    const create = (client_name: string) => router("POST", "/router/v1/oauth2.0/client/", { body: { client_name } });
    assert.deepEqual(pickStatusAndBody(await create("x".repeat(1_001))), {
      status: 400,
      body: { detail: "The name of a client must be at most 1,000 characters." },
    });
    assert.equal((await create("The last")).status, 200);
    assert.deepEqual(pickStatusAndBody(await create("One more")), {
      status: 400,
      body: {
        detail: "The emulator stores at most 10,000 OAuth clients. To remove created clients, run svc emulator reset.",
      },
    });
  });

  it("accepts a newly created client", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await emulator.router("POST", "/router/v1/oauth2.0/client/", { body: { client_name: "Add-in" } });
    const { client_id, ...rest } = response.body as { client_id: string };
    assert.deepEqual({ status: response.status, rest }, { status: 200, rest: { client_name: "Add-in" } });
    const added = await startDeviceAuthorization(emulator, client_id);
    assert.deepEqual(pickStatusAndBody(await added.poll()), createOAuthError("authorization_pending"));
  });
});

describe("decision about a user code", () => {
  it("maps the code to the cluster, for any spelling of the code", async (t) => {
    const emulator = await startTestEmulator(t);
    const { user_code, decide } = await startDeviceAuthorization(emulator);
    const typedCode = ` ${user_code.toLowerCase().replace("-", " ")}`;
    assert.deepEqual(pickStatusAndBody(await decide("AUTHORIZED", "us-1", typedCode)), {
      status: 200,
      body: { user_code: typedCode, status: "AUTHORIZED", cluster_id: "us-1" },
    });
    const response = await emulator.router("GET", `/anything?user_code=${user_code}`);
    assert.deepEqual(response.body, { cluster_id: "us-1", method: "GET", path: "/anything" });
  });

  it("is accepted only from the cluster that the pending grant is bound to", async (t) => {
    const emulator = await startTestEmulator(t);
    const { decide, poll } = await startDeviceAuthorization(emulator);
    assert.equal((await decide("PENDING", "us-1")).status, 200);
    assert.equal((await decide("PENDING", "us-1")).status, 200);
    for (const status of ["PENDING", "AUTHORIZED", "DENIED"]) {
      await assertRejected(emulator, () => decide(status, "eu-1"), {
        status: 409,
        body: { detail: "The device grant is bound to another cluster" },
      });
    }
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("authorization_pending"));
    assert.equal((await decide("DENIED", "us-1")).status, 200);
  });

  it("can be repeated but not changed by the same cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const decided = { status: 409, body: { detail: "The device grant has been decided already" } };
    for (const [first, second] of [
      ["AUTHORIZED", "DENIED"],
      ["DENIED", "AUTHORIZED"],
    ] as const) {
      const { decide } = await startDeviceAuthorization(emulator);
      assert.equal((await decide(first)).status, 200);
      assert.equal((await decide(first)).status, 200);
      for (const [status, cluster] of [
        [second, "eu-1"],
        ["PENDING", "eu-1"],
        [first, "us-1"],
      ] as const) {
        await assertRejected(emulator, () => decide(status, cluster), decided);
      }
    }
  });

  it("requires a known user code that has not expired", async (t) => {
    const emulator = await startTestEmulator(t);
    const { decide } = await startDeviceAuthorization(emulator);
    await assertRejected(emulator, () => decide("AUTHORIZED", "eu-1", "BBBB-BBBB"), {
      status: 404,
      body: { detail: "Unknown user code" },
    });
    await emulator.clock.advance({ by: 15 * minute });
    await assertRejected(emulator, () => decide("AUTHORIZED"), {
      status: 400,
      body: { detail: "The user code has expired" },
    });
  });

  it("requires a known cluster and rejects the key of another one", async (t) => {
    const emulator = await startTestEmulator(t, { strict: ["keys"] });
    const [eu, us] = emulator.clusters;
    const { user_code } = await startDeviceAuthorization(emulator);
    const decide = (cluster_id: string, key?: string) => () =>
      emulator.router("POST", decidePath, {
        body: { user_code, status: "AUTHORIZED", cluster_id },
        ...(key && { headers: { "x-cluster-key": key } }),
      });
    await assertRejected(emulator, decide("eu-1"), { status: 401, body: { detail: "Missing cluster key" } });
    await assertRejected(emulator, decide("eu-1", "guess"), { status: 401, body: { detail: "Invalid cluster key" } });
    await assertRejected(emulator, decide("ap-9", eu!.clusterKey), {
      status: 404,
      body: { detail: "Unknown cluster: ap-9" },
    });
    await assertRejected(emulator, decide("eu-1", us!.clusterKey), {
      status: 403,
      body: { detail: "This cluster key is not of cluster eu-1" },
    });
    assert.equal((await decide("eu-1", eu!.clusterKey)()).status, 200);
  });

  it("is removed with the workspace data of the bound cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const mine = await startDeviceAuthorization(emulator);
    const otherDevice = await startDeviceAuthorization(emulator);
    await mine.decide("PENDING", "eu-1");
    await otherDevice.decide("PENDING", "us-1");
    const user_codes = [mine.user_code, otherDevice.user_code];
    await emulator.router("DELETE", "/router/v1/clusters/eu-1/workspace-data", { body: { user_codes } });
    assert.equal((await mine.decide("DENIED")).status, 404);
    assert.equal((await otherDevice.decide("DENIED", "us-1")).status, 200);
  });

  it("is removed one day after the code expired", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll } = await startDeviceAuthorization(emulator);
    await emulator.clock.advance({ by: 15 * minute + 23 * 60 * minute });
    await startDeviceAuthorization(emulator);
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("expired_token"));
    await emulator.clock.advance({ by: 60 * minute });
    await startDeviceAuthorization(emulator);
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("invalid_grant"));
  });
});
