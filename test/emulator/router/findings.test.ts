import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { signChatA, signCrmA } from "../../../src/schemes/connected-apps.ts";
import { deviceGrantType } from "../../support/identity/devices.ts";
import { formHeaders } from "../../support/identity/sign-in.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../support/routed-emulator.ts";

interface RequestPage {
  readonly items: readonly { readonly findings: readonly object[] }[];
}

const virtualNow = Date.parse("2031-01-02T03:04:05Z");

/** Returns the findings of the newest request to the router. */
const getNewestFindings = async (emulator: RoutedEmulator) =>
  ((await emulator.control("GET", "requests?service=router")).body as RequestPage).items.at(-1)?.findings;

describe("request log of the routing service", () => {
  it("reports a missing cluster key and moved identifiers", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const noKey = { code: "no-cluster-key", detail: "x-cluster-key is absent" };
    const [ada, bob, cy] = ["ada@x.example", "bob@x.example", "cy@x.example"].map(hashEmail) as [
      string,
      string,
      string,
    ];
    await emulator.map("emails", "eu-1", [ada, bob]);
    assert.deepEqual(await getNewestFindings(emulator), [noKey]);
    await emulator.map("emails", "us-1", [ada, bob, cy]);
    assert.deepEqual(await getNewestFindings(emulator), [
      noKey,
      { code: "mapping-moved", detail: "2 of cluster_emails belonged to another cluster" },
    ]);
  });

  it("reports requested clusters and unused responses", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const finding = { code: "asked-several", detail: "eu-1, us-1" };
    await emulator.router("GET", "/x");
    assert.deepEqual(await getNewestFindings(emulator), [
      finding,
      { code: "response-dropped", detail: "us-1 responded 200, not the first" },
    ]);
    emulator.eu.respond((_, response) => response.destroy());
    await emulator.router("GET", "/x");
    assert.deepEqual(await getNewestFindings(emulator), [
      finding,
      { code: "cluster-unreachable", detail: "eu-1: UND_ERR_SOCKET" },
    ]);
  });

  it("reports a late response", async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 500 });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      emulator.us.respond((_, response) => {
        response.on("close", resolve);
        finish = () => response.end("late");
      });
    });
    await emulator.router("GET", "/x");
    const finding = { code: "asked-several", detail: "eu-1, us-1" };
    assert.deepEqual(await getNewestFindings(emulator), [finding]);
    finish();
    await finished;
    assert.deepEqual(await getNewestFindings(emulator), [
      finding,
      { code: "response-dropped", detail: "us-1 responded 200, late" },
    ]);
  });

  it("reports a form instead of declared JSON, unless the standard requires a form", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const found = { code: "form-body", detail: "the specification declares only JSON" };
    for (const [path, fields, expected] of [
      ["/router/v1/oauth2.0/device/code/", "client_id=demo-cli", [found]],
      ["/router/v1/oauth2.0/token/", `client_id=demo-cli&device_code=x&grant_type=${deviceGrantType}`, [found]],
      ["/api/v1/oauth/token/", "grant_type=refresh_token", []],
    ] as const) {
      await emulator.router("POST", path, { body: fields, headers: formHeaders });
      assert.deepEqual(await getNewestFindings(emulator), expected);
    }
    await emulator.router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id: "demo-cli" } });
    assert.deepEqual(await getNewestFindings(emulator), []);
  });

  it("reports an unchecked chat_a signature", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1"]);
    await emulator.router("POST", "/router/v1/integrations/chat_a/webhook/event/", { body: { team_id: "T1" } });
    assert.deepEqual(await getNewestFindings(emulator), [
      { code: "signature-unchecked", detail: "the seed has no signing secret of chat_a" },
    ]);
  });

  const byWall = { code: "signature-fresh-by-wall", detail: "the signature is too old by the virtual clock" };

  it("reports a chat_a signature that is fresh only by the wall clock", async (t) => {
    const signingSecret = "s3cret";
    const emulator = await startRoutedEmulator(t, { apps: { chat_a: { signing_secret: signingSecret } } });
    await emulator.map("teams", "us-1", ["T1"]);
    const body = '{"team_id":"T1"}';
    for (const [at, expected] of [
      [virtualNow, []],
      [Date.now(), [byWall]],
    ] as const) {
      const timestamp = String(Math.floor(at / 1_000));
      const headers = {
        "content-type": "application/json",
        "x-chat-a-request-timestamp": timestamp,
        "x-chat-a-signature": signChatA({ signingSecret, timestamp, body }),
      };
      const { status } = await emulator.router("POST", "/router/v1/integrations/chat_a/webhook/event/", {
        body,
        headers,
      });
      assert.deepEqual([status, await getNewestFindings(emulator)], [200, expected]);
    }
  });

  it("reports a crm_a signature that is fresh only by the wall clock", async (t) => {
    const clientSecret = "s3cret";
    const emulator = await startRoutedEmulator(t, { apps: { crm_a: { client_secret: clientSecret } } });
    const path = "/router/v1/crm_a/cards";
    for (const [at, expected] of [
      [virtualNow, []],
      [Date.now(), [byWall]],
    ] as const) {
      const signed = { clientSecret, method: "GET", url: emulator.routerUrl + path, body: "", timestamp: String(at) };
      const headers = {
        "x-crm-a-signature": signCrmA({ version: "v3", ...signed }),
        "x-crm-a-signature-version": "v3",
        "x-crm-a-signature-timestamp": signed.timestamp,
      };
      const { status } = await emulator.router("GET", path, { headers });
      assert.deepEqual([status, await getNewestFindings(emulator)], [200, expected]);
    }
  });
});
