import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { createSentContract } from "../../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const listOwners = async ({ control }: TestEmulator, identifier: string) =>
  ((await control("GET", `owners?identifier=${identifier}`)).body as { table: string; cluster_id: string }[]).map(
    ({ table, cluster_id }) => `${table} ${cluster_id}`,
  );

const getEmailToken = async ({ control }: TestEmulator, recipient: string): Promise<string> => {
  const { body } = await control("GET", `emails?recipient=${recipient}`);
  return (body as { items: { token: string }[] }).items[0]!.token;
};

/** Reports of the clusters to the router, oldest first. */
async function listReports({ control }: TestEmulator, operation: string): Promise<string[]> {
  const { body } = await control("GET", `requests?operation=${operation}`);
  const { items } = body as { items: { method: string; target: string; status: number; body: string | null }[] };
  return items.map(({ method, target, status }) => `${method} ${target} ${status}`);
}

describe("report of a sent contract", () => {
  it("registers signatories and counterparty tokens at the router, one request each", async (t) => {
    const emulator = await startTestEmulator(t);
    const signatories = ["ann", "bob", "cy"].map((name) => ({
      name,
      email: `${name}@acme.example`,
      is_counterparty_signatory: name !== "cy",
      ...(name !== "cy" && { counterparty_name: "Acme Inc." }),
    }));
    await createSentContract(emulator.api, { contract_template_id: 101, signatories: signatories.slice(0, 2) });
    await waitUntilIdle(emulator);
    assert.deepEqual(await listOwners(emulator, hashEmail("ann@acme.example")), ["signatories eu-1"]);
    assert.deepEqual(await listOwners(emulator, hashEmail("bob@acme.example")), ["signatories eu-1"]);
    assert.deepEqual(await listOwners(emulator, await getEmailToken(emulator, "ann@acme.example")), [
      "counterparty_tokens eu-1",
    ]);
    assert.deepEqual(await listReports(emulator, "signatories.add"), ["POST /router/v1/contract_signatories/ 201"]);
    assert.equal((await listReports(emulator, "invite-tokens.map-counterparty")).length, 1);
  });

  it("requires two requests for ten signatories, and none for a resend", async (t) => {
    const emulator = await startTestEmulator(t);
    const signatories = Array.from({ length: 10 }, (_, i) => ({
      name: `S${i}`,
      email: `s${i}@acme.example`,
      is_counterparty_signatory: true,
      counterparty_name: "Acme Inc.",
    }));
    const { id } = await createSentContract(emulator.api, { signatories });
    await waitUntilIdle(emulator);
    const calls = [
      ...(await listReports(emulator, "signatories.add")),
      ...(await listReports(emulator, "invite-tokens.map-counterparty")),
    ];
    assert.equal(calls.length, 2);
    const token = await getEmailToken(emulator, "s3@acme.example");
    const path = `/api/v2.1/public/contracts/${id}/signatories/resend_email/`;
    assert.equal((await emulator.api("POST", path, { body: { email_id: "s3@acme.example" } })).status, 200);
    await waitUntilIdle(emulator);
    assert.equal(await getEmailToken(emulator, "s3@acme.example"), token);
    assert.equal((await listReports(emulator, "invite-tokens.map-counterparty")).length, 1);
  });

  for (const [label, end] of [
    [
      "executed",
      (emulator: TestEmulator, id: string) => emulator.control("POST", `contracts/${id}/sign`, { body: {} }),
    ],
    ["voided", (emulator: TestEmulator, id: string) => emulator.control("POST", `contracts/${id}/void`, { body: {} })],
    [
      "deleted",
      (emulator: TestEmulator, id: string) => emulator.control("POST", `contracts/${id}/delete`, { body: {} }),
    ],
  ] as const) {
    it(`ends the tokens of a contract that is ${label}, but retains its signatories`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id } = await createSentContract(emulator.api);
      await waitUntilIdle(emulator);
      const token = await getEmailToken(emulator, "jo@acme.example");
      assert.deepEqual(await listOwners(emulator, token), ["counterparty_tokens eu-1"]);
      await end(emulator, id);
      await waitUntilIdle(emulator);
      assert.deepEqual(await listOwners(emulator, token), []);
      assert.deepEqual(await listOwners(emulator, hashEmail("jo@acme.example")), ["signatories eu-1"]);
      const { body } = await emulator.router("GET", `/contract-invite/counter_party/by_token/${token}`);
      assert.equal((body as { state: string }).state, "ENDED");
    });
  }

  it("retries a rejected report with doubling delays, up to six times", async (t) => {
    const log: string[] = [];
    const emulator = await startTestEmulator(t, { log: (line) => log.push(line) });
    const fault = { direction: "incoming", operation: "signatories.add", status: 503, count: 7 };
    assert.equal((await emulator.control("POST", "faults", { body: fault })).status, 201);
    const first = await createSentContract(emulator.api);
    const times = await listAttemptMinutes(emulator);
    assert.deepEqual(times, [0, 1, 3, 7, 15, 31]);
    assert.deepEqual(log, [`the router rejected report-signatories ${first.number} 6 times. It is not retried`]);
    await createSentContract(emulator.api);
    assert.deepEqual(await listAttemptMinutes(emulator), [...times, 94, 95]);
    assert.deepEqual(await listOwners(emulator, hashEmail("jo@acme.example")), ["signatories eu-1"]);
  });

  it("sends a rejected report after a restart", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const before = await startTestEmulator(t, { file });
    const fault = { direction: "incoming", operation: "signatories.add", status: 503 };
    assert.equal((await before.control("POST", "faults", { body: fault })).status, 201);
    await createSentContract(before.api);
    await before.close();
    const after = await startTestEmulator(t, { file, clock: { mode: "manual" } });
    assert.deepEqual(await listOwners(after, hashEmail("jo@acme.example")), []);
    await after.clock.advance({ by: 60_000 });
    assert.deepEqual(await listOwners(after, hashEmail("jo@acme.example")), ["signatories eu-1"]);
  });

  it("sends pending reports before the emulator closes", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const before = await startTestEmulator(t, { file });
    await createSentContract(before.api);
    await before.close();
    const after = await startTestEmulator(t, { file, clock: { mode: "manual" } });
    assert.deepEqual(await listOwners(after, hashEmail("jo@acme.example")), ["signatories eu-1"]);
    assert.deepEqual(await listOwners(after, await getEmailToken(after, "jo@acme.example")), [
      "counterparty_tokens eu-1",
    ]);
  });
});

/** The virtual minutes at which signatories were reported within an hour. */
async function listAttemptMinutes(emulator: TestEmulator): Promise<number[]> {
  await waitUntilIdle(emulator);
  await emulator.clock.advance({ by: 94 * 60_000 });
  await waitUntilIdle(emulator);
  const { body } = await emulator.control("GET", "requests?operation=signatories.add");
  const begin = Date.parse("2031-01-02T03:04:05Z");
  return (body as { items: { at: string }[] }).items.map(({ at }) => (Date.parse(at) - begin) / 60_000);
}
