import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { acme, begin, draft, fields, jo, sent } from "../../support/contracts.ts";
import { emulator, type TestEmulator } from "../../support/emulator.ts";
import { assertRefused } from "../../support/refused.ts";
import { apiOf } from "../../support/workspace-api.ts";

interface Listed {
  readonly page: number;
  readonly limit: number;
  readonly total_results: number;
  readonly results: readonly { readonly id: string }[];
}

const list = async (api: TestEmulator["api"], query = ""): Promise<Listed> => {
  const { status, body } = await api("GET", `/api/v2.1/public/contracts/${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Listed;
};

const idsOf = async (api: TestEmulator["api"], query: string): Promise<string> =>
  (await list(api, query)).results.map(({ id }) => id).join(" ");

describe("listing contracts", () => {
  it("shows the workspace's own, newest first, page by page", async (t) => {
    const on = await emulator(t);
    for (let n = 0; n < 12; n += 1) await draft(on.api);
    const first = await list(on.api);
    assert.deepEqual(
      { ...first, results: first.results.length },
      { page: 1, limit: 10, total_results: 12, results: 10 },
    );
    assert.deepEqual(first.results[0], {
      id: "T-12",
      created: begin,
      contract_name: "NDA with Acme",
      contract_link: `${on.clusters[0]!.url}/contracts/T-12`,
      contract_status: "DRAFT",
      created_by: "Ada Keller",
      created_by_user_name: "Ada Keller",
      created_by_user_email: "ada@northwind.example",
      counter_party_name: "Acme Inc.",
      contract_type_name: "NDA",
      contract_type_id: 301,
      created_by_workspace: 1,
      external_metadata: {},
      reference_id: "SVC-12",
    });
    assert.equal(await idsOf(on.api, "?page=2"), "T-2 T-1");
    assert.equal(await idsOf(on.api, "?page=4&limit=3"), "T-3 T-2 T-1");
    assert.equal(await idsOf(on.api, "?page=9"), "");
    assert.equal((await list(await apiOf(on, 2))).total_results, 0);
  });

  // T-1: sent, Acme. T-2: a draft for Globex from another entity, one day later. T-3: voided, an individual.
  const filters: Readonly<Record<string, string>> = {
    "?query=globex": "T-2",
    "?query=NORTHWIND GMBH": "T-3 T-1",
    "?query=kim@": "T-3",
    "?filter__display_status=SIGN": "T-1",
    "?filter__display_status[$ne]=SIGN": "T-3 T-2",
    "?filter__display_status[$in]=SIGN,VOIDED": "T-3 T-1",
    "?filter__display_status[$eq]=DRAFT&filter__client_name=globex": "T-2",
    "?filter__client_name[$in]=Acme\\, Inc.,Globex": "T-2",
    "?filter__contract_id=2": "T-2",
    "?filter__contract_id[$gt]=1&filter__contract_id[$lt]=3": "T-2",
    "?filter__contract_id[$gte]=2": "T-3 T-2",
    "?filter__contract_id[$lte]=2": "T-2 T-1",
    "?filter__created_at[$gte]=2031-01-03": "T-3 T-2",
    "?filter__contract_type_name=NDA": "T-3 T-1",
    "?filter__contract_type_id=302": "T-2",
    "?filter__entity_name=Northwind Inc.": "T-2",
    "?filter__contract_reference_id=SVC-3": "T-3",
    "?filter__contract_kind=TEMPLATE_CONTRACT": "T-3 T-2 T-1",
    "?filter__client_email=jo@acme.example": "T-2 T-1",
    "?filter__signatures_pending_on=jo@acme.example": "T-2 T-1",
    "?filter__pending_with=COUNTER_PARTY": "T-1",
    "?filter__business_user_id=12": "T-2",
    "?filter__tags=nda": "",
    "?filter__expiring_at[$lt]=2040-01-01": "",
    "?filter__approvals_pending=false&limit=1": "T-3",
  };
  it("filters by every operator, and by text", async (t) => {
    const on = await emulator(t);
    await sent(on.api);
    await on.ask("POST", "clock/advance", { body: { by: "P1D" } });
    await draft(on.api, {
      contract_template_id: 104,
      entity_reference_id: "NW-US",
      counter_party_details: [{ ...acme, organization_name: "Globex" }],
    });
    await on.api("PATCH", "/api/v2.1/public/contracts/2/business_user/", { body: { user_id: 12 } });
    const kim = { ...jo, first_name: "Kim", email: "kim@solo.example" };
    const third = await draft(on.api, { counter_party_details: [{ is_individual: true, poc_details: kim }] });
    await on.ask("POST", `contracts/${third.id}/void`);
    const found: Record<string, string> = {};
    for (const query of Object.keys(filters)) found[query] = await idsOf(on.api, query);
    assert.deepEqual(found, filters);
  });

  it("refuses fields, operators and values that it does not know", async (t) => {
    const on = await emulator(t);
    await draft(on.api);
    const wrong: readonly (readonly [string, object])[] = [
      ["?filter__colour=red", { filter__colour: ["Invalid filter field"] }],
      ["?filter__toString=x", { filter__toString: ["Invalid filter field"] }],
      ["?filter__display_status[$gt]=SIGN", { "filter__display_status[$gt]": ["Invalid filter operator"] }],
      ["?filter__contract_id[$like]=1", { "filter__contract_id[$like]": ["Invalid filter operator"] }],
      ["?filter__contract_id[$gt]=x", { "filter__contract_id[$gt]": ["Input should be a valid number"] }],
      ["?filter__created_at[$gt]=soon", { "filter__created_at[$gt]": ["Input should be a valid date"] }],
      ["?limit=101", { limit: ["Input should be less than or equal to 100"] }],
      ["?page=0", { page: ["Input should be greater than or equal to 1"] }],
    ];
    for (const [query, problems] of wrong) {
      await assertRefused(on, () => on.api("GET", `/api/v2.1/public/contracts/${query}`), fields(problems));
    }
  });
});
