import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { createSentContract } from "../../../support/contracts.ts";
import { type EmulatorProcess, startEmulatorProcess } from "../../../support/emulator-process.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const contracts = 5;
const addresses = Array.from({ length: contracts }, (_, i) => `s${i}@acme.example`);

/** An emulator in a process, and a function that starts another one on the same file. */
async function startProcess(t: TestContext) {
  const file = join(await createTemporaryFolder(t), "emulator.json");
  const clock = { mode: "manual", start: "2031-01-02T03:04:05Z" } as const;
  const start = () => startEmulatorProcess(t, { file, port: 0, clock });
  return { start, first: await start() };
}

/** Contracts sent one after another to different recipients. */
async function sendAll({ api }: EmulatorProcess): Promise<void> {
  for (const [i, email] of addresses.entries()) {
    const signatory = { name: `S${i}`, email, is_counterparty_signatory: true, counterparty_name: "Acme Inc." };
    await createSentContract(api, { signatories: [signatory] });
  }
}

const addFault = async ({ control }: EmulatorProcess, faultChanges: object): Promise<void> => {
  const fault = { direction: "incoming", operation: "signatories.add", ...faultChanges };
  assert.equal((await control("POST", "faults", { body: fault })).status, 201);
};

/** Waits until a scripted fault was applied, which means that the router received a report. */
async function waitForFault({ control }: EmulatorProcess): Promise<void> {
  for (;;) if (((await control("GET", "faults")).body as { hit: number }[])[0]!.hit > 0) return;
}

/** Asserts that the router has each signatory and token once, and that no report is pending. */
async function assertAllReported({ control }: EmulatorProcess): Promise<void> {
  await waitUntilIdle({ control });
  for (const email of addresses) {
    const key = hashEmail(email);
    assert.deepEqual((await control("GET", `owners?identifier=${email}`)).body, [
      { table: "signatories", key, cluster_id: "eu-1" },
    ]);
  }
  const { rows, mappings } = (await control("GET", "state")).body as {
    rows: { signatories: { id: number; signatory_hash: string }[]; schedule: { kind: string }[]; emails: Email[] };
    mappings: { counterparty_tokens: object };
  };
  assert.deepEqual(rows.signatories.map(({ signatory_hash }) => signatory_hash).toSorted(), hashes);
  assert.deepEqual(rows.signatories.map(({ id }) => id).toSorted(), [1, 2, 3, 4, 5]);
  assert.deepEqual(
    rows.schedule.filter(({ kind }) => kind.startsWith("report")),
    [],
  );
  const tokenMappings = JSON.stringify(mappings.counterparty_tokens);
  for (const { token } of rows.emails) assert.equal(tokenMappings.split(token).length, 2, token);
}

interface Email {
  readonly token: string;
}
const hashes = addresses.map(hashEmail).toSorted();

describe("cluster report after kill -9", () => {
  it("is sent at the next start if sending had not begun", async (t) => {
    const { first, start } = await startProcess(t);
    await sendAll(first);
    await first.kill();
    await assertAllReported(await start());
  });

  it("is sent again at the next start if the router did not apply it", async (t) => {
    const { first, start } = await startProcess(t);
    await addFault(first, { latency_ms: 60_000 });
    await sendAll(first);
    await waitForFault(first);
    await first.kill();
    await assertAllReported(await start());
  });

  it("is sent again without duplicates if the router's response was lost", async (t) => {
    const { first, start } = await startProcess(t);
    await addFault(first, { truncated: true });
    await sendAll(first);
    await waitForFault(first);
    await waitUntilIdle(first);
    await first.kill();
    const second = await start();
    assert.equal((await second.control("POST", "clock/advance", { body: { by: "PT1M" } })).status, 200);
    await assertAllReported(second);
  });
});
