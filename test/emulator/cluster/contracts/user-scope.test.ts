import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { notFoundResponse } from "../../../support/rejections.ts";

const ben = "ben@northwind.example";
const routes = ["status", "key_pointers", "notes", "content"];

/** Whether Ben sees a contract. Asserts that all restrictable routes agree. */
async function isShown({ api }: TestEmulator, id: string, scoping: string | undefined = "true"): Promise<boolean> {
  const headers = { "user-email": ben, ...(scoping !== undefined && { "Enforce-User-Scoping": scoping }) };
  const responses = await Promise.all(
    routes.map(async (route) =>
      pickStatusAndBody(await api("GET", `/api/v2.1/public/contracts/${id}/${route}`, { headers })),
    ),
  );
  const isVisible = responses.map(({ status }) => status === 200);
  for (const [i, response] of responses.entries()) if (!isVisible[i]) assert.deepEqual(response, notFoundResponse);
  assert.equal(new Set(isVisible).size, 1, JSON.stringify(responses));
  return isVisible[0]!;
}

describe("Enforce-User-Scoping", () => {
  it("hides contracts of other users only if the header is set", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api);
    assert.equal(await isShown(emulator, id), false);
    assert.equal(await isShown(emulator, id, "True"), false);
    assert.equal(await isShown(emulator, id, "false"), true);
    const plainly = { "user-email": ben };
    const { status } = await emulator.api("GET", `/api/v2.1/public/contracts/${id}/status`, { headers: plainly });
    assert.equal(status, 200);
    // The key's own user created the contract.
    const ownStatus = await emulator.api("GET", `/api/v2.1/public/contracts/${id}/status`, {
      headers: { "Enforce-User-Scoping": "true" },
    });
    assert.equal(ownStatus.status, 200);
  });

  const ties: Readonly<Record<string, (emulator: TestEmulator) => Promise<string>>> = {
    made: async ({ api }) => {
      const asBen: TestEmulator["api"] = (method, path, request) =>
        api(method, path, { ...request, headers: { "user-email": ben } });
      return (await createDraftContract(asBen)).id;
    },
    owns: async ({ api }) => {
      const { id, number } = await createDraftContract(api);
      await api("PATCH", `/api/v2.1/public/contracts/${number}/business_user/`, { body: { user_id: 12 } });
      return id;
    },
    "reviews, in person or by role": async ({ api }) => {
      const { id, number } = await createDraftContract(api);
      await api("POST", `/api/v2.1/public/contracts/${number}/review_request/`, { body: { assignee_role_id: 2 } });
      return id;
    },
    approves: async ({ api }) => {
      const { id } = await createDraftContract(api);
      const approvals = [{ name: "Budget", notes: "", approver_user_id: 12 }];
      await api("POST", `/api/v2.1/public/contracts/approvals/${id}/`, { body: { approvals } });
      return id;
    },
    signs: async ({ api }) => {
      const signatories = [{ name: "Ben", email: ben.toUpperCase(), is_counterparty_signatory: false }];
      const contract_data = { start_date: "2031-02-01", seats: 3 };
      return (await createDraftContract(api, { contract_template_id: 102, contract_data, signatories })).id;
    },
  };
  for (const [tie, make] of Object.entries(ties)) {
    it(`shows contracts that the user ${tie}`, async (t) => {
      const emulator = await startTestEmulator(t);
      assert.equal(await isShown(emulator, await make(emulator)), true);
    });
  }
});
