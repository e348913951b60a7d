import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  endContractEntries,
  enqueue,
  type ScheduledEntry,
  schedule,
  toContractKey,
} from "../../../../emulator/clock/schedule.ts";
import { createContractJobHandlers } from "../../../../emulator/cluster/contracts/lifecycle/execution.ts";
import { contracts, createContract } from "../../../../emulator/cluster/contracts/rows.ts";
import { collections } from "../../../../emulator/compose/state/collections.ts";
import { applySeed, namedSeeds, parseSeed } from "../../../../emulator/compose/state/seed.ts";
import { sendEmail } from "../../../../emulator/domain/emails.ts";
import { defaultSettings } from "../../../../emulator/domain/settings.ts";
import { users, workspaces } from "../../../../emulator/domain/workspaces.ts";
import { openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import { webhookEvents } from "../../../../emulator/webhooks/deliveries.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createSeededIds } from "../../../../src/base/ids.ts";

const time = Date.parse("2031-01-02T03:04:05Z");

/** A contract and a scheduled entry for it. */
async function createScheduledContract() {
  const store = openMemoryStore({ collections, wall: systemWallClock });
  const entry = await store.transaction("prepare", (tx): ScheduledEntry => {
    applySeed(tx, parseSeed(namedSeeds.demo), createSeededIds("test"));
    const workspace = tx.get(workspaces, 1)!;
    const user = tx.get(users, 11)!;
    const template = { name: "NDA", kind: "TEMPLATE_CONTRACT", contract_type_id: 301 } as const;
    const contract = createContract(tx, { workspace, user }, time, template);
    tx.put(contracts, contract);
    const about = { cluster_id: workspace.cluster_id, workspace_id: workspace.id, contract_id: contract.id };
    const email = sendEmail(tx, { ...about, purpose: "signing", recipient: "jo@acme.example", sent_at: time });
    const ref = `${contract.id} ${email.id}`;
    const entry = enqueue(tx, { due: time, kind: "email-delivery", concurrency_key: toContractKey(contract.id), ref });
    return entry;
  });
  const kinds = createContractJobHandlers({ clock: { now: () => time }, settings: defaultSettings });
  const listActivities = () => store.list(webhookEvents).map(({ activity }) => activity);
  const queued = () => store.count(schedule);
  const run = async () => {
    const [run] = [kinds["email-delivery"]!.start(store, entry, new AbortController().signal)];
    return store.transaction("record", await run!);
  };
  const leave = () => store.transaction("leave", (tx) => endContractEntries(tx, 1));
  const row = () => store.get(contracts, 1);
  return { run, listActivities, queued, leave, row };
}

describe("scheduled job of a contract", () => {
  it("emits the delivery once and removes its entry", async () => {
    const { run, listActivities, queued, row } = await createScheduledContract();
    const contract = await row();
    assert.equal(await run(), "reported");
    // The contract is not rewritten, because each of a thousand signatories causes an e-mail.
    assert.equal(await row(), contract);
    assert.deepEqual(await listActivities(), ["MAILER_EMAIL_EVENT", "SIGNING_EMAIL_DELIVERED"]);
    assert.equal(await queued(), 0);
    assert.equal(await run(), "ended");
    assert.deepEqual(await listActivities(), ["MAILER_EMAIL_EVENT", "SIGNING_EMAIL_DELIVERED"]);
  });

  it("emits no activity if the contract changed status during the job", async () => {
    const { run, listActivities, queued, leave } = await createScheduledContract();
    await leave();
    assert.equal(await run(), "ended");
    assert.deepEqual(await listActivities(), []);
    assert.equal(await queued(), 0);
  });
});
