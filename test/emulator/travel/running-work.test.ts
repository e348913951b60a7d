import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { acme, createDraftContract, createSentContract, jo } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createWebhook, getState, restore, save } from "./travel.ts";

describe("running work at a restore", () => {
  it("leaves a note without an outcome for a running attempt", async (t) => {
    const lines: string[] = [];
    const emulator = await startTestEmulator(t, { log: (line) => lines.push(line) });
    const sink = await startReceiver(t);
    await createWebhook(emulator, sink.url);
    await save(emulator, "quiet");
    const quiet = await getState(emulator);
    const pendingResponse = new Promise<ServerResponse>((resolve) => sink.respond((_, response) => resolve(response)));
    await createDraftContract(emulator.api);
    const response = await pendingResponse;

    assert.deepEqual((await restore(emulator, "quiet")).dropped, [{ kind: "deliver", ref: "1" }]);
    response.writeHead(200).end();
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    assert.deepEqual(lines, [
      "The state was replaced while deliver 1 was in progress. Its outcome belongs to the previous state",
    ]);
    assert.deepEqual(await emulator.control("GET", "deliveries").then(({ body }) => body), { items: [], total: 0 });
    assert.deepEqual(await getState(emulator), quiet);
  });

  it("stops a clock advance", async (t) => {
    const emulator = await startTestEmulator(t);
    const sink = await startReceiver(t);
    await createWebhook(emulator, sink.url);
    await save(emulator, "quiet");
    const pendingResponse = new Promise<ServerResponse>((resolve) => sink.respond((_, response) => resolve(response)));
    await createDraftContract(emulator.api);
    const advancing = emulator.control("POST", "clock/advance", { body: { by: "PT9H" } });
    await pendingResponse;
    await restore(emulator, "quiet");
    const { status, reason, to } = (await advancing).body as Record<string, string>;
    assert.deepEqual([status, reason, to], ["stopped", "state_replaced", "2031-01-02T03:04:05.000Z"]);
    assert.equal((await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } })).status, 200);
  });
});

describe("request that waits for an attempt", () => {
  for (const [path, body] of [
    ["deliveries/1/resend", undefined],
    ["webhooks/1/resend", undefined],
    ["activities", { activity: "CONTRACT_CREATED", wait: true }],
  ] as const)
    it(`reports that a restore has dropped the attempt: ${path}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const sink = await startReceiver(t);
      await createWebhook(emulator, sink.url);
      await save(emulator, "empty");
      sink.respond(503);
      await createDraftContract(emulator.api);
      await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
      const pendingResponse = new Promise<ServerResponse>((resolve) =>
        sink.respond((_, response) => resolve(response)),
      );
      const request = emulator.control("POST", path, body && { body });
      await pendingResponse;
      await restore(emulator, "empty");
      const message = "The state was replaced while this request was in progress. Nothing was saved.";
      assert.deepEqual(pickStatusAndBody(await request), {
        status: 503,
        body: { error: { code: "state_replaced", message } },
      });
    });
});

describe("rewind during writes of others", () => {
  it("counts them as undone if it undoes them, and saves them", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    const written: string[] = [];
    let isRewound = false;
    async function writeUntilRewound(writer: number): Promise<void> {
      for (let i = 0; !isRewound; i += 1) {
        const hash = hashEmail(`${writer}.${i}@x.example`);
        const body = { email_hash_list: [hash], cluster_id: "eu-1" };
        if ((await emulator.router("POST", "/router/v1/cluster_emails/bulk", { body })).status === 200)
          written.push(hash);
      }
    }
    async function findMissing(hashes: readonly string[]): Promise<string[]> {
      const paths = hashes.map((hash) => `/router/v1/cluster_emails/email/${hash}`);
      const responses = await Promise.all(paths.map((path) => emulator.router("GET", path)));
      return hashes.filter((_, i) => responses[i]?.status === 404);
    }
    const writers = [1, 2, 3, 4].map(writeUntilRewound);
    while (written.length <= 100) await emulator.router("GET", "/");
    const { status, body } = await emulator.control("POST", "rewind", { body: { steps: 1 } });
    isRewound = true;
    await Promise.all(writers);
    const { undone, backup_snapshot } = body as { undone: number; backup_snapshot: string };
    const missing = await findMissing(written);
    assert.equal(status, 200);
    // A request that was rejected because the state was replaced can be among the undone ones.
    assert.ok(undone >= missing.length && undone <= missing.length + writers.length, `${undone}: ${missing}`);
    await restore(emulator, backup_snapshot);
    assert.deepEqual(await findMissing(missing), []);
  });
});

describe("cluster report of an undone contract", () => {
  it("has no effect if it was already sent", async (t) => {
    const emulator = await startStoredRealTimeEmulator(t);
    const slow = { direction: "incoming", operation: "signatories.add", latency_ms: 200, count: 1 };
    await emulator.control("POST", "faults", { body: slow });
    const before = await readTables(emulator);
    await createSentContract(emulator.api);
    await waitUntil(async () => ((await emulator.control("GET", "faults")).body as { hit: number }[])[0]?.hit === 1);
    assert.equal((await emulator.control("POST", "rewind", { body: { steps: 2 } })).status, 200);
    const reports = async () =>
      ((await emulator.control("GET", "requests?operation=signatories.add")).body as { items: LogEntry[] }).items;
    await waitUntil(async () => (await reports()).length > 0);
    assert.deepEqual(
      (await reports()).map(({ status, findings }) => [status, ...findings.map(({ code }) => code)]),
      [[503, "state-replaced"]],
    );
    assert.deepEqual(await readTables(emulator), before);
  });

  it("maps nothing of the undone contract", async (t) => {
    const emulator = await startStoredRealTimeEmulator(t);
    for (let round = 0; round < 5; round += 1) {
      await createSentContract(emulator.api, createCounterparty("left@acme.example"));
      assert.equal((await emulator.control("POST", "rewind", { body: { steps: 2 } })).status, 200);
    }
    await createSentContract(emulator.api, createCounterparty("kept@acme.example"));
    await waitUntil(async () => {
      const { tokens, signatories } = await readTables(emulator);
      return signatories.length > 0 && tokens.length > 0;
    });
    const { rows } = (await getState(emulator)) as { rows: { invitations: { token: string }[] } };
    assert.deepEqual(await readTables(emulator), {
      signatories: [hashEmail("kept@acme.example")],
      tokens: rows.invitations.map(({ token }) => token),
    });
  });
});

interface LogEntry {
  readonly status: number;
  readonly findings: readonly { readonly code: string }[];
}

/** An emulator whose clusters report immediately, with a history to rewind. */
const startStoredRealTimeEmulator = async (t: TestContext) =>
  startTestEmulator(t, {
    deterministic: false,
    clock: { mode: "real" },
    file: join(await createTestFolder(t), "emulator.json"),
  });

const createCounterparty = (email: string) => ({ counter_party_details: [{ ...acme, poc_details: { ...jo, email } }] });

/** The router's signatory hashes and invitation tokens, without those of the seed. */
async function readTables(
  emulator: TestEmulator,
): Promise<{ readonly signatories: string[]; readonly tokens: string[] }> {
  const { rows, mappings } = (await getState(emulator)) as {
    rows: { signatories: { signatory_hash: string }[] };
    mappings: { counterparty_tokens: object };
  };
  const signatories = rows.signatories.map(({ signatory_hash }) => signatory_hash);
  const tokens = Object.keys(mappings.counterparty_tokens).filter((token) => token !== "counterparty-northwind");
  return { signatories, tokens };
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}

describe("data outside the rows of the state", () => {
  it("restores the hit counts of scripted faults", async (t) => {
    const emulator = await startTestEmulator(t);
    const fault = { direction: "incoming", operation: "contracts.create", status: 503, count: 2 };
    await emulator.control("POST", "faults", { body: fault });
    const create = async () => (await emulator.api("POST", "/api/v2.1/public/contracts/", { body: {} })).status;
    assert.equal(await create(), 503);
    await save(emulator, "hit-once");
    assert.deepEqual([await create(), await create()], [503, 400]);
    await emulator.control("POST", "faults", { body: { direction: "outgoing", effect: "drop" } });
    await restore(emulator, "hit-once");
    assert.deepEqual(
      ((await emulator.control("GET", "faults")).body as { id: number; hit: number }[]).map(({ id, hit }) => [id, hit]),
      [[1, 1]],
    );
    assert.deepEqual([await create(), await create()], [503, 400]);
  });

  it("restores uploaded bytes, even after a reset and a restart", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const options = { file, port: 0 };
    const first = await startTestEmulator(t, options);
    const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await first.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: url }] = (body as { files: [{ upload_url: string }] }).files;
    const response = await fetch(url, { method: "PUT", body: "bytes", headers: { "content-type": "application/pdf" } });
    assert.equal(response.status, 200);
    await save(first, "uploaded");
    await first.control("POST", "reset");
    await first.close();
    const second = await startTestEmulator(t, options);
    await restore(second, "uploaded");
    const sha256 = createHash("sha256").update("bytes").digest("hex");
    assert.match(JSON.stringify(await getState(second)), new RegExp(sha256));
  });

  it("preserves the request log", async (t) => {
    const emulator = await startTestEmulator(t);
    await save(emulator, "begun");
    await createSender(emulator.routerUrl)("GET", "/health");
    const health = async () =>
      (await emulator.control("GET", "requests?operation=health.show")).body as { total: number };
    const before = await health();
    await restore(emulator, "begun");
    assert.deepEqual(await health(), before);
    assert.deepEqual(pickStatusAndBody(await emulator.control("DELETE", "snapshots/begun")), { status: 204, body: "" });
  });
});
