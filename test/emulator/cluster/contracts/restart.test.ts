import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  createSentContract,
  createUploadRequest,
  getContractStatus,
  listRecipients,
  requireContract,
} from "../../../support/contracts.ts";
import { startTestEmulator } from "../../../support/emulator.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

describe("emulator restart with contracts", () => {
  it("preserves contracts and continues their timers", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const first = await startTestEmulator(t, { file, autoSignMs: 600_000 });
    const contract = await createSentContract(first.api, {
      external_metadata: { id: "deal-42", record_data: { stage: "won" } },
    });
    const theirs = await requireContract(
      first.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
        body: await createUploadRequest({ intake_form_data: { purpose: "Joint project" } }),
      }),
    );
    const before = (await first.control("GET", "state")).body as { rows: { contracts: unknown } };
    await first.close();

    const second = await startTestEmulator(t, { file, autoSignMs: 600_000 });
    const after = (await second.control("GET", "state")).body as { rows: { contracts: unknown } };
    assert.deepEqual(after.rows.contracts, before.rows.contracts);
    await second.control("POST", "clock/advance", { body: { by: "PT10M" } });
    assert.equal(await getContractStatus(second.api, contract), "EXECUTED");
    assert.deepEqual(await listRecipients(second.api, contract), ["jo@acme.example COMPLETED signed"]);
    const link = await second.api("POST", `/api/v2.1/public/contracts/${theirs.id}/download_link`);
    assert.equal((await fetch((link.body as { url: string }).url)).status, 200);
  });
});
