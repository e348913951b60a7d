import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { App, HTTPReceiver, LogLevel } from "@slack/bolt";
import { signChatA } from "../../src/schemes/connected-apps.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator, type TestResponse } from "../support/emulator.ts";

/** The official library of chat_a as a cluster behind the router. It verifies the signature of every request. */
const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";
const base = "/router/v1/integrations/chat_a/webhook";
const paths = { event: `${base}/event/`, interaction: `${base}/interaction`, options: `${base}/options` };

interface Stage {
  readonly emulator: TestEmulator;
  /** The kind and the distinguishing value of each received message. */
  readonly received: unknown[];
  send(path: string, body: string, headers?: Record<string, string>): Promise<TestResponse>;
}

async function startBoltApp(t: TestContext, { checksItself = true } = {}): Promise<Stage> {
  const received: unknown[] = [];
  const receiver = new HTTPReceiver({ signingSecret, endpoints: Object.values(paths), logLevel: LogLevel.ERROR });
  const app = new App({
    receiver,
    logLevel: LogLevel.ERROR,
    authorize: async () => ({ botToken: "xoxb-test", botId: "B1", botUserId: "U1" }),
  });
  app.event("app_mention", async ({ event, context }) => {
    received.push(["event", event.text, context.retryNum, context.retryReason]);
  });
  app.action("approve", async ({ ack, body }) => {
    received.push(["action", body.user.id]);
    await ack();
  });
  app.options("people", async ({ ack, options }) => {
    received.push(["options", options.value]);
    await ack({ options: [{ text: { type: "plain_text", text: "Zoë" }, value: "zoe" }] });
  });
  const server = createServer((request, response) => receiver.requestListener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });

  const emulator = await startTestEmulator(t, {
    seed: {
      clusters: [
        { id: "eu-1", label: "eu" },
        { id: "bolt", label: "bolt", external_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      ],
      mappings: { chat_a_teams: { bolt: ["T1"] } },
      apps: { chat_a: { signing_secret: checksItself ? signingSecret : null } },
    },
  });
  return {
    emulator,
    received,
    send(path, body, headers = {}) {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      return emulator.router("POST", path, {
        body,
        headers: {
          "content-type": path === paths.event ? "application/json" : "application/x-www-form-urlencoded",
          "x-slack-request-timestamp": timestamp,
          "x-slack-signature": signChatA({ signingSecret, timestamp, body }),
          ...headers,
        },
      });
    },
  };
}

const createMention = (text: string) =>
  JSON.stringify({
    type: "event_callback",
    team_id: "T1",
    api_app_id: "A1",
    event: { type: "app_mention", text, user: "U2", channel: "C1", ts: "1.1", event_ts: "1.1" },
    event_id: "Ev1",
    event_time: 1,
  });

const formatPayload = (value: object) => `payload=${encodeURIComponent(JSON.stringify(value))}`;
const action = formatPayload({
  type: "block_actions",
  team: { id: "T1", domain: "x" },
  user: { id: "U2" },
  api_app_id: "A1",
  token: "t",
  trigger_id: "1",
  actions: [{ type: "button", action_id: "approve", block_id: "b", value: "1", action_ts: "1" }],
});
const suggestion = formatPayload({
  type: "block_suggestion",
  team: { id: "T1", domain: "x" },
  user: { id: "U2" },
  api_app_id: "A1",
  token: "t",
  action_id: "people",
  block_id: "b",
  value: "zo",
});

describe("cluster with chat_a's official library", () => {
  it("receives an event and its retries with valid signatures", async (t) => {
    const { received, send } = await startBoltApp(t);
    assert.deepEqual(pickStatusAndBody(await send(paths.event, createMention("café é"))), { status: 200, body: "" });
    const retry = { "x-slack-retry-num": "2", "x-slack-retry-reason": "http_timeout" };
    assert.equal((await send(paths.event, createMention("again"), retry)).status, 200);
    assert.deepEqual(received, [
      ["event", "café é", undefined, undefined],
      ["event", "again", 2, "http_timeout"],
    ]);
  });

  it("responds to interactions and options through the router", async (t) => {
    const { received, send } = await startBoltApp(t);
    // The library acknowledges with an empty body, which the router's declared response turns into an object.
    assert.deepEqual(pickStatusAndBody(await send(paths.interaction, action)), { status: 200, body: {} });
    assert.deepEqual(pickStatusAndBody(await send(paths.options, suggestion)), {
      status: 200,
      body: { options: [{ text: { type: "plain_text", text: "Zoë" }, value: "zoe" }] },
    });
    assert.deepEqual(received, [
      ["action", "U2"],
      ["options", "zo"],
    ]);
  });

  it("rejects an invalid signature that the router does not check", async (t) => {
    const { received, send, emulator } = await startBoltApp(t, { checksItself: false });
    const bad = { "x-slack-signature": `v0=${"0".repeat(64)}` };
    for (const [path, body] of [
      [paths.event, createMention("x")],
      [paths.interaction, action],
      [paths.options, suggestion],
    ] as const) {
      assert.equal((await send(path, body, bad)).status, 401);
      assert.equal((await send(path, body)).status, 200);
    }
    assert.equal(received.length, 3);
    assert.equal(emulator.clusters[1]?.external, true);
  });

  it("receives requests from the command line under the real header names", async (t) => {
    const { received, emulator } = await startBoltApp(t, { checksItself: false });
    const { exit } = await runCli(
      ["chat-a", "event", "--file", "-", "--header-prefix", "x-slack", "--base-url", emulator.routerUrl],
      { env: { SVC_CHAT_A_SIGNING_SECRET: signingSecret }, stdin: createMention("from a terminal") },
    );
    assert.equal(exit, 0);
    assert.deepEqual(received, [["event", "from a terminal", undefined, undefined]]);
  });
});
