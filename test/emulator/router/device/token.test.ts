import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { createOAuthError, startDeviceAuthorization, tokenExchangeType } from "../../../support/identity/devices.ts";
import { confidentialClientSeed, formHeaders, listFindings } from "../../../support/identity/sign-in.ts";
import type { Receiver } from "../../../support/receiver.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { assertRejected } from "../../../support/rejections.ts";

const secondsToMs = (count: number) => count * 1_000;
const tokens = { access_token: "at", token_type: "Bearer", expires_in: 60, scope: "openid", of_their_own: [1] };
const down = { status: 503, body: { error: "temporarily_unavailable" } };

/** Starts a router whose only cluster is a receiver of the test. */
async function startBehindReceiver(
  t: Pick<TestContext, "after">,
  options: { file?: string; cluster?: Receiver; upstreamTimeoutMs?: number } = {},
) {
  const cluster = options.cluster ?? (await startReceiver(t));
  const emulator = await startTestEmulator(t, {
    file: options.file,
    ...(options.upstreamTimeoutMs && { upstreamTimeoutMs: options.upstreamTimeoutMs }),
    seed: {
      clusters: [{ id: "eu-1", label: "eu", external_url: cluster.url }],
      oauth_clients: [{ client_id: "demo-cli", client_name: "Demo" }],
    },
  });
  return { emulator, cluster };
}

const setResponse = (cluster: Receiver, status: number, body: unknown) =>
  cluster.respond((_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
  );

describe("device token endpoint", () => {
  it("returns tokens once after the decision", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("authorization_pending"));
    await decide("AUTHORIZED");
    await emulator.clock.advance({ by: secondsToMs(5) });
    const { status, body, headers } = await poll();
    const { access_token, refresh_token, id_token, ...rest } = body as Record<string, unknown>;
    assert.equal(status, 200);
    assert.deepEqual(rest, { token_type: "Bearer", expires_in: 3_600, scope: "openid profile email" });
    assert.match(String(access_token), /^ey[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.match(String(id_token), /^ey[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.match(String(refresh_token), /^eu-1_[\w-]{43}$/);
    assert.equal(headers.get("cache-control"), "no-store");
    await emulator.clock.advance({ by: secondsToMs(5) });
    await assertRejected(emulator, () => poll(), createOAuthError("invalid_grant"));
  });

  it("adds 5 s to the interval permanently after each early poll", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll } = await startDeviceAuthorization(emulator);
    const errorAfter = async (wait: number) => {
      await emulator.clock.advance({ by: secondsToMs(wait) });
      return ((await poll()).body as { error: string }).error;
    };
    assert.deepEqual(
      [
        await errorAfter(0.001),
        await errorAfter(1),
        await errorAfter(5),
        await errorAfter(15),
        await errorAfter(14),
        await errorAfter(19),
        await errorAfter(20),
      ],
      [
        "authorization_pending",
        "slow_down",
        "slow_down",
        "authorization_pending",
        "slow_down",
        "authorization_pending",
        "authorization_pending",
      ],
    );
  });

  it("returns access_denied after a denial", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("DENIED");
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("access_denied"));
  });

  it("returns expired_token after 15 virtual minutes, even after an approval", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    await emulator.clock.advance({ by: secondsToMs(900) });
    await assertRejected(emulator, () => poll(), createOAuthError("expired_token"));
  });

  it("requires the matching client and a known device code", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    await assertRejected(emulator, () => poll({ client_id: "demo-web" }), createOAuthError("invalid_grant"));
    await assertRejected(emulator, () => poll({ client_id: "nobody" }), createOAuthError("invalid_client"));
    await assertRejected(emulator, () => poll({ device_code: "guess" }), createOAuthError("invalid_grant"));
    assert.equal((await poll()).status, 200);
  });

  it("requires one of the two grant types", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll } = await startDeviceAuthorization(emulator);
    await assertRejected(emulator, () => poll({ grant_type: "password" }), {
      status: 422,
      body: {
        detail: [
          {
            type: "enum",
            loc: ["body", "grant_type"],
            msg: "Input should be 'urn:ietf:params:oauth:grant-type:device_code' or 'urn:ietf:params:oauth:grant-type:token-exchange'",
            input: "password",
            ctx: {
              expected:
                "'urn:ietf:params:oauth:grant-type:device_code' or 'urn:ietf:params:oauth:grant-type:token-exchange'",
            },
          },
        ],
      },
    });
  });

  it("rejects repeated form parameters", async (t) => {
    const emulator = await startTestEmulator(t);
    const { device_code } = await startDeviceAuthorization(emulator);
    const fields = `client_id=demo-cli&device_code=${device_code}&client_id=demo-web`;
    const error = { error: "invalid_request", error_description: "client_id is repeated" };
    for (const path of ["/router/v1/oauth2.0/token/", "/router/v1/oauth2.0/device/code/"]) {
      await assertRejected(emulator, () => emulator.router("POST", path, { body: fields, headers: formHeaders }), {
        status: 400,
        body: error,
      });
    }
    // Unknown parameters are ignored, even if they are repeated (RFC 6749, 3.1).
    const form = "client_id=demo-cli&campaign=a&campaign=b";
    const response = await emulator.router("POST", "/router/v1/oauth2.0/device/code/", {
      body: form,
      headers: formHeaders,
    });
    assert.equal(response.status, 200);
  });

  it("reports a confidential client without authentication as a finding", async (t) => {
    const emulator = await startTestEmulator(t, { seed: confidentialClientSeed });
    const [{ client_id, client_secret }] = confidentialClientSeed.oauth_clients;
    const { poll, decide } = await startDeviceAuthorization(emulator, client_id);
    await decide("AUTHORIZED");
    await poll({ client_secret });
    await emulator.clock.advance({ by: secondsToMs(5) });
    await poll({ client_secret: "guess" });
    const { items } = (await emulator.control("GET", "requests?operation=device-grant.poll")).body as {
      items: { findings: object[] }[];
    };
    assert.deepEqual(
      items.map(({ findings }) => findings),
      [[], [{ code: "client-unproven", detail: "demo portal has a secret, but did not authenticate" }]],
    );
  });

  it("returns the token type after a token exchange", async (t) => {
    const emulator = await startTestEmulator(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    const { status, body } = await poll({ grant_type: tokenExchangeType });
    assert.equal(status, 200);
    const { issued_token_type } = body as Record<string, unknown>;
    assert.equal(issued_token_type, "urn:ietf:params:oauth:token-type:access_token");
  });
});

describe("device token response", () => {
  it("comes from the cluster, which receives the original request", async (t) => {
    const { emulator, cluster } = await startBehindReceiver(t);
    setResponse(cluster, 200, tokens);
    const { poll, decide, device_code } = await startDeviceAuthorization(emulator);
    await poll();
    assert.equal(cluster.received.length, 0);
    await decide("AUTHORIZED");
    await emulator.clock.advance({ by: secondsToMs(5) });
    assert.deepEqual(pickStatusAndBody(await poll({ subject_token: "s" })), { status: 200, body: tokens });
    assert.deepEqual(
      cluster.received.map(({ method, url, body }) => [method, url, JSON.parse(body.toString())]),
      [
        [
          "POST",
          "/router/v1/oauth2.0/token/",
          {
            device_code,
            client_id: "demo-cli",
            grant_type: "urn:ietf:params:oauth:grant-type:device_code",
            subject_token: "s",
          },
        ],
      ],
    );
  });

  it("has an empty scope if the cluster omits the scope", async (t) => {
    const { emulator, cluster } = await startBehindReceiver(t);
    const { scope: _, ...without } = tokens;
    setResponse(cluster, 200, without);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    assert.deepEqual(pickStatusAndBody(await poll()), { status: 200, body: { ...without, scope: "" } });
  });

  it("has no lifetime if the cluster omits the lifetime", async (t) => {
    const { emulator, cluster } = await startBehindReceiver(t);
    const { expires_in: _, ...without } = tokens;
    setResponse(cluster, 200, without);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    assert.deepEqual(pickStatusAndBody(await poll()), { status: 200, body: without });
  });

  it("omits invalid fields, because a cluster issues tokens only once", async (t) => {
    const { emulator, cluster } = await startBehindReceiver(t);
    const { expires_in: _, ...fitting } = tokens;
    setResponse(cluster, 200, { ...fitting, expires_in: -1, refresh_token: null, scope: null });
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    assert.deepEqual(pickStatusAndBody(await poll()), { status: 200, body: { ...fitting, scope: "" } });
    assert.deepEqual(await listFindings(emulator, "router"), [
      { code: "no-cluster-key", detail: "x-cluster-key is absent" },
      {
        code: "token-response",
        detail: "members of eu-1 that do not conform to RFC 6749, 5.1: expires_in, refresh_token, scope",
      },
    ]);
  });

  it("is requested once for concurrent polls", async (t) => {
    const { emulator, cluster } = await startBehindReceiver(t);
    const { poll, decide } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    let respond = () => {};
    const requestReceived = new Promise<void>((resolve) =>
      cluster.respond((_, response) => {
        respond = () => response.end(JSON.stringify(tokens));
        resolve();
      }),
    );
    const first = poll();
    await requestReceived;
    await emulator.clock.advance({ by: secondsToMs(5) });
    assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError("authorization_pending"));
    respond();
    assert.deepEqual(pickStatusAndBody(await first), { status: 200, body: tokens });
    assert.equal(cluster.received.length, 1);
  });

  const troubles: [string, (cluster: Receiver) => void, upstreamTimeoutMs?: number][] = [
    ["closes the connection", (cluster) => cluster.respond((_, response) => response.destroy())],
    ["responds too late", (cluster) => cluster.respond(() => {}), 1_000],
    ["responds with 500", (cluster) => cluster.respond(500)],
    ["returns an unrelated document", (cluster) => setResponse(cluster, 200, { hello: "world" })],
    ["returns no usable access token", (cluster) => setResponse(cluster, 200, { ...tokens, access_token: 7 })],
    [
      "aborts its response",
      (cluster) => cluster.respond((_, r) => r.writeHead(200, { "content-length": "9" }).end("{")),
    ],
  ];
  for (const [label, disrupt, upstreamTimeoutMs] of troubles) {
    it(`stays available for the valid code if the cluster ${label}`, async (t) => {
      const { emulator, cluster } = await startBehindReceiver(t, { upstreamTimeoutMs });
      const { poll, decide } = await startDeviceAuthorization(emulator);
      await decide("AUTHORIZED");
      disrupt(cluster);
      const response = await poll();
      assert.deepEqual(pickStatusAndBody(response), down);
      assert.equal(response.headers.get("retry-after"), "5");
      setResponse(cluster, 200, tokens);
      await emulator.clock.advance({ by: secondsToMs(5) });
      assert.deepEqual(pickStatusAndBody(await poll()), { status: 200, body: tokens });
    });
  }

  for (const [theirs, ours] of [
    ["access_denied", "access_denied"],
    ["expired_token", "expired_token"],
    ["authorization_pending", "authorization_pending"],
    ["something_else", "invalid_grant"],
  ] as const) {
    it(`contains the error ${ours} if the cluster returns ${theirs}`, async (t) => {
      const { emulator, cluster } = await startBehindReceiver(t);
      const { poll, decide } = await startDeviceAuthorization(emulator);
      await decide("AUTHORIZED");
      setResponse(cluster, 400, { error: theirs });
      assert.deepEqual(pickStatusAndBody(await poll()), createOAuthError(ours));
    });
  }

  it("can be requested again after a crash", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-device-"));
    addCleanup(t, () => rm(folder, { recursive: true }));
    const file = join(folder, "emulator.json");
    const { emulator, cluster } = await startBehindReceiver(t, { file, upstreamTimeoutMs: 1_000 });
    const { poll, decide, device_code } = await startDeviceAuthorization(emulator);
    await decide("AUTHORIZED");
    const requestReceived = new Promise<void>((resolve) => cluster.respond(() => resolve()));
    const lost = poll().catch(() => {});
    await requestReceived;
    const stateThen = (await emulator.control("GET", "state")).body;
    await lost;
    // This is the state of a process that was killed during its request to the cluster.
    await emulator.control("PUT", "state", { body: stateThen });
    await emulator.close();

    setResponse(cluster, 200, tokens);
    const again = await startBehindReceiver(t, { file, cluster });
    await again.emulator.clock.advance({ by: secondsToMs(5) });
    const body = { device_code, client_id: "demo-cli", grant_type: "urn:ietf:params:oauth:grant-type:device_code" };
    assert.deepEqual(pickStatusAndBody(await again.emulator.router("POST", "/router/v1/oauth2.0/token/", { body })), {
      status: 200,
      body: tokens,
    });
  });
});
