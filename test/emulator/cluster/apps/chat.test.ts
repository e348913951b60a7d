import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDraftContract } from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestResponse } from "../../../support/emulator.ts";

const chatA = "/router/v1/integrations/chat_a/webhook";

/** Contract T-1 and its comments from chats. */
async function startChatApp(t: TestContext) {
  const emulator = await startTestEmulator(t);
  const readPayloads = await subscribe(t, emulator, ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"]);
  await createDraftContract(emulator.api);
  const form = (payload: object) => ({
    body: `payload=${encodeURIComponent(JSON.stringify(payload))}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  return {
    ...emulator,
    readPayloads,
    event: (event: object, team_id = "T-NORTHWIND") =>
      emulator.router("POST", `${chatA}/event/`, { body: { type: "event_callback", team_id, event } }),
    interact: (payload: object, team = "T-NORTHWIND") =>
      emulator.router("POST", `${chatA}/interaction`, form({ team: { id: team }, user: { name: "jo" }, ...payload })),
    options: (value: string, team = "T-NORTHWIND") =>
      emulator.router("POST", `${chatA}/options`, form({ type: "block_suggestion", team: { id: team }, value })),
    async activity(body: object) {
      const { token } = (await emulator.control("POST", "chat-b/token", { body: {} })).body as { token: string };
      const channelData = { tenant: { id: "tenant-northwind" } };
      const headers = { authorization: `Bearer ${token}` };
      const sent = { channelId: "msteams", channelData, from: { name: "Jo Doe" }, ...body };
      return emulator.router("POST", "/router/v1/integrations/chat_b/webhook/messaging", { body: sent, headers });
    },
    async comments() {
      const { body } = await emulator.api("GET", "/api/v2.1/public/contracts/1/comments/");
      return (body as { results: { comment: string }[] }).results.map(({ comment }) => comment);
    },
    async findings() {
      const { items } = (await emulator.control("GET", "requests")).body as {
        items: { findings: { code: string; detail: string }[] }[];
      };
      const found = items.flatMap(({ findings }) => findings);
      return found.filter(({ code }) => code.startsWith("unknown-")).map(({ code, detail }) => `${code}: ${detail}`);
    },
  };
}

const commentAdded = { status: 200, body: { text: "Comment added to T-1." } };
const nothing = { status: 200, body: {} };

describe("message that names a contract", () => {
  it("creates a comment from chat_a", async (t) => {
    const { event, comments, readPayloads } = await startChatApp(t);
    const text = "<@U1> what about T-1?";
    assert.deepEqual(pickStatusAndBody(await event({ type: "app_mention", user: "U7", text })), commentAdded);
    assert.deepEqual(await comments(), [text]);
    const [activity] = await readPayloads();
    assert.deepEqual(activity?.activity_data.performed_by, { name: "U7" });
  });

  it("creates a comment from chat_b", async (t) => {
    const { activity, comments } = await startChatApp(t);
    assert.deepEqual(pickStatusAndBody(await activity({ type: "message", text: "T-1 is urgent" })), {
      status: 200,
      body: { type: "message", text: "Comment added to T-1." },
    });
    assert.deepEqual(await comments(), ["T-1 is urgent"]);
  });

  it("ignores messages without a contract and messages from a bot", async (t) => {
    const { event, activity, comments, findings } = await startChatApp(t);
    assert.deepEqual(pickStatusAndBody(await event({ type: "app_mention", text: "hello" })), nothing);
    assert.deepEqual(pickStatusAndBody(await event({ type: "message", bot_id: "B1", text: "T-1" })), nothing);
    assert.deepEqual(pickStatusAndBody(await activity({ type: "typing" })), nothing);
    assert.deepEqual([await comments(), await findings()], [[], []]);
  });
});

describe("interaction that names a contract", () => {
  const button = { action_id: "approve", text: { type: "plain_text", text: "Looks good" }, value: "T-1" };
  const field = { values: { note: { text: { type: "plain_text_input", value: "Please shorten section 4" } } } };
  const interactions: readonly (readonly [label: string, payload: object, comment: string])[] = [
    ["a button", { type: "block_actions", actions: [button] }, "jo: Looks good"],
    [
      "a menu",
      { type: "block_actions", actions: [{ action_id: "pick", selected_option: { value: "T-1" } }] },
      "jo: pick",
    ],
    [
      "a form",
      { type: "view_submission", view: { private_metadata: '{"contract":"T-1"}', state: field } },
      "Please shorten section 4",
    ],
    ["a shortcut on a message", { type: "message_action", callback_id: "T-1" }, "jo: message_action"],
  ];
  for (const [label, payload, comment] of interactions) {
    it(`creates a comment from ${label} of chat_a`, async (t) => {
      const { interact, comments, readPayloads } = await startChatApp(t);
      assert.deepEqual(pickStatusAndBody(await interact(payload)), commentAdded);
      assert.deepEqual(await comments(), [comment]);
      assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"]);
    });
  }

  it("creates a comment from a card of chat_b", async (t) => {
    const { activity, comments } = await startChatApp(t);
    const value = { action: { verb: "comment", data: { contract_id: "T-1", comment: "Signed on paper" } } };
    assert.equal((await activity({ type: "invoke", name: "adaptiveCard/action", value })).status, 200);
    assert.deepEqual(await comments(), ["Signed on paper"]);
  });

  for (const [label, value, team, finding] of [
    ["no contract", "later", "T-NORTHWIND", "unknown-contract: no contract is given"],
    ["an unknown contract", "T-99", "T-NORTHWIND", "unknown-contract: the workspace has no contract T-99"],
    ["a contract by another letter", "H-1", "T-NORTHWIND", "unknown-contract: the workspace has no contract H-1"],
    ["a contract in a team of no workspace", "T-1", "T-OTHER", "unknown-workspace: no workspace of eu-1 has T-OTHER"],
  ] as const) {
    it(`records a finding for an interaction with ${label}`, async (t) => {
      const { interact, router, clusters, comments, findings } = await startChatApp(t);
      const teams = { cluster_id: "eu-1", chat_a_team_id_list: ["T-OTHER"] };
      const headers = { "x-cluster-key": clusters[0]!.clusterKey };
      await router("POST", "/router/v1/cluster_chat_a_teams/bulk", { body: teams, headers });
      const payload = { type: "block_actions", actions: [{ ...button, value }] };
      assert.deepEqual(pickStatusAndBody(await interact(payload, team)), nothing);
      assert.deepEqual([await comments(), await findings()], [[], [finding]]);
    });
  }

  it("does not find contracts of another workspace's team", async (t) => {
    const { interact, comments } = await startChatApp(t);
    await interact({ type: "block_actions", actions: [button] }, "T-FABRIKAM");
    assert.deepEqual(await comments(), []);
  });
});

describe("options menu of chat_a", () => {
  const option = (id: string, name: string) => ({ text: { type: "plain_text", text: `${id} ${name}` }, value: id });
  const listOptions = (response: TestResponse) => (response.body as { options: object[] }).options;

  it("lists the workspace's contracts that match the query, newest first", async (t) => {
    const { api, options } = await startChatApp(t);
    await createDraftContract(api, { contract_name: "Order form with Acme" });
    await createDraftContract(api, { contract_name: "NDA with Globex" });
    assert.deepEqual(listOptions(await options("nda")), [
      option("T-3", "NDA with Globex"),
      option("T-1", "NDA with Acme"),
    ]);
    assert.deepEqual(listOptions(await options("t-2")), [option("T-2", "Order form with Acme")]);
    assert.equal(listOptions(await options("")).length, 3);
    assert.deepEqual(listOptions(await options("lease")), []);
    assert.deepEqual(listOptions(await options("nda", "T-FABRIKAM")), []);
  });

  it("lists at most 100 contracts with displayable names", async (t) => {
    const { api, options } = await startChatApp(t);
    for (let at = 0; at < 101; at += 1) await createDraftContract(api, { contract_name: "x".repeat(200) });
    const all = listOptions(await options("x")) as { text: { text: string } }[];
    assert.deepEqual([all.length, all[0]?.text.text.length], [100, 75]);
  });
});
