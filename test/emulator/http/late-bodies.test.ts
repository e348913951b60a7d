import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createContractRequest, createDraftContract } from "../../support/contracts.ts";
import { createSender, startTestEmulator } from "../../support/emulator.ts";

interface LateRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends headers, calls `meanwhile` once the server reads the body, then sends the body. */
async function sendLate(url: string, { body, ...options }: LateRequest, meanwhile: () => Promise<unknown>) {
  const length = String(Buffer.byteLength(body));
  const headers = { ...options.headers, "content-length": length, expect: "100-continue" };
  const sent = request(url, { ...options, headers });
  sent.flushHeaders();
  const response = once(sent, "response") as Promise<[IncomingMessage]>;
  await once(sent, "continue");
  await meanwhile();
  sent.end(body);
  const [received] = await response;
  return { status: received.statusCode, text: await text(received) };
}

async function startTeam(t: TestContext) {
  const bugs: string[] = [];
  const emulator = await startTestEmulator(t, { log: (line) => bugs.push(line) });
  const createTeam = async (name: string) =>
    (await emulator.control("POST", "workspaces", { body: { name } })).body as Record<"id" | "client_id", string>;
  const team = (await createTeam("Team A")) as Record<string, string>;
  const key = { "client-id": team.client_id!, "client-secret": team.client_secret! };
  const { url } = emulator.clusters[0]!;
  const countRows = async (collection: string) => {
    const { rows } = (await emulator.control("GET", "state")).body as { rows: Record<string, object[]> };
    return rows[collection]?.length ?? 0;
  };
  return { emulator, bugs, createTeam, team, key, url, api: createSender(url, key), countRows };
}

const json = { "content-type": "application/json" };
const webhook = JSON.stringify({ title: "A", url: "http://localhost:9/", only_for_activities: ["CONTRACT_CREATED"] });

describe("request whose body arrives late", () => {
  it("is rejected if its workspace was removed meanwhile", async (t) => {
    const { emulator, bugs, team, key, url, countRows } = await startTeam(t);
    const create = { method: "POST", headers: { ...json, ...key }, body: webhook };
    const { status } = await sendLate(`${url}/api/v2.1/public/webhooks/`, create, () =>
      emulator.control("DELETE", `workspaces/${team.id}`),
    );
    assert.deepEqual([status, await countRows("webhook_subscriptions"), bugs], [401, 0, []]);
  });

  it("changes nothing in a workspace that has got the number of its own", async (t) => {
    const { emulator, createTeam, team, key, url, countRows } = await startTeam(t);
    const create = { method: "POST", headers: { ...json, ...key }, body: webhook };
    const { status } = await sendLate(`${url}/api/v2.1/public/webhooks/`, create, async () => {
      await emulator.control("POST", "reset");
      assert.equal((await createTeam("Team B")).id, team.id);
    });
    assert.deepEqual([status, await countRows("webhook_subscriptions")], [401, 0]);
  });

  it("is rejected if its token was revoked meanwhile", async (t) => {
    const { emulator } = await startTeam(t);
    const { token } = (await emulator.control("POST", "tokens/ci", { body: { role: "operate" } })).body as {
      token: string;
    };
    const fault = { direction: "incoming", status: 500 };
    const add = { method: "POST", headers: { ...json, authorization: `Bearer ${token}` }, body: JSON.stringify(fault) };
    const { status } = await sendLate(`${emulator.controlUrl}/faults`, add, () =>
      emulator.control("DELETE", "tokens/ci"),
    );
    assert.deepEqual([status, (await emulator.control("GET", "faults")).body], [401, []]);
  });

  it("stores no file of a workspace that was removed meanwhile", async (t) => {
    const { emulator, team, api, countRows } = await startTeam(t);
    const files = [{ filename: "msa.txt", content_type: "text/plain" }];
    const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: uploadUrl }] = (body as { files: [{ upload_url: string }] }).files;
    const put = { method: "PUT", headers: { "content-type": "text/plain" }, body: "bytes" };
    const { status } = await sendLate(uploadUrl, put, () => emulator.control("DELETE", `workspaces/${team.id}`));
    assert.deepEqual([status, await countRows("stored_objects")], [403, 0]);
  });

  it("has a number of its own if a rewind let the numbers begin again", async (t) => {
    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    const { clientId, clientSecret, url } = emulator.clusters[0]!;
    const headers = { ...json, "client-id": clientId!, "client-secret": clientSecret! };
    const body = JSON.stringify(createContractRequest());
    await createDraftContract(emulator.api);
    await sendLate(`${url}/api/v2.1/public/contracts/`, { method: "POST", headers, body }, async () => {
      assert.equal((await emulator.control("POST", "rewind", { body: { steps: 1 } })).status, 200);
      for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
    });
    const readCause = async (contract: number) => {
      const { body } = await emulator.control("GET", `traces/T-${contract}`);
      return (body as { nodes: readonly { id: string }[] }).nodes[0]!.id;
    };
    assert.deepEqual(
      await Promise.all([1, 2, 3, 4].map(readCause)),
      [1, 2, 3, 4].map((number) => `request:${number}`),
    );
  });

  it("counts once for the rate limit", async (t) => {
    const emulator = await startTestEmulator(t, { rateLimit: 1 });
    const { clientId, clientSecret, url } = emulator.clusters[0]!;
    const headers = { ...json, "client-id": clientId!, "client-secret": clientSecret! };
    const create = { method: "POST", headers, body: webhook };
    const { status } = await sendLate(`${url}/api/v2.1/public/webhooks/`, create, async () => {});
    assert.equal(status, 201);
  });
});
