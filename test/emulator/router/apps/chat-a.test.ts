import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signChatA } from "../../../../src/schemes/connected-apps.ts";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const event = "/router/v1/integrations/chat_a/webhook/event/";
const interaction = "/router/v1/integrations/chat_a/webhook/interaction";
const options = "/router/v1/integrations/chat_a/webhook/options";
const getDestinationPaths = (destination: string) => ({
  event: `/router/v1/integrations/destinations/${destination}/chat_a/webhook/event/`,
  interaction: `/router/v1/integrations/destinations/${destination}/chat_a/webhook/interaction`,
  options: `/router/v1/integrations/destinations/${destination}/chat_a/webhook/options`,
  oauthRedirect: `/router/v1/integrations/destinations/${destination}/chat_a/oauth_redirect`,
});

const formHeaders = { "content-type": "application/x-www-form-urlencoded" };
const createPayloadRequest = (value: object) => ({
  body: `payload=${encodeURIComponent(JSON.stringify(value))}`,
  headers: formHeaders,
});

/** Virtual time of the tests' clock, in seconds. */
const now = Date.parse("2031-01-02T03:04:05Z") / 1_000;

describe("chat_a", () => {
  it("forwards an event unchanged to its team's cluster, including retries", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1"]);
    const body = '{ "type":"event_callback","team_id":"T1","event_id":"Ev1","text":"caf\\u00e9 é" }';
    const retry = { "x-retry-num": "2", "x-retry-reason": "http_timeout" };
    emulator.us.respond((_, response) => response.writeHead(202).end());
    const response = await emulator.router("POST", event, {
      body,
      headers: { "content-type": "application/json", ...retry },
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 202, body: "" });
    assert.deepEqual(emulator.eu.received, []);
    const [request] = emulator.us.received;
    assert.equal(request?.body.toString(), body);
    assert.equal(request?.headers["x-retry-num"], "2");
    assert.equal(request?.headers["content-type"], "application/json");
  });

  it("forwards an event of an unknown team or invalid JSON to every cluster", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.router("POST", event, { body: { type: "event_callback", team_id: "T9" } });
    await emulator.router("POST", event, { body: "{{{" });
    assert.deepEqual(
      emulator.listForwarded(),
      Array(2)
        .fill(`eu POST ${event}`)
        .concat(Array(2).fill(`us POST ${event}`)),
    );
  });

  it("recognizes a team by the specified field name in events and forms", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1"]);
    await emulator.router("POST", event, { body: { type: "event_callback", chat_a_team_id: "T1" } });
    await emulator.router("POST", interaction, createPayloadRequest({ chat_a_team_id: "T1" }));
    await emulator.router("POST", options, { body: "chat_a_team_id=T1", headers: formHeaders });
    assert.deepEqual(emulator.listForwarded(), [`us POST ${event}`, `us POST ${interaction}`, `us POST ${options}`]);
  });

  it("uses the last payload of a form, as FastAPI does", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "eu-1", ["T1"]);
    await emulator.map("teams", "us-1", ["T2"]);
    const body = ["T1", "T2"].map((id) => createPayloadRequest({ team: { id } }).body).join("&");
    await emulator.router("POST", interaction, { body, headers: formHeaders });
    assert.deepEqual(emulator.listForwarded(), [`us POST ${interaction}`]);
  });

  it("responds to url_verification directly", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const body = { type: "url_verification", token: "t", challenge: "3eZbrw1a" };
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", event, { body })), {
      status: 200,
      body: { challenge: "3eZbrw1a" },
    });
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("responds to the certificate check directly, without a signature", async (t) => {
    const emulator = await startRoutedEmulator(t, { apps: { chat_a: { signing_secret: "s3cret" } } });
    const check = async (path: string) => {
      const response = await emulator.router("POST", path, { body: "ssl_check=1&token=t", headers: formHeaders });
      return pickStatusAndBody(response);
    };
    for (const path of [interaction, getDestinationPaths("default").interaction]) {
      assert.deepEqual(await check(path), { status: 200, body: {} }, path);
    }
    for (const path of [event, options, getDestinationPaths("default").options]) {
      assert.deepEqual(await check(path), { status: 200, body: "" }, path);
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("finds an interaction's team or enterprise", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1", "E1"]);
    await emulator.router("POST", interaction, createPayloadRequest({ type: "block_actions", team: { id: "T1" } }));
    await emulator.router(
      "POST",
      options,
      createPayloadRequest({ type: "block_suggestion", team: null, enterprise: { id: "E1" } }),
    );
    await emulator.router("POST", interaction, createPayloadRequest({ team: { id: "T9" }, enterprise: { id: "E1" } }));
    await emulator.router("POST", options, createPayloadRequest({ type: "block_suggestion", team: { id: "T9" } }));
    assert.deepEqual(emulator.listForwarded(), [
      `eu POST ${options}`,
      `us POST ${interaction}`,
      `us POST ${options}`,
      `us POST ${interaction}`,
      `us POST ${options}`,
    ]);
  });

  it("replaces only an empty response to an interaction with an object", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1"]);
    const press = (path: string) => emulator.router("POST", path, createPayloadRequest({ team: { id: "T1" } }));
    const destined = getDestinationPaths("us").interaction;
    for (const path of [interaction, destined]) {
      assert.deepEqual(pickStatusAndBody(await press(path)), { status: 200, body: {} });
    }
    assert.deepEqual(pickStatusAndBody(await press(options)), { status: 200, body: "" });

    emulator.us.respond((_, response) => response.end('{"response_action":"clear"}'));
    assert.deepEqual(pickStatusAndBody(await press(interaction)), { status: 200, body: { response_action: "clear" } });
    emulator.us.respond(500);
    assert.deepEqual(pickStatusAndBody(await press(interaction)), { status: 500, body: "" });
  });

  it("forwards a message only within its destination", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.map("teams", "us-1", ["T1"]);
    const send = async (destination: string) => {
      const path = getDestinationPaths(destination).event;
      await emulator.router("POST", path, { body: { team_id: "T1" } });
      return emulator.listForwarded().map((line) => line.slice(0, 2));
    };
    assert.deepEqual(await send("default"), ["us"], "the owner belongs to it");
    assert.deepEqual(await send("us"), ["us"]);
    assert.deepEqual(await send("eu"), ["eu"], "the owner does not belong to it, so all of it are asked");
  });

  it("forwards an authorization callback to every cluster of the destination", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const path = `${getDestinationPaths("default").oauthRedirect}?code=c&state=us-1_s`;
    emulator.eu.respond(400);
    emulator.us.respond((_, response) => response.end("installed"));
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), { status: 200, body: "installed" });
    assert.deepEqual(emulator.listForwarded(), [`eu GET ${path}`, `us GET ${path}`]);
  });

  it("rejects an unknown destination", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const { oauthRedirect, ...webhooks } = getDestinationPaths("mars");
    const requests = [
      ...Object.values(webhooks).map((path) => ["POST", path] as const),
      ["GET", oauthRedirect] as const,
    ];
    for (const [method, path] of requests) {
      assert.deepEqual(pickStatusAndBody(await emulator.router(method, path)), {
        status: 404,
        body: { detail: "Unknown destination: mars" },
      });
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("rejects an unknown destination for a challenge or certificate check", async (t) => {
    const { router } = await startRoutedEmulator(t);
    const { interaction, event: eventPath } = getDestinationPaths("mars");
    const rejection = { status: 404, body: { detail: "Unknown destination: mars" } };
    const probe = { body: "ssl_check=1", headers: { "content-type": "application/x-www-form-urlencoded" } };
    assert.deepEqual(pickStatusAndBody(await router("POST", interaction, probe)), rejection);
    const challenge = { type: "url_verification", challenge: "c" };
    assert.deepEqual(pickStatusAndBody(await router("POST", eventPath, { body: challenge })), rejection);
  });

  it("uses a separate timeout setting for clusters", async (t) => {
    const emulator = await startRoutedEmulator(t, { chatUpstreamTimeoutMs: 40 });
    await emulator.map("teams", "us-1", ["T1"]);
    emulator.us.respond(() => {});
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", event, { body: { team_id: "T1" } })), {
      status: 504,
      body: { detail: "Cluster us-1 did not answer in time" },
    });
  });

  describe("configured signing secret", () => {
    const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";
    const apps = { chat_a: { signing_secret: signingSecret } };
    const body = '{"type":"event_callback","team_id":"T1","text":"é"}';
    const signed = (at: number, changes: Record<string, string> = {}) => ({
      "content-type": "application/json",
      "x-chat-a-request-timestamp": String(at),
      "x-chat-a-signature": signChatA({ signingSecret, timestamp: String(at), body }),
      ...changes,
    });

    it("accepts a valid signature that is fresh by either clock", async (t) => {
      const emulator = await startRoutedEmulator(t, { apps });
      const wall = Math.floor(Date.now() / 1_000);
      for (const at of [now, now - 300, wall]) {
        assert.equal((await emulator.router("POST", event, { body, headers: signed(at) })).status, 200);
      }
      const [request] = emulator.eu.received;
      assert.equal(request?.headers["x-chat-a-signature"], signed(now)["x-chat-a-signature"]);
    });

    it("rejects every other signature without forwarding the request", async (t) => {
      const emulator = await startRoutedEmulator(t, { apps, strict: ["signatures"] });
      const attempts = {
        unsigned: { "content-type": "application/json" },
        "too old": signed(now - 301),
        "fresh on the wall clock alone, under --strict=signatures": signed(Math.floor(Date.now() / 1_000) - 1_000),
        tampered: signed(now, { "x-chat-a-signature": `v0=${"0".repeat(64)}` }),
        "of another version": signed(now, { "x-chat-a-signature": "v1=abc" }),
        "without a timestamp": signed(now, { "x-chat-a-request-timestamp": "" }),
      };
      const { oauthRedirect: _, ...webhooks } = getDestinationPaths("default");
      for (const [name, headers] of Object.entries(attempts)) {
        for (const path of [event, interaction, options, ...Object.values(webhooks)]) {
          assert.deepEqual(
            pickStatusAndBody(await emulator.router("POST", path, { body, headers })),
            { status: 401, body: { detail: "Invalid request signature" } },
            name,
          );
        }
      }
      assert.deepEqual(emulator.listForwarded(), []);
    });

    it("reports the rejection reason only in the request log", async (t) => {
      const emulator = await startRoutedEmulator(t, { apps, strict: ["signatures"] });
      await emulator.router("POST", event, { body, headers: signed(now - 301) });
      await emulator.router("POST", event, { body, headers: signed(now, { "x-chat-a-signature": "v0=00" }) });
      await emulator.router("POST", event, { body });
      const { items } = (await emulator.control("GET", "requests?service=router")).body as {
        items: { findings: object[] }[];
      };
      assert.deepEqual(
        items.slice(-3).map(({ findings }) => findings),
        ["stale", "mismatch", "missing"].map((detail) => [{ code: "chat-a-signature-refused", detail }]),
      );
    });
  });
});
