import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  acme,
  createDraftContract,
  createSentContract,
  createUploadRequest,
  requireContract,
} from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const at = "2031-01-02T03:04:05.000Z";

describe("emulator-contracts.list", () => {
  it("lists contracts of all workspaces, including deleted ones, newest first in pages", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api, { contract_name: "First" });
    await createSentContract(emulator.api, { contract_name: "Second" });
    await emulator.control("POST", "contracts/T-1/delete", { body: {} });
    const row = { cluster_id: "eu-1", workspace_id: 1, created_at: at, updated_at: at };
    const second = { contract_id: 2, composite_id: "T-2", contract_status: "SIGN", contract_name: "Second", ...row };
    const first = { contract_id: 1, composite_id: "T-1", contract_status: "DRAFT", contract_name: "First", ...row };
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "contracts")), {
      status: 200,
      body: {
        items: [
          { ...second, deleted_at: null },
          { ...first, deleted_at: at },
        ],
        total: 2,
      },
    });
    assert.deepEqual((await emulator.control("GET", "contracts?limit=1&offset=1")).body, {
      items: [{ ...first, deleted_at: at }],
      total: 2,
    });
  });
});

describe("emulator-contracts.show", () => {
  it("shows the reviewers of a contract, by name or by role", async (t) => {
    const emulator = await startTestEmulator(t);
    const upload = async (reviewer: object) =>
      requireContract(
        emulator.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
          body: await createUploadRequest({ reviewer }),
        }),
      );
    await upload({ org_user_email: "ben@northwind.example", description: "Section 4" });
    await upload({ role_id: 1 });
    await emulator.control("POST", "contracts/T-2/complete-review", { body: {} });
    const reviewsOf = async (id: string) => {
      const { status, body } = await emulator.control("GET", `contracts/${id}`);
      assert.equal(status, 200);
      return (body as { reviews: unknown }).reviews;
    };
    const review = { by: "internal", requested_at: at };
    assert.deepEqual(await reviewsOf("T-1"), [
      {
        ...review,
        user: { id: 12, name: "Ben Okafor", email: "ben@northwind.example" },
        role: null,
        description: "Section 4",
        completed_at: null,
      },
    ]);
    assert.deepEqual(await reviewsOf("2"), [
      { ...review, user: null, role: { id: 1, name: "Legal" }, description: "", completed_at: at },
    ]);
  });

  it("shows the entity and the details of the counterparties", async (t) => {
    const emulator = await startTestEmulator(t);
    const address = { line_one: "2 High Street", city: "Munich", country_iso_code: "DE", tax_id: "DE 1" };
    const organization_details = { jurisdiction_iso_code: "DE", address };
    const details = { organization_type: "Corporation", organization_details };
    await createDraftContract(emulator.api, { counter_party_details: [{ ...acme, ...details }] });
    const embedded = "/api/v2.1/public/embedded/contracts/1/counter_party/?cp_email_id=jo@acme.example";
    const { url } = (await emulator.api("GET", embedded)).body as { url: string };
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "contracts/T-1")), {
      status: 200,
      body: {
        contract_id: 1,
        composite_id: "T-1",
        contract_status: "DRAFT",
        contract_name: "NDA with Acme",
        workspace_id: 1,
        entity: { reference_id: "NW-DE", name: "Northwind GmbH" },
        counterparties: [
          {
            counterparty_id: 1,
            name: "Acme Inc.",
            is_individual: false,
            organization_type: "Corporation",
            organization_details: { ...organization_details, address: { ...address, state: "", zipcode: "" } },
          },
        ],
        reviews: [],
        access: [],
        people: [{ name: "Jo Doe", email: "jo@acme.example", link: url, turn: [], signed_at: null }],
      },
    });
    assert.equal((await emulator.control("GET", "contracts/T-9")).status, 404);
  });
});

describe("entity change of a contract", () => {
  it("replaces the own entity and emits the change once", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_ENTITY_UPDATED"]);
    const body = { reference_id: "NW-US", email: "ben@northwind.example" };
    const moved = { contract_id: 1, composite_id: "T-1", contract_status: "DRAFT", contract_name: "NDA with Acme" };
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual(pickStatusAndBody(await emulator.control("POST", "contracts/T-1/entity", { body })), {
        status: 200,
        body: moved,
      });
    }
    const [once, ...again] = await readPayloads();
    assert.deepEqual(again, []);
    assert.deepEqual(once?.entity, {
      reference_id: "NW-US",
      name: "Northwind Inc.",
      jurisdiction: "United States",
      type: "Corporation",
    });
    assert.deepEqual(once?.activity_data.performed_by, { name: "Ben Okafor", email: "ben@northwind.example" });
  });

  it("rejects an unknown contract, an unknown entity name and a contract out for signature", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await createSentContract(emulator.api);
    const entity = (id: string, reference_id: string) => () =>
      emulator.control("POST", `contracts/${id}/entity`, { body: { reference_id } });
    await assertRejected(emulator, entity("T-9", "NW-US"), {
      status: 404,
      body: {
        error: {
          code: "no_such_contract",
          message: "Contract T-9 not found.",
          hint: "Use its number (12) or its composite ID (T-12). `svc emulator contracts` lists all contracts.",
        },
      },
    });
    await assertRejected(emulator, entity("T-1", "CT-FR"), {
      status: 400,
      body: {
        error: { code: "no_such_entity", message: "Entity CT-FR not found in the workspace. Known: NW-DE, NW-US." },
      },
    });
    await assertRejected(emulator, entity("T-2", "NW-US"), {
      status: 400,
      body: {
        error: {
          code: "entity_not_editable",
          message: "Cannot change the entity: status is SIGN, expected DRAFT or REDLINING.",
          hint: "Run `svc contracts unmark` or `svc emulator resume` first.",
        },
      },
    });
  });

  it("updates an open contract and its signatories when a counterparty is renamed", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["COUNTER_PARTY_UPDATED", "CONTRACT_ENTITY_UPDATED"]);
    const rename = (body: object) => emulator.api("PATCH", "/api/v2.1/public/counter_parties/1", { body });
    await rename({ name: "Acme GmbH" });
    await rename({ brand_name: "ACME" });
    const summaries = (await readPayloads()).map(({ activity, contract_id }) => [activity, contract_id]);
    assert.deepEqual(summaries, [
      ["COUNTER_PARTY_UPDATED", 2],
      ["CONTRACT_ENTITY_UPDATED", 1],
      ["COUNTER_PARTY_UPDATED", 2],
    ]);
    const { results } = (await emulator.api("GET", "/api/v2.1/public/contracts/")).body as {
      results: { id: string; counter_party_name: string }[];
    };
    assert.deepEqual(
      results.map(({ id, counter_party_name }) => [id, counter_party_name]),
      [
        ["T-2", "Acme Inc."],
        ["T-1", "Acme GmbH"],
      ],
    );
    const { rows } = (await emulator.control("GET", "state")).body as {
      rows: { contracts: { signatories: { counterparty_name: string }[] }[] };
    };
    assert.deepEqual(
      rows.contracts.map(({ signatories }) => signatories[0]?.counterparty_name),
      ["Acme GmbH", "Acme Inc."],
    );
  });
});
