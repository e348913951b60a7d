import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../../src/schemes/email-hash.ts";
import { createSentContract } from "../../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const listOwners = async ({ ask }: TestEmulator, identifier: string) =>
  ((await ask("GET", `owners?identifier=${identifier}`)).body as { table: string; cluster_id: string }[]).map(
    ({ table, cluster_id }) => `${table} ${cluster_id}`,
  );

const getEmailToken = async ({ ask }: TestEmulator, recipient: string): Promise<string> => {
  const { body } = await ask("GET", `emails?recipient=${recipient}`);
  return (body as { items: { token: string }[] }).items[0]!.token;
};

/** Reports of the clusters to the router, oldest first. */
async function listReports({ ask }: TestEmulator, operation: string): Promise<string[]> {
  const { body } = await ask("GET", `requests?operation=${operation}`);
  const { items } = body as { items: { method: string; target: string; status: number; body: string | null }[] };
  return items.map(({ method, target, status }) => `${method} ${target} ${status}`);
}

describe("report of a sent contract", () => {
  it("registers signatories and counterparty tokens at the router, one request each", async (t) => {
    const on = await startTestEmulator(t);
    const signatories = ["ann", "bob", "cy"].map((name) => ({
      name,
      email: `${name}@acme.example`,
      is_counterparty_signatory: name !== "cy",
      ...(name !== "cy" && { counterparty_name: "Acme Inc." }),
    }));
    await createSentContract(on.api, { contract_template_id: 101, signatories: signatories.slice(0, 2) });
    await waitUntilIdle(on);
    assert.deepEqual(await listOwners(on, hashEmail("ann@acme.example")), ["signatories eu-1"]);
    assert.deepEqual(await listOwners(on, hashEmail("bob@acme.example")), ["signatories eu-1"]);
    assert.deepEqual(await listOwners(on, await getEmailToken(on, "ann@acme.example")), ["counterparty_tokens eu-1"]);
    assert.deepEqual(await listReports(on, "signatories.add"), ["POST /router/v1/contract_signatories/ 201"]);
    assert.equal((await listReports(on, "invite-tokens.map-counterparty")).length, 1);
  });

  it("requires two requests for ten signatories, and none for a resend", async (t) => {
    const on = await startTestEmulator(t);
    const signatories = Array.from({ length: 10 }, (_, i) => ({
      name: `S${i}`,
      email: `s${i}@acme.example`,
      is_counterparty_signatory: true,
      counterparty_name: "Acme Inc.",
    }));
    const { id } = await createSentContract(on.api, { signatories });
    await waitUntilIdle(on);
    const calls = [
      ...(await listReports(on, "signatories.add")),
      ...(await listReports(on, "invite-tokens.map-counterparty")),
    ];
    assert.equal(calls.length, 2);
    const token = await getEmailToken(on, "s3@acme.example");
    const path = `/api/v2.1/public/contracts/${id}/signatories/resend_email/`;
    assert.equal((await on.api("POST", path, { body: { email_id: "s3@acme.example" } })).status, 200);
    await waitUntilIdle(on);
    assert.equal(await getEmailToken(on, "s3@acme.example"), token);
    assert.equal((await listReports(on, "invite-tokens.map-counterparty")).length, 1);
  });

  for (const [how, end] of [
    ["executed", (on: TestEmulator, id: string) => on.ask("POST", `contracts/${id}/sign`, { body: {} })],
    ["voided", (on: TestEmulator, id: string) => on.ask("POST", `contracts/${id}/void`, { body: {} })],
    ["deleted", (on: TestEmulator, id: string) => on.ask("POST", `contracts/${id}/delete`, { body: {} })],
  ] as const) {
    it(`ends the tokens of a contract that is ${how}, but retains its signatories`, async (t) => {
      const on = await startTestEmulator(t);
      const { id } = await createSentContract(on.api);
      await waitUntilIdle(on);
      const token = await getEmailToken(on, "jo@acme.example");
      assert.deepEqual(await listOwners(on, token), ["counterparty_tokens eu-1"]);
      await end(on, id);
      await waitUntilIdle(on);
      assert.deepEqual(await listOwners(on, token), []);
      assert.deepEqual(await listOwners(on, hashEmail("jo@acme.example")), ["signatories eu-1"]);
      const { body } = await on.router("GET", `/contract-invite/counter_party/by_token/${token}`);
      assert.equal((body as { state: string }).state, "ENDED");
    });
  }

  it("retries a rejected report with doubling delays, up to six times", async (t) => {
    const log: string[] = [];
    const on = await startTestEmulator(t, { log: (line) => log.push(line) });
    const fault = { direction: "incoming", operation: "signatories.add", status: 503, count: 7 };
    assert.equal((await on.ask("POST", "faults", { body: fault })).status, 201);
    const first = await createSentContract(on.api);
    const times = await listAttemptMinutes(on);
    assert.deepEqual(times, [0, 1, 3, 7, 15, 31]);
    assert.deepEqual(log, [`the router rejected report-signatories ${first.number} 6 times. It is not retried`]);
    await createSentContract(on.api);
    assert.deepEqual(await listAttemptMinutes(on), [...times, 94, 95]);
    assert.deepEqual(await listOwners(on, hashEmail("jo@acme.example")), ["signatories eu-1"]);
  });

  it("batches reports that are due at the same time", async (t) => {
    const on = await startWithTwoFailedReports(t);
    await on.clock.advance({ by: 60_000 });
    assert.deepEqual((await listReports(on, "signatories.add")).slice(on.before), [
      "POST /router/v1/contract_signatories/ 201",
    ]);
    for (const name of ["ann", "bob"]) {
      assert.deepEqual(await listOwners(on, hashEmail(`${name}@acme.example`)), ["signatories eu-1"]);
    }
  });

  it("sends a report alone after the router rejects its batch", async (t) => {
    const on = await startWithTwoFailedReports(t);
    const fault = { direction: "incoming", operation: "signatories.add", status: 503, count: 1 };
    assert.equal((await on.ask("POST", "faults", { body: fault })).status, 201);
    await on.clock.advance({ by: 60_000 });
    assert.deepEqual((await listReports(on, "signatories.add")).slice(on.before), [
      "POST /router/v1/contract_signatories/ 503",
      "POST /router/v1/contract_signatories/ 201",
      "POST /router/v1/contract_signatories/ 201",
    ]);
  });

  it("sends a rejected report after a restart", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const before = await startTestEmulator(t, { file });
    const fault = { direction: "incoming", operation: "signatories.add", status: 503 };
    assert.equal((await before.ask("POST", "faults", { body: fault })).status, 201);
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

/** Two contracts whose signatories the router rejected at first. `before` counts its requests so far. */
async function startWithTwoFailedReports(t: TestContext): Promise<TestEmulator & { readonly before: number }> {
  const on = await startTestEmulator(t);
  const fault = { direction: "incoming", operation: "signatories.add", status: 503 };
  const { status, body } = await on.ask("POST", "faults", { body: fault });
  assert.equal(status, 201);
  for (const name of ["ann", "bob"]) {
    const person = { name, email: `${name}@acme.example`, is_counterparty_signatory: true };
    await createSentContract(on.api, { signatories: [{ ...person, counterparty_name: "Acme Inc." }] });
    await waitUntilIdle(on);
  }
  assert.equal((await on.ask("DELETE", `faults/${(body as { id: number }).id}`)).status, 204);
  return { ...on, before: (await listReports(on, "signatories.add")).length };
}

/** The virtual minutes at which signatories were reported within an hour. */
async function listAttemptMinutes(on: TestEmulator): Promise<number[]> {
  await waitUntilIdle(on);
  await on.clock.advance({ by: 94 * 60_000 });
  await waitUntilIdle(on);
  const { body } = await on.ask("GET", "requests?operation=signatories.add");
  const begin = Date.parse("2031-01-02T03:04:05Z");
  return (body as { items: { at: string }[] }).items.map(({ at }) => (Date.parse(at) - begin) / 60_000);
}
