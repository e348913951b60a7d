import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  findNextSignatories,
  inviteNextSignatories,
} from "../../../../emulator/cluster/contracts/lifecycle/lifecycle.ts";
import type { ContractSignatory } from "../../../../emulator/cluster/contracts/rows.ts";
import {
  acme,
  createContractRequest,
  createDraftContract,
  createSentContract,
  getContractStatus,
  requireContract,
} from "../../../support/contracts.ts";
import { measureCostRatio } from "../../../support/cost-ratio.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";

/** Fourfold input takes four times as long if linear, and sixteen times if quadratic. */
const bound = 9;

describe("contract with very many parts", () => {
  it("takes linear time in the number of parties and contacts", async (t) => {
    const { api } = await startTestEmulator(t);
    let names = 0;
    const create = (count: number) => async () => {
      names += 1;
      const organization_name = `Acme ${names}`;
      const counter_party_details = Array.from({ length: count }, (_, i) => {
        const poc_details = { first_name: "Jo", last_name: "Doe", email: `jo${i}@acme.example` };
        return { is_individual: false, organization_name, poc_details };
      });
      await requireContract(
        api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest({ counter_party_details }) }),
      );
    };
    const times = await measureCostRatio(create(4_000), create(1_000), bound);
    assert.ok(times < bound, `${times} times as long`);
    const { body } = await api("GET", "/api/v2.1/public/counter_parties/?limit=1");
    const [party] = (body as { results: { contacts: unknown[] }[] }).results;
    assert.deepEqual(party?.contacts.slice(0, 2), [
      { id: 1, name: "Jo Doe", email: "jo0@acme.example" },
      { id: 2, name: "Jo Doe", email: "jo1@acme.example" },
    ]);
    assert.equal(party?.contacts.length, 1_000);
  });

  it("checks each signatory only a few times to find the next one", () => {
    const looksFor = (count: number, look: (signatories: readonly ContractSignatory[]) => unknown) => {
      let looks = 0;
      const signatory = {
        get action() {
          looks += 1;
          return null;
        },
        sign_order: 1,
        sent_at: 0,
      };
      look(Array.from({ length: count }, () => signatory as unknown as ContractSignatory));
      return looks;
    };
    assert.ok(looksFor(1_000, (all) => inviteNextSignatories(all, 1)) <= 4_000);
    assert.ok(looksFor(1_000, (all) => findNextSignatories(all)) <= 4_000);
  });

  it("reads each ancestor once, regardless of the number of paths", async (t) => {
    const { api } = await startTestEmulator(t);
    const relate = (from: number, to: number) =>
      api("POST", `/api/v2.1/public/contracts/${from}/contract_relation/`, {
        body: { related_contract_id: to, relation_type: "PARENT" },
      });
    let below = await createDraftContract(api);
    for (let level = 0; level < 40; level += 1) {
      const above = await createDraftContract(api);
      // Each relation is listed twice, which doubles the number of paths with each level.
      for (let time = 0; time < 2; time += 1)
        assert.equal((await relate(below.number, above.number)).status < 300, true);
      below = above;
    }
    const contract = await createDraftContract(api);
    assert.equal((await relate(contract.number, 1)).status < 300, true);
  });
});

describe("oversized webhook payload of a request", () => {
  it("rejects the request without changes", async (t) => {
    const { api } = await startTestEmulator(t);
    const body = (count: number) => ({
      counter_party_details: [{ ...acme, organization_name: "A".repeat(1_000_000) }],
      signatories: Array.from({ length: count }, (_, i) => ({
        name: "Jo",
        email: `jo${i}@acme.example`,
        is_counterparty_signatory: false,
      })),
      contract_template_id: 102,
      contract_data: { start_date: "2031-02-01", seats: 3 },
    });
    const contract = await createDraftContract(api, body(80));
    assert.deepEqual(
      pickStatusAndBody(await api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`)),
      { status: 413, body: { detail: "Request body is too large." } },
    );
    assert.equal(await getContractStatus(api, contract), "DRAFT");
    assert.equal(await getContractStatus(api, await createSentContract(api, body(40))), "SIGN");
  });
});
