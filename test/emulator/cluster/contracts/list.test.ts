import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  acme,
  createDraftContract,
  createFieldErrors,
  createSentContract,
  initialTime,
  jo,
} from "../../../support/contracts.ts";
import { measureCostRatio } from "../../../support/cost-ratio.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

interface ContractPage {
  readonly page: number;
  readonly limit: number;
  readonly total_results: number;
  readonly results: readonly { readonly id: string }[];
}

const list = async (api: TestEmulator["api"], query = ""): Promise<ContractPage> => {
  const { status, body } = await api("GET", `/api/v2.1/public/contracts/${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as ContractPage;
};

const listIds = async (api: TestEmulator["api"], query: string): Promise<string> =>
  (await list(api, query)).results.map(({ id }) => id).join(" ");

const listIdsByQuery = async (
  api: TestEmulator["api"],
  queries: readonly string[],
): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const query of queries) found[query] = await listIds(api, query);
  return found;
};

describe("contract list", () => {
  it("lists contracts of the workspace in pages, newest first", async (t) => {
    const emulator = await startTestEmulator(t);
    for (let n = 0; n < 12; n += 1) await createDraftContract(emulator.api);
    const first = await list(emulator.api);
    assert.deepEqual(
      { ...first, results: first.results.length },
      { page: 1, limit: 10, total_results: 12, results: 10 },
    );
    assert.deepEqual(first.results[0], {
      id: "T-12",
      created: initialTime,
      contract_name: "NDA with Acme",
      contract_link: `${emulator.clusters[0]!.url}/contracts/T-12`,
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
    assert.equal(await listIds(emulator.api, "?page=2"), "T-2 T-1");
    assert.equal(await listIds(emulator.api, "?page=4&limit=3"), "T-3 T-2 T-1");
    assert.equal(await listIds(emulator.api, "?page=9"), "");
    assert.equal((await list(await createWorkspaceApi(emulator, 2))).total_results, 0);
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
    "?filter__client_brand_name=globe": "T-2",
    "?filter__client_email=jo@acme.example": "T-2 T-1",
    "?filter__client_email_address=jo@acme.example": "T-2 T-1",
    "?filter__contract_packet_name=x": "",
    "?filter__client_email[$in]=lee@globex.example,max@globex.example": "T-2",
    "?filter__signatures_pending_on=jo@acme.example": "T-2 T-1",
    "?filter__pending_with=COUNTER_PARTY": "T-1",
    "?filter__business_user_id=12": "T-2",
    "?filter__tags=nda": "",
    "?filter__expiring_at[$lt]=2040-01-01": "",
    "?filter__approvals_pending=false&limit=1": "T-3",
  };
  it("filters by every operator and by text", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "P1D" } });
    await createDraftContract(emulator.api, {
      contract_template_id: 104,
      entity_reference_id: "NW-US",
      counter_party_details: [
        { ...acme, organization_name: "Globex" },
        { ...acme, organization_name: "Globex East", poc_details: { ...jo, email: "lee@globex.example" } },
        { ...acme, organization_name: "Globex West", poc_details: { ...jo, email: "max@globex.example" } },
      ],
    });
    await emulator.api("PATCH", "/api/v2.1/public/contracts/2/business_user/", { body: { user_id: 12 } });
    await emulator.api("PATCH", "/api/v2.1/public/counter_parties/2", { body: { brand_name: "Globe" } });
    const kim = { ...jo, first_name: "Kim", email: "kim@solo.example" };
    const third = await createDraftContract(emulator.api, {
      counter_party_details: [{ is_individual: true, poc_details: kim }],
    });
    await emulator.control("POST", `contracts/${third.id}/void`);
    assert.deepEqual(await listIdsByQuery(emulator.api, Object.keys(filters)), filters);
  });

  // T-1: executed. T-2: declined. T-3: in review and approval, of a template with a tag.
  const worked: Readonly<Record<string, string>> = {
    "?filter__execution_date[$gte]=2031-01-02": "T-1",
    "?filter__signatories=JO@acme.example": "T-3 T-2 T-1",
    "?filter__signatures_completed_by=jo@acme.example": "T-1",
    "?filter__signatures_rejected_by=jo@acme.example": "T-2",
    "?filter__approvals_pending=true": "T-3",
    "?filter__assigned_to=12": "T-3",
    "?filter__legal_user_id=11": "T-3 T-2 T-1",
    "?filter__tags[$in]=paper,deal": "T-3",
    "?filter__last_updated_on[$gt]=2031-01-02T03:04:05Z": "T-3",
  };
  it("filters by signatures, reviews, approvals and other actions", async (t) => {
    const emulator = await startTestEmulator(t);
    const [signed, declined] = [await createSentContract(emulator.api), await createSentContract(emulator.api)];
    await emulator.control("POST", `contracts/${signed.id}/sign`);
    await emulator.control("POST", `contracts/${declined.id}/decline`);
    const { id, number } = await createDraftContract(emulator.api, { contract_template_id: 104 });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    await emulator.api("PATCH", "/api/v2.1/public/templates/104/", { body: { tags: ["deal"] } });
    await emulator.api("POST", `/api/v2.1/public/contracts/${number}/review_request/`, {
      body: { assignee_user_id: 12 },
    });
    const approvals = [{ name: "Budget", notes: "", approver_user_id: 12 }];
    await emulator.api("POST", `/api/v2.1/public/contracts/approvals/${id}/`, { body: { approvals } });
    assert.deepEqual(await listIdsByQuery(emulator.api, Object.keys(worked)), worked);
  });

  it("filters by a date before 1970", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createSentContract(emulator.api);
    await emulator.control("POST", `contracts/${id}/sign`);
    const state = (await emulator.control("GET", "state")).body as { rows: { contracts: { executed_at: number }[] } };
    state.rows.contracts[0]!.executed_at = Date.parse("1969-07-20T20:17:40Z");
    assert.equal((await emulator.control("PUT", "state", { body: state })).status, 200);
    const early: Readonly<Record<string, string>> = {
      "?filter__execution_date[$lt]=1970-01-01": "T-1",
      "?filter__execution_date[$lte]=1969-07-20T20:17:40Z": "T-1",
      "?filter__execution_date[$lt]=1969-07-20T20:17:40Z": "",
      "?filter__execution_date=1969-07-20": "T-1",
      "?filter__execution_date[$lte]=1969-07-20": "T-1",
      "?filter__execution_date[$gt]=1969-07-20": "",
      "?filter__execution_date[$gt]=1969-07-19&filter__execution_date[$lt]=1969-07-21": "T-1",
      "?filter__execution_date[$gte]=1969-07-21": "",
    };
    assert.deepEqual(await listIdsByQuery(emulator.api, Object.keys(early)), early);
  });

  // T-1 is of 03:04:05, T-2 of a quarter of a second later, T-3 of the next second.
  const exactTimes: Readonly<Record<string, string>> = {
    "?filter__created_at=2031-01-02T03:04:05Z": "T-2 T-1",
    "?filter__created_at=2031-01-02T04:04:05%2B01:00": "T-2 T-1",
    "?filter__created_at=2031-01-02T03:04:05.250Z": "T-2",
    "?filter__created_at[$in]=2031-01-02T03:04:06Z,2031-01-02T03:04:07Z": "T-3",
    "?filter__created_at[$ne]=2031-01-02T03:04:05Z": "T-3",
    "?filter__created_at[$lte]=2031-01-02T03:04:05Z": "T-2 T-1",
    "?filter__created_at[$gt]=2031-01-02T03:04:05Z": "T-3",
    "?filter__created_at[$gte]=2031-01-02T03:04:05.100Z": "T-3 T-2",
    "?filter__created_at[$gte]=2031-01-02T03:04:06": "T-3",
    "?filter__created_at[$gte]=2031-01-02 03:04:06.000000": "T-3",
    "?filter__created_at[$lt]=2031-01-02T03:04": "",
  };
  it("finds contracts by the time that it shows, in every time zone of the machine", async (t) => {
    const zone = process.env.TZ;
    process.env.TZ = "America/New_York";
    t.after(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    for (const to of ["2031-01-02T03:04:05.250Z", "2031-01-02T03:04:06Z"]) {
      await emulator.control("POST", "clock/advance", { body: { to } });
      await createDraftContract(emulator.api);
    }
    assert.deepEqual(await listIdsByQuery(emulator.api, Object.keys(exactTimes)), exactTimes);
  });

  it("rejects unknown fields, operators and values", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const wrong: readonly (readonly [string, object])[] = [
      ["?filter__colour=red", { filter__colour: ["Invalid filter field"] }],
      ["?filter__toString=x", { filter__toString: ["Invalid filter field"] }],
      ["?filter__display_status[$gt]=SIGN", { "filter__display_status[$gt]": ["Invalid filter operator"] }],
      ["?filter__contract_id[$like]=1", { "filter__contract_id[$like]": ["Invalid filter operator"] }],
      ["?filter__contract_id[$gt]=x", { "filter__contract_id[$gt]": ["Input should be a valid number"] }],
      ["?filter__created_at[$gt]=soon", { "filter__created_at[$gt]": ["Input should be a valid date"] }],
      ["?filter__created_at[$gt]=week 1", { "filter__created_at[$gt]": ["Input should be a valid date"] }],
      ["?filter__created_at[$gt]=2031-02-30", { "filter__created_at[$gt]": ["Input should be a valid date"] }],
      ["?limit=101", { limit: ["Input should be less than or equal to 100"] }],
      ["?page=0", { page: ["Input should be greater than or equal to 1"] }],
    ];
    for (const [query, problems] of wrong) {
      await assertRejected(
        emulator,
        () => emulator.api("GET", `/api/v2.1/public/contracts/${query}`),
        createFieldErrors(problems),
      );
    }
  });

  it("finds nothing for values that no contract can have, and reports them", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const query = new URLSearchParams({
      "filter__display_status[$in]": "SIGNED,sign,OPEN",
      filter__contract_id: "T-1",
      filter__created_at: "today",
    });
    assert.equal(await listIds(emulator.api, `?${query}`), "");
    const { items } = (await emulator.control("GET", "requests?service=contracts")).body as {
      items: readonly { findings: readonly object[] }[];
    };
    const statuses = "DRAFT, REDLINING, SIGN, EXECUTED, ON_HOLD, VOIDED";
    assert.deepEqual(
      items.at(-1)?.findings,
      [
        "filter__contract_id must be a number, got T-1",
        "filter__created_at must be a date, got today",
        `filter__display_status[$in] must be one of ${statuses}, got SIGNED, OPEN`,
      ].map((detail) => ({ code: "unknown-filter-value", detail })),
    );
  });

  it("combines filters by intersection", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSeveralContracts(emulator);
    const every = getIds(await listAll(emulator.api));
    const alone = new Map<string, readonly string[]>();
    for (const filter of requests) {
      alone.set(filter, getIds(await listAll(emulator.api, filter)));
      const pages = [1, 2, 3, 4, 5].map((page) => list(emulator.api, `?${filter}&limit=5&page=${page}`));
      assert.deepEqual(getIds((await Promise.all(pages)).flatMap(({ results }) => results)), alone.get(filter));
    }
    for (const [a, b] of requests.flatMap((value, i) => requests.slice(i).map((other) => [value, other] as const))) {
      const both = alone.get(a)!.filter((id) => alone.get(b)!.includes(id));
      if (a.split("=")[0] !== b.split("=")[0])
        assert.deepEqual(getIds(await listAll(emulator.api, `${a}&${b}`)), both, `${a} ${b}`);
      const [key, value] = a.split("=");
      if (/^filter__\w+$/.test(key!)) {
        const exclusive = every.filter((id) => !alone.get(a)!.includes(id));
        assert.deepEqual(
          getIds(await listAll(emulator.api, `${key}[$ne]=${value}`)),
          exclusive,
          `${key} is not ${value}`,
        );
        const [otherKey, otherValue] = b.split("=");
        const either = every.filter((id) => alone.get(a)!.includes(id) || alone.get(b)!.includes(id));
        if (key === otherKey)
          assert.deepEqual(
            getIds(await listAll(emulator.api, `${key}[$in]=${value},${otherValue}`)),
            either,
            `${a} or ${b}`,
          );
      }
    }
  });

  it("reads one page at most if an index covers the filter", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const rare = await createSentContract(emulator.api, { contract_template_id: 104 });
    await multiplyContracts(emulator, 20_000);
    const times = (query: string, below?: number) =>
      measureCostRatio(
        () => list(emulator.api, query),
        () => list(emulator.api),
        below,
      );
    const scanned = await times("?filter__client_name=nobody");
    assert.ok(scanned > 4, `too few contracts to notice: to look at all takes ${scanned} times as long as a page`);
    for (const filter of [
      "display_status=REDLINING",
      "display_status=DRAFT",
      "contract_type_id=302",
      "contract_type_id=301",
      "client_email=jo@acme.example",
      `contract_reference_id=SVC-${rare.number}`,
      "contract_id[$gt]=2",
      "contract_id[$gt]=10000&filter__contract_id[$lte]=10005",
      "last_updated_on[$gte]=2031-01-02T03:04:15Z&filter__last_updated_on[$lt]=2031-01-02T03:04:15.005Z",
      "last_updated_on[$gte]=2031-02-01",
      "display_status=REDLINING&filter__client_name=acme inc.",
    ]) {
      const longer = await times(`?filter__${filter}`, 3);
      assert.ok(longer < 3, `${filter}: ${longer} times as long as a page without it`);
    }
  });
});

const getIds = (results: ContractPage["results"]): string[] => results.map(({ id }) => id);
const listAll = async (api: TestEmulator["api"], query = "") => (await list(api, `?limit=100&${query}`)).results;

/** Filters that match some, but not all, of `severalContracts`. */
const requests = [
  "filter__display_status=DRAFT",
  "filter__display_status=sign",
  "filter__contract_type_id=301",
  "filter__contract_type_id=302",
  "filter__client_email=jo@acme.example",
  "filter__client_email=KIM@solo.example",
  "filter__client_name=Kim Doe",
  "filter__contract_id[$gt]=7",
  "filter__contract_id[$lte]=20",
  "filter__created_at[$gte]=2031-01-10",
  "filter__created_at[$lt]=2031-01-20T03:04:05Z",
  "filter__last_updated_on[$gt]=2031-01-12",
  "query=globex",
];

/** 24 contracts of two types, three statuses and several parties, one a day; two of them deleted. */
async function createSeveralContracts({ api, control }: TestEmulator): Promise<void> {
  const kim = { is_individual: true, poc_details: { ...jo, first_name: "Kim", email: "kim@solo.example" } };
  const globex = { ...acme, organization_name: "Globex" };
  const parties = [[acme], [globex, kim], [kim], [acme, globex]];
  for (let n = 0; n < 24; n += 1) {
    const more = { contract_template_id: n % 3 === 0 ? 104 : 101, counter_party_details: parties[n % 4] };
    const { id } = await (n % 5 < 2 ? createSentContract : createDraftContract)(api, more);
    if (n % 11 === 7) await control("POST", `contracts/${id}/delete`);
    await control("POST", "clock/advance", { body: { by: "P1D" } });
  }
  for (const id of ["T-3", "T-6"]) await control("POST", `contracts/${id}/void`);
}

/** Adds this many copies of the first contract, each changed a millisecond after the one before. */
async function multiplyContracts({ control }: TestEmulator, count: number): Promise<void> {
  const { body } = await control("GET", "state");
  const state = body as {
    sequences: Record<string, number>;
    rows: { contracts: { id: number; updated_at: number }[] };
  };
  const [first] = state.rows.contracts;
  const next = state.rows.contracts.length + 1;
  const copies = Array.from({ length: count }, (_, n) => ({
    ...first!,
    id: next + n,
    updated_at: first!.updated_at + n,
  }));
  state.rows.contracts.push(...copies);
  state.sequences.contract = next + count - 1;
  assert.equal((await control("PUT", "state", { body: state })).status, 200);
}
