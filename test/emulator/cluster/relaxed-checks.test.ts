import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { acme, createContractRequest, createUploadRequest, jo } from "../../support/contracts.ts";
import { startTestEmulator, type TestEmulator, type TestResponse } from "../../support/emulator.ts";

/** The log entry of the newest request. */
async function getLastFindings({ control }: Pick<TestEmulator, "control">) {
  const { items } = (await control("GET", "requests")).body as {
    items: { findings: { code: string; detail: string }[] }[];
  };
  return items.at(-1)?.findings.map(({ code, detail }) => `${code}: ${detail}`);
}

async function startWithFindings(t: TestContext) {
  const emulator = await startTestEmulator(t);
  return {
    ...emulator,
    /** The findings of a request that is accepted. */
    async listNewFindings(pendingResponse: Promise<TestResponse>) {
      const { status, body } = await pendingResponse;
      assert.ok(status < 300, JSON.stringify(body));
      return getLastFindings(emulator);
    },
  };
}

const contracts = "/api/v2.1/public/contracts/";

describe("request log", () => {
  it("reports unknown fields of a body with the nearest known name", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const party = { ...acme, organisation_name: "Acme" };
    const body = createContractRequest({ contract_nmae: "NDA", counter_party_details: [party], colour: "red" });
    assert.deepEqual(await listNewFindings(api("POST", contracts, { body })), [
      "unknown-field: counter_party_details[0].organisation_name is unknown. Did you mean organization_name?",
      "unknown-field: contract_nmae is unknown. Did you mean contract_name?",
      "unknown-field: colour is unknown",
    ]);
    assert.deepEqual(await listNewFindings(api("POST", contracts, { body: createContractRequest() })), []);
  });

  it("reports unknown parameters of a query", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const search = "limit=5&filter__priorty=HIGH&filter__status[$gt]=DRAFT&page=1";
    assert.deepEqual(await listNewFindings(api("GET", `/api/v1/public/legal_intake/?${search}`)), [
      "unknown-field: filter__priorty is unknown. Did you mean filter__priority?",
      "unknown-field: filter__status[$gt] is unknown. Did you mean filter__status[$eq]?",
    ]);
    assert.deepEqual(await listNewFindings(api("GET", "/api/v2.1/public/templates/?tags=a&tags=b")), []);
    for (const [path, filter] of [
      [contracts, "filter__contract_id[$gt]"],
      ["/api/v2.1/public/counter_parties/", "filter_custom__region"],
    ] as const)
      assert.deepEqual(await listNewFindings(api("GET", `${path}?limitt=5&${filter}=1`)), [
        "unknown-field: limitt is unknown. Did you mean limit?",
      ]);
  });

  it("reports at most ten unknown fields with truncated names", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${"x".repeat(1_000)}${at}`, 1]));
    const findings = (await listNewFindings(api("POST", contracts, { body: createContractRequest(many) })))!;
    assert.equal(findings.length, 10);
    assert.ok(findings.every((line) => line.length < 200));
  });

  it("reports unknown template answers on every route", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const contractBody = {
      contract_template_id: 102,
      contract_data: { start_date: "2031-02-01", seats: 3, start_dat: "x" },
    };
    const signatories = [
      { name: "Ada", email: "ada@northwind.example", is_counterparty_signatory: false },
      { name: "Jo Doe", email: "jo@acme.example", is_counterparty_signatory: true, counterparty_name: "Acme Inc." },
    ];
    const noticed = ["unknown-field: contract_data.start_dat is unknown. Did you mean start_date?"];
    assert.deepEqual(
      await listNewFindings(api("POST", contracts, { body: createContractRequest({ ...contractBody, signatories }) })),
      noticed,
    );
    assert.deepEqual(await listNewFindings(api("POST", `${contracts}preview/`, { body: contractBody })), noticed);
    assert.deepEqual(
      await listNewFindings(api("PATCH", `${contracts}T-1/contract_data`, { body: { data: { seat: 4 } } })),
      ["unknown-field: data.seat is unknown. Did you mean seats?"],
    );
  });

  it("reports unknown intake form answers at creation and later", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const body = await createUploadRequest({ contract_type_id: 301, intake_form_data: { purpose: "x", purpos: "y" } });
    assert.deepEqual(await listNewFindings(api("POST", `${contracts}upload_review_contracts/`, { body })), [
      "unknown-field: intake_form_data.purpos is unknown. Did you mean purpose?",
    ]);
    assert.deepEqual(
      await listNewFindings(api("PATCH", `${contracts}T-1/intake_form/response`, { body: { purposes: "z" } })),
      ["unknown-field: purposes is unknown. Did you mean purpose?"],
    );
  });

  for (const [code, isKnown] of [
    ["DE", true],
    ["GB", true],
    ["UK", false],
    ["XX", false],
    ["de", false],
    ["Germany", false],
  ] as const) {
    it(`${isKnown ? "accepts the known country" : "reports the unknown country"} ${code}`, async (t) => {
      const { api, listNewFindings } = await startWithFindings(t);
      const address = { line_one: "Main St 1", city: "Berlin", country_iso_code: code };
      const body = createContractRequest({ counter_party_details: [{ ...acme, organization_details: { address } }] });
      const field = "counter_party_details[0].organization_details.address.country_iso_code";
      const expected = `unknown-country: ${field} is not the code of a country (ISO 3166-1, two letters)`;
      assert.deepEqual(await listNewFindings(api("POST", contracts, { body })), isKnown ? [] : [expected]);
    });
  }

  it("reports invalid addresses of a trial", async (t) => {
    const { router, listNewFindings } = await startWithFindings(t);
    const signup = { email: "ada.example.com", captcha: "pass" };
    assert.deepEqual(await listNewFindings(router("POST", "/router/v1/trial/signup", { body: signup })), [
      "not-an-email: email is not an e-mail address",
    ]);
    const { body } = await router("POST", "/router/v1/trial/signup", { body: { ...signup, email: "ada@example.com" } });
    const { token } = body as { token: string };
    const company = { job_title: "Counsel", company_name: "Example Ltd", industry: "Software", use_case: "Sales" };
    const invited_users = [
      { email: "bob@example.com", first_name: "Bob" },
      { email: "bad", first_name: "Bad" },
    ];
    const complete = { token, first_name: "Ada", ...company, invited_users };
    assert.deepEqual(
      (await listNewFindings(router("POST", "/router/v1/trial/signup/complete", { body: complete })))?.filter((line) =>
        line.startsWith("not-an-email"),
      ),
      ["not-an-email: invited_users[1].email is not an e-mail address"],
    );
  });

  it("reports invalid hashes of addresses", async (t) => {
    const { router, clusters, control } = await startWithFindings(t);
    const headers = { "x-cluster-key": clusters[0]!.clusterKey! };
    const email_hash_list = [hashEmail(jo.email), "jo@acme.example", hashEmail(jo.email).toUpperCase()];
    const body = { cluster_id: "eu-1", email_hash_list };
    const problem = "is not a SHA-256 in 64 lower-case hexadecimal digits";
    await router("POST", "/router/v1/cluster_emails/bulk", { body, headers });
    assert.deepEqual(await getLastFindings({ control }), [
      `not-an-email-hash: email_hash_list[1] ${problem}`,
      `not-an-email-hash: email_hash_list[2] ${problem}`,
    ]);
    await router("GET", "/router/v1/cluster_emails/email/jo@acme.example", { headers });
    assert.deepEqual(await getLastFindings({ control }), [`not-an-email-hash: email_hash ${problem}`]);
    await router("GET", `/router/v1/cluster_emails/email/${hashEmail(jo.email)}`, { headers });
    assert.deepEqual(await getLastFindings({ control }), []);
  });

  it("reports characters that the font of a document lacks", async (t) => {
    const { api, listNewFindings } = await startWithFindings(t);
    const body = createContractRequest({ contract_name: "Łódź – „Dom“ 5 € Договор 契約" });
    const { id } = (await api("POST", contracts, { body })).body as { id: string };
    const missing = [
      "missing-glyph: The font of the document has no glyph for 契 約. A question mark is shown instead",
    ];
    assert.deepEqual(await listNewFindings(api("POST", `${contracts}${id}/download`)), missing);
    assert.deepEqual(await listNewFindings(api("POST", `${contracts}${id}/download_link`)), missing);
    const content = await api("GET", `${contracts}${id}/content`);
    assert.match((content.body as { content: string }).content, /^Łódź – „Dom“ 5 € Договор \?\?\n/);
  });
});
