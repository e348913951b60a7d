import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ContractIds, createDraftContract, createSentContract } from "../../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { getHiddenFields } from "../../../support/identity/forms.ts";
import {
  getButtons,
  getRecipientLink,
  getSigningLink,
  openPage,
  type RecipientPage,
  submitForm,
  submitSuccessfully,
} from "../../../support/identity/recipient-page.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";

const ada = "ada@northwind.example";
const jo = "jo@acme.example";
const createSignatory = (name: string, email: string, sign_order: number) =>
  email === ada
    ? { name, email, is_counterparty_signatory: false, sign_order }
    : { name, email, is_counterparty_signatory: true, counterparty_name: "Acme Inc.", sign_order };
/** Jo signs first, then Ada. */
const orderedSigning = {
  signatories: [createSignatory("Ada", ada, 2), createSignatory("Jo", jo, 1)],
  contract_template_id: 102,
  contract_data: { start_date: "2031-02-01", seats: 3 },
};

async function openSigningPage(t: Parameters<typeof startTestEmulator>[0], overrides: object = {}) {
  const emulator = await startTestEmulator(t);
  const contract = await createSentContract(emulator.api, overrides);
  const link = await getSigningLink(emulator, contract, jo);
  await openPage(link);
  return { emulator, contract, link };
}

/** The alert of a page that rejected a form. */
const getStatusAndAlert = ({ status, html }: RecipientPage) => [status, /<p role="alert">(.*?)<\/p>/.exec(html)?.[1]];

/** Asserts status and message of a rejection, and an unchanged state. */
async function assertFormRejected(
  { control }: TestEmulator,
  send: () => Promise<RecipientPage>,
  expected: readonly unknown[],
) {
  await waitUntilIdle({ control });
  await waitUntilIdle({ control });
  const before = (await control("GET", "state")).body;
  assert.deepEqual(getStatusAndAlert(await send()), expected);
  assert.deepEqual((await control("GET", "state")).body, before);
}

const changedForms = [
  409,
  "The contract has changed since the page was loaded, or the form was already sent. Review the contract again.",
];
const notTheirTurn = [409, "It is not your turn for this action."];
const otherForm = [400, "The form is not from this page."];

describe("form of a recipient page", () => {
  it("accepts a submission once", async (t) => {
    const { emulator, link } = await openSigningPage(t);
    const { form_token } = getHiddenFields((await openPage(link)).html);
    const comment = { act: "comment", text: "Once", form_token: form_token! };
    await submitSuccessfully(link, comment);
    await assertFormRejected(emulator, () => submitForm(link, comment), changedForms);
    await submitSuccessfully(link, { act: "sign" });
    await assertFormRejected(emulator, () => submitForm(link, { act: "sign", form_token: form_token! }), notTheirTurn);
  });

  it("rejects a submission after the contract changed, and preserves the input", async (t) => {
    const { emulator, contract, link } = await openSigningPage(t);
    const { form_token } = getHiddenFields((await openPage(link)).html);
    const path = `/api/v2.1/public/contracts/${contract.number}/external_metadata`;
    await emulator.api("POST", path.replace("/1/", "/T-1/"), { body: { external_metadata: { id: "deal-1" } } });
    const fields = { act: "decline", text: "No <i>way</i>", form_token: form_token! };
    const page = await submitForm(link, fields);
    assert.deepEqual(getStatusAndAlert(page), changedForms);
    assert.match(
      page.html,
      /<textarea name="text" rows="2" maxlength="5000" >\nNo &#60;i&#62;way&#60;\/i&#62;<\/textarea>/,
    );
  });

  it("rejects a missing token and the token of another user or contract", async (t) => {
    const { emulator, link } = await openSigningPage(t);
    const otherLink = await getSigningLink(emulator, await createSentContract(emulator.api), jo);
    const tokens = [
      getHiddenFields((await openPage(otherLink)).html).form_token!,
      "",
      "x",
      "\u0000",
      "x".repeat(100_000),
    ];
    for (const form_token of tokens)
      await assertFormRejected(emulator, () => submitForm(link, { act: "sign", form_token }), changedForms);
  });

  it("rejects a submission out of turn", async (t) => {
    const { emulator, contract, link } = await openSigningPage(t, orderedSigning);
    const adas = await getSigningLink(emulator, contract, ada);
    const { form_token } = getHiddenFields((await openPage(link)).html);
    for (const act of ["sign", "decline", "approve", "complete-review", "comment"]) {
      await assertFormRejected(
        emulator,
        () => submitForm(adas, { act, text: "x", form_token: form_token! }),
        notTheirTurn,
      );
    }
    for (const act of ["approve", "complete-review"]) {
      await assertFormRejected(emulator, () => submitForm(link, { act }), notTheirTurn);
    }
  });

  for (const [label, close] of [
    ["on hold", (emulator: TestEmulator) => emulator.control("POST", "contracts/T-1/hold", { body: {} })],
    ["void", (emulator: TestEmulator) => emulator.control("POST", "contracts/T-1/void", { body: {} })],
    ["executed", (emulator: TestEmulator) => emulator.control("POST", "contracts/T-1/sign", { body: {} })],
    ["taken out of signature", unmarkForExecution],
  ] as const) {
    it(`rejects a submission once the contract is ${label}`, async (t) => {
      const { emulator, link } = await openSigningPage(t);
      const { form_token } = getHiddenFields((await openPage(link)).html);
      assert.equal((await close(emulator)).status, 200);
      for (const act of ["sign", "decline", "comment"]) {
        await assertFormRejected(
          emulator,
          () => submitForm(link, { act, text: "x", form_token: form_token! }),
          notTheirTurn,
        );
      }
      assert.deepEqual(getButtons(await openPage(link)), []);
    });
  }

  it("reports the reason if the transition is rejected", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api, { contract_template_id: 104 });
    const state = (await emulator.control("GET", "state")).body as { rows: { contracts: { signatories: object[] }[] } };
    state.rows.contracts[0]!.signatories = [];
    assert.equal((await emulator.control("PUT", "state", { body: state })).status, 200);
    const link = await getRecipientLink(emulator, contract, jo);
    await openPage(link);
    const words = "No signatories are configured for this contract.";
    await assertFormRejected(emulator, () => submitForm(link, { act: "complete-review" }), [400, words]);
  });

  it("rejects unknown fields and overlong text", async (t) => {
    const { emulator, link } = await openSigningPage(t);
    for (const act of ["", "void", "__proto__", "constructor", "SIGN"]) {
      await assertFormRejected(emulator, () => submitForm(link, { act }), otherForm);
    }
    await assertFormRejected(emulator, () => submitForm(link, { act: "comment", text: " \r\n" }), [
      400,
      "The comment is empty.",
    ]);
    const long = [400, "The text must be at most 5000 characters."];
    await assertFormRejected(emulator, () => submitForm(link, { act: "decline", text: "x".repeat(5_001) }), long);
  });

  it("rejects requests from other sites, opaque frames and other emulator pages", async (t) => {
    const { emulator, link } = await openSigningPage(t);
    const { host } = new URL(link);
    for (const headers of [
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: `http://${host}1` },
      { origin: emulator.routerUrl },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "same-origin", origin: "null" },
    ] as Record<string, string>[]) {
      await waitUntilIdle(emulator);
      const before = (await emulator.control("GET", "state")).body;
      const page = await submitForm(link, { act: "sign" }, headers);
      assert.match(page.text, /^Request blocked This form was not submitted from its own page\./);
      assert.equal(page.status, 403);
      assert.deepEqual((await emulator.control("GET", "state")).body, before);
    }
    const response = await submitForm(
      link,
      { act: "sign" },
      { origin: `http://${host}`, "sec-fetch-site": "same-origin" },
    );
    assert.equal(response.status, 303);
  });

  it("accepts arbitrary bytes without a server error", async (t) => {
    const { emulator, link } = await openSigningPage(t);
    await waitUntilIdle(emulator);
    const before = (await emulator.control("GET", "state")).body;
    const form = "application/x-www-form-urlencoded";
    for (const [type, body] of [
      [form, "%ff=%00&act=%zz"],
      [form, "act=sign&act=sign".repeat(20_000)],
      [form, `${"a=1&".repeat(20_000)}act=sign`],
      ["application/json", "{"],
      ["application/json", `${"[".repeat(100_000)}`],
      ["application/json", '{"act":"sign","form_token":{}}'],
      ["multipart/form-data; boundary=x", "--x\r\n"],
      ["text/plain", "act=sign"],
      ["", ""],
    ] as const) {
      const { status } = await fetch(link, { method: "POST", body, headers: { "content-type": type } });
      assert.ok(status === 400 || status === 409, `${status} for ${type} ${body.slice(0, 20)}`);
    }
    assert.deepEqual((await emulator.control("GET", "state")).body, before);
  });
});

it("contract pages escape names that contain tags", async (t) => {
  const tag = `"'><script>alert(1)</script>&amp;`;
  const emulator = await startTestEmulator(t);
  const contract: ContractIds = await createDraftContract(emulator.api, {
    contract_name: tag,
    counter_party_details: [
      { is_individual: false, organization_name: tag, poc_details: { first_name: tag, last_name: tag, email: jo } },
    ],
  });
  await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
  const link = await getSigningLink(emulator, contract, jo);
  await submitSuccessfully(link, { act: "comment", text: tag });
  const escaped = "&#34;&#39;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;amp;";
  for (const url of [link, link.split("?")[0]!]) {
    const { html } = await openPage(url);
    assert.doesNotMatch(html, /<script|&amp;/);
    assert.ok(html.includes(`<h1>${escaped}</h1>`) && html.includes(`<bdi>${escaped} ${escaped}</bdi>`));
  }
});

async function unmarkForExecution({ api }: TestEmulator) {
  return api("POST", "/api/v2.1/public/contracts/T-1/unmark_for_execution", { body: {} });
}
