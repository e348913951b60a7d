import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDraftContract,
  createSentContract,
  getContractStatus,
  listRecipients,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import {
  getButtons,
  getRecipientLink,
  getSigningLink,
  listPeople,
  openPage,
  submitSuccessfully,
} from "../../../support/identity/recipient-page.ts";

const ada = "ada@northwind.example";
const ben = "ben@northwind.example";
const jo = "jo@acme.example";

/** Jo signs first, then Ada. */
const orderedSigning = {
  signatories: [
    { name: "Ada", email: ada, is_counterparty_signatory: false, sign_order: 2 },
    { name: "Jo", email: jo, is_counterparty_signatory: true, counterparty_name: "Acme Inc.", sign_order: 1 },
  ],
  contract_template_id: 102,
  contract_data: { start_date: "2031-02-01", seats: 3 },
};

const createNegotiatedContract = (emulator: TestEmulator) =>
  createSentContract(emulator.api, { contract_template_id: 104, contract_name: "Negotiated" });

describe("contract page of a recipient", () => {
  it("allows a signatory to sign and shows the signature after a reload", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"]);
    const link = await getSigningLink(emulator, contract, jo);
    const page = await openPage(link);
    assert.equal(
      page.text,
      "NDA with Acme You are Jo Doe. Contract T-1 (SVC-1) Between Northwind GmbH and Acme Inc. " +
        "Status Out for signature (SIGN) Next Waiting for Jo Doe to sign. " +
        "Document Read the PDF (opens in a new tab) It is your turn to sign Note (optional): Sign " +
        "Decline The contract goes back to its owner. It cannot be signed until it is sent again. " +
        "Reason (optional): Decline the contract Comment: Add the comment Signatories Jo Doe Acme Inc., jo@acme.example Asked to sign 2031-01-02 at 03:04 UTC",
    );
    assert.match(
      (await submitSuccessfully(link, { act: "sign", text: "Fine" })).text,
      /Jo Doe.* Signed 2031-01-02 at 03:04 UTC$/,
    );
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example COMPLETED signed"]);
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
    const [signed, executed, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    assert.deepEqual(signed?.activity_data.performed_by, { name: "Jo Doe", email: jo });
    assert.deepEqual(executed?.activity_data.performed_by, { name: "SYSTEM" });
    const after = await openPage(link);
    assert.match(
      after.text,
      /^NDA with Acme You are Jo Doe\. You signed this contract on 2031-01-02 at 03:04 UTC\. Contract .* Next No pending actions\. Document .* Signatories/,
    );
    assert.deepEqual(getButtons(after), []);
  });

  it("allows a signatory to decline with a reason and shows the next step", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const link = await getSigningLink(emulator, contract, jo);
    const after = await submitSuccessfully(link, { act: "decline", text: "Wrong amount" });
    assert.match(
      after.text,
      /You declined to sign this contract on 2031-01-02 at 03:04 UTC\. Your reason: Wrong amount Contract .* Next Waiting for Ada Keller to send it again\. Document .* Signatories Jo Doe.* Declined/,
    );
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example COMPLETED declined"]);
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
    // This holds until the next request for action.
    assert.match((await openPage(link)).text, /You declined to sign/);
    await emulator.control("POST", "contracts/T-1/send", { body: {} });
    assert.match((await openPage(link)).text, /^NDA with Acme You are Jo Doe\. Contract .* It is your turn to sign/);
  });

  it("prompts each signatory in turn and shows the next one to others", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api, orderedSigning);
    const [adas, jos] = [await getSigningLink(emulator, contract, ada), await getSigningLink(emulator, contract, jo)];
    const waiting = await openPage(adas);
    assert.match(waiting.text, /You are Ada\. .*It is not your turn Waiting for Jo to sign\. .*Signs after others/);
    assert.match(waiting.text, /Signatories Jo .* Asked to sign .* Ada .* Signs after others/);
    assert.deepEqual(getButtons(waiting), []);
    await submitSuccessfully(jos, { act: "sign" });
    assert.deepEqual(getButtons(await openPage(adas)), ["sign", "decline", "comment"]);
    assert.match((await openPage(jos)).text, /You signed this contract on .* Next Waiting for Ada to sign\./);
    await submitSuccessfully(adas, { act: "sign" });
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
  });

  it("allows a counterparty to complete its review and sign with one link", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createNegotiatedContract(emulator);
    const { items } = (await emulator.control("GET", "emails?contract=T-1")).body as { items: { link: string }[] };
    const link = items[0]!.link;
    assert.deepEqual(getButtons(await openPage(link)), ["complete-review", "comment"]);
    const reviewed = await submitSuccessfully(link, { act: "complete-review" });
    assert.deepEqual(getButtons(reviewed), ["sign", "decline", "comment"]);
    assert.match(reviewed.text, /You completed the review\. .* It is your turn to sign/);
    await submitSuccessfully(link, { act: "sign" });
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
  });

  it("allows every review recipient to act, but not recipients of a copy", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { contract_template_id: 104 });
    const body = { to_emails: ["Max@acme.example"], cc_emails: ["copy@acme.example"] };
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body });
    const { items } = (await emulator.control("GET", "emails?contract=T-1")).body as {
      items: { link: string; mode: string }[];
    };
    const [copy, max] = items.map(({ link }) => link);
    const read = await openPage(copy!);
    assert.match(read.text, /You are copy@acme\.example\. .*Waiting for Jo Doe or Max@acme\.example to review\./);
    assert.deepEqual(getButtons(read), []);
    await submitSuccessfully(max!, { act: "complete-review" });
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
  });

  it("allows members of the workspace to review and approve in sequence", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_APPROVAL_COMPLETED"]);
    const approvals = [
      { name: "Legal", notes: "", approver_role_id: 1, order: 1 },
      { name: "Finance", notes: "", approver_user_id: 12, order: 2 },
    ];
    const at = "/api/v2.1/public/contracts";
    await emulator.api("POST", `${at}/${contract.number}/review_request/`, { body: { assignee_role_id: 2 } });
    await emulator.api("POST", `${at}/approvals/${contract.id}/`, { body: { approvals } });
    const turns = async () => (await listPeople(emulator, contract)).map(({ email, turn }) => [email, ...turn]);
    assert.deepEqual(await turns(), [[jo], [ben, "review"], [ada, "approve"]]);
    const [adas, bens] = [
      await getRecipientLink(emulator, contract, ada),
      await getRecipientLink(emulator, contract, ben),
    ];
    assert.match((await openPage(bens)).text, /Waiting for Ben Okafor to review, and for Ada Keller to approve\./);
    assert.match(
      (await submitSuccessfully(adas, { act: "approve", text: "Good" })).text,
      /You approved this contract\. .* Next Waiting/,
    );
    assert.deepEqual(await turns(), [[jo], [ben, "review", "approve"], [ada]]);
    await submitSuccessfully(bens, { act: "approve" });
    await submitSuccessfully(bens, { act: "complete-review" });
    assert.deepEqual(await turns(), [[jo], [ben], [ada]]);
    assert.deepEqual(
      (await readPayloads()).map(({ activity, activity_data }) => [activity, activity_data.performed_by]),
      [
        ["CONTRACT_APPROVAL_COMPLETED", { name: "Ada Keller", email: ada }],
        ["CONTRACT_APPROVAL_COMPLETED", { name: "Ben Okafor", email: ben }],
        ["CONTRACT_REVIEW_COMPLETED", { name: "Ben Okafor", email: ben }],
      ],
    );
    const { body } = await emulator.api("GET", `${at}/approvals/${contract.id}/`);
    const { results } = body as { results: { approval: { approval_name: string; status: string } }[] };
    assert.deepEqual(
      results.map(({ approval }) => [approval.approval_name, approval.status]),
      [
        ["Legal", "APPROVED"],
        ["Finance", "APPROVED"],
      ],
    );
  });

  it("accepts comments from users whose turn it is, and shows each user's own", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"]);
    const comments = `/api/v2.1/public/contracts/${contract.number}/comments/`;
    await emulator.api("POST", comments, { body: { comment: "For us alone" } });
    const link = await getSigningLink(emulator, contract, jo);
    const after = await submitSuccessfully(link, { act: "comment", text: "Why <b>three</b> seats?" });
    assert.match(after.text, /Your comment was added\. .* Your comments Why <b>three<\/b> seats\? Signatories/);
    assert.doesNotMatch(after.text, /For us alone/);
    const { results } = (await emulator.api("GET", comments)).body as { results: { comment: string }[] };
    assert.deepEqual(
      results.map(({ comment }) => comment),
      ["Why <b>three</b> seats?", "For us alone"],
    );
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.performed_by),
      [
        { name: "Ada Keller", email: ada },
        { name: "Jo Doe", email: jo },
      ],
    );
  });

  it("records once that the link of the e-mail was opened", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "MAILER_EMAIL_EVENT",
      "SIGNING_EMAIL_LINK_CLICKED",
      "SIGNING_EMAIL_OPENED",
    ]);
    const link = await getSigningLink(emulator, contract, jo);
    const clicked = ["MAILER_EMAIL_EVENT", "SIGNING_EMAIL_LINK_CLICKED"];
    await openPage(link);
    assert.deepEqual(listActivityNames(await readPayloads()), clicked);
    await openPage(link);
    assert.deepEqual(listActivityNames(await readPayloads()), []);
    const { items } = (await emulator.control("GET", "emails?contract=T-1")).body as { items: { events: object[] }[] };
    assert.deepEqual(items[0]!.events, [
      { type: "Click", at: "2031-01-02T03:04:05.000Z", detail: link.replace(emulator.clusters[0]!.url, "") },
    ]);
    // Another e-mail contains another link.
    const body = { email_id: jo };
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/signatories/resend_email/`, { body });
    await openPage(link);
    assert.deepEqual(listActivityNames(await readPayloads()), clicked);
  });
});
