import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { waitUntilIdle } from "../../support/rejections.ts";

/** The request log of one run of a script, without the time and ports of the machine. */
async function logOf(t: TestContext): Promise<readonly { readonly operation: string }[]> {
  const emulator = await startTestEmulator(t, { deterministic: true });
  for (let i = 0; i < 5; i += 1) {
    const signatory = { name: `S${i}`, email: `s${i}@acme.example`, is_counterparty_signatory: true };
    await createSentContract(emulator.api, { signatories: [{ ...signatory, counterparty_name: "Acme Inc." }] });
    await emulator.router("GET", `/api/v1/somewhere/?round=${i}`);
    if (i === 2) assert.equal((await emulator.control("POST", "contracts/T-1/void", { body: {} })).status, 200);
  }
  await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
  const { items } = (await emulator.control("GET", "requests")).body as { items: LogEntry[] };
  return items.map(({ wall_at: _, duration_ms: __, headers: ___, ...rest }) => rest);
}

interface LogEntry {
  readonly operation: string;
  readonly wall_at: string;
  readonly duration_ms: number;
  readonly headers: object;
}

describe("emulator under --deterministic", () => {
  it("produces the same request log for two runs of a script", async (t) => {
    const [first, ...otherLogs] = await Promise.all([logOf(t), logOf(t), logOf(t), logOf(t)]);
    const reports = ["signatories.add", "invite-tokens.map-counterparty"];
    assert.deepEqual(first!.map(({ operation }) => operation).slice(0, 4), [
      "contracts.create",
      ...reports,
      "contracts.send",
    ]);
    for (const other of otherLogs) assert.deepEqual(other, first);
  });

  it("does not deadlock if a receiver sends a contract before it responds", async (t) => {
    const emulator = await startTestEmulator(t, { deterministic: true });
    const sink = await startReceiver(t);
    let answered = 0;
    sink.respond(async (_, response) => {
      if (answered === 0) await createSentContract(emulator.api);
      answered += 1;
      response.writeHead(200).end();
    });
    const body = { title: "calls back", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
    assert.equal((await emulator.api("POST", "/api/v2.1/public/webhooks/", { body })).status, 201);
    await createDraftContract(emulator.api);
    await waitUntilIdle(emulator);
    const { total } = (await emulator.control("GET", "deliveries?outcome=delivered")).body as { total: number };
    assert.deepEqual([answered, total], [2, 2]);
  });
});
