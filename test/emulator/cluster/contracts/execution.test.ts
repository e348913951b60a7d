import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDomainError,
  createDraftContract,
  createFieldErrors,
  createSentContract,
  getContractStatus,
  listRecipients,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const createForbiddenError = (status: string, participle: string) =>
  createDomainError("SVC_ASSUMED_101", `A contract in status ${status} cannot be ${participle}.`);

describe("marking for execution", () => {
  it("requests signatures in status DRAFT or REDLINING, and unmarking restores that status", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_MARK_FOR_EXECUTION",
      "CONTRACT_UNMARK_FOR_EXECUTION",
      "CONTRACT_SIGNATURE_REQUESTED",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const mark = () =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/mark_for_execution/`, { body: {} });
    const unmark = () =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/unmark_for_execution`, {
        body: { note: "Price" },
      });
    const impossible = { status: 400, body: { detail: "Unable to unmark the contract for execution." } };
    await assertRejected(emulator, unmark, impossible);

    assert.deepEqual(pickStatusAndBody(await mark()), { status: 200, body: "" });
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example IN_PROGRESS"]);
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_MARK_FOR_EXECUTION",
      "CONTRACT_SIGNATURE_REQUESTED",
    ]);
    await assertRejected(emulator, mark, createForbiddenError("SIGN", "marked for execution"));

    assert.deepEqual(pickStatusAndBody(await unmark()), { status: 200, body: "" });
    assert.equal(await getContractStatus(emulator.api, contract), "REDLINING");
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example PENDING"]);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_UNMARK_FOR_EXECUTION"]);
    assert.equal((await mark()).status, 200);
  });

  it("rejects a contract without signatories, with an open review or pending approval", async (t) => {
    const emulator = await startTestEmulator(t);
    const mark = ({ id }: { id: string }) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${id}/mark_for_execution/`);
    const contract = await createDraftContract(emulator.api, { counter_party_details: [] });
    await assertRejected(
      emulator,
      () => mark(contract),
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    );
    const reviewContract = await createDraftContract(emulator.api);
    await emulator.api("POST", `/api/v2.1/public/contracts/${reviewContract.number}/review_request/`, {
      body: { assignee_role_id: 2 },
    });
    await assertRejected(
      emulator,
      () => mark(reviewContract),
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    const approvalContract = await createDraftContract(emulator.api);
    const approvals = [{ name: "Finance", notes: "", approver_user_id: 12 }];
    await emulator.api("POST", `/api/v2.1/public/contracts/approvals/${approvalContract.id}/`, { body: { approvals } });
    await assertRejected(
      emulator,
      () => mark(approvalContract),
      createDomainError("SVC_ASSUMED_104", "Approvals of this contract are pending."),
    );
  });
});

describe("voiding through the API", () => {
  it("requires a note, is final, and rejects executed contracts", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_VOIDED"]);
    const voided = (id: string, body: object) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${id}/status/void`, { body });
    await assertRejected(emulator, () => voided(contract.id, {}), createFieldErrors({ note: ["Field required"] }));
    await assertRejected(
      emulator,
      () => voided(contract.id, { note: "" }),
      createFieldErrors({ note: ["String should have at least 1 character"] }),
    );
    assert.deepEqual(pickStatusAndBody(await voided(contract.id, { note: "Deal lost" })), { status: 204, body: "" });
    assert.equal(await getContractStatus(emulator.api, contract), "VOIDED");
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_VOIDED"]);
    await assertRejected(
      emulator,
      () => voided(contract.id, { note: "again" }),
      createForbiddenError("VOIDED", "voided"),
    );

    const executedContract = await createSentContract(emulator.api);
    await emulator.control("POST", `contracts/${executedContract.id}/sign`);
    await assertRejected(emulator, () => voided(executedContract.id, { note: "late" }), {
      status: 400,
      body: { detail: "Cannot void an executed contract." },
    });
  });
});

describe("review request", () => {
  it("blocks sending a draft until the review is complete", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_REVIEW_REQUESTED"]);
    const body = { assignee_user_id: 12, description: "Please" };
    assert.deepEqual(
      pickStatusAndBody(
        await emulator.api("POST", `/api/v2.1/public/contracts/${contract.number}/review_request/`, { body }),
      ),
      { status: 200, body: "" },
    );
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_REVIEW_REQUESTED"]);
    const send = () => emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(
      emulator,
      send,
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    await emulator.control("POST", `contracts/${contract.id}/complete-review`);
    assert.equal((await send()).status, 200);
  });

  it("accepts one assignee of the workspace, and only before signature", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const requestReview = (body: object) => () =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.number}/review_request/`, { body });
    const formatInvalidPk = (id: number) => [`Invalid pk "${id}" - object does not exist.`];
    await assertRejected(emulator, requestReview({}), createFieldErrors({ assignee_user_id: ["Field required"] }));
    await assertRejected(
      emulator,
      requestReview({ assignee_user_id: 12, assignee_role_id: 1 }),
      createFieldErrors({ assignee_role_id: ["Only one of assignee_user_id and assignee_role_id can be given"] }),
    );
    await assertRejected(
      emulator,
      requestReview({ assignee_user_id: 21 }),
      createFieldErrors({ assignee_user_id: formatInvalidPk(21) }),
    );
    await assertRejected(
      emulator,
      requestReview({ assignee_user_id: 13 }),
      createFieldErrors({ assignee_user_id: formatInvalidPk(13) }),
    );
    await assertRejected(
      emulator,
      requestReview({ assignee_role_id: 3 }),
      createFieldErrors({ assignee_role_id: formatInvalidPk(3) }),
    );
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(
      emulator,
      requestReview({ assignee_role_id: 1 }),
      createForbiddenError("SIGN", "sent for review"),
    );
  });
});

describe("resending the signing e-mail", () => {
  it("reminds one signatory by an e-mail delivered a minute later", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const resend = (email_id: string) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/signatories/resend_email/`, {
        body: { email_id },
      });
    assert.deepEqual(pickStatusAndBody(await resend("jo@acme.example")), { status: 200, body: "" });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT"]);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(listActivityNames(await readPayloads()), ["SIGNING_EMAIL_DELIVERED"]);
    const { body } = await emulator.api("GET", `/api/v2.1/public/contracts/${contract.id}/recipients/`);
    const [item] = (body as { items: { recipient: { last_sent_for_signature_at: string } }[] }).items;
    assert.equal(item?.recipient.last_sent_for_signature_at, "2031-01-02T04:04:05Z");
  });

  it("rejects a signatory who has not been asked yet, and asks them in their turn", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createSentContract(emulator.api, {
      signatories: ["jo", "kim"].map((name, i) => ({
        name,
        email: `${name}@acme.example`,
        is_counterparty_signatory: true,
        counterparty_name: "Acme Inc.",
        sign_order: i + 1,
      })),
    });
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT"]);
    const body = { email_id: "kim@acme.example" };
    await assertRejected(
      emulator,
      () => emulator.api("POST", `/api/v2.1/public/contracts/${id}/signatories/resend_email/`, { body }),
      createDomainError("SVC_ASSUMED_109", "jo@acme.example signs before kim@acme.example."),
    );
    await emulator.control("POST", `contracts/${id}/sign`, { body: { email: "jo@acme.example" } });
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.signatory),
      [{ name: "kim", email: "kim@acme.example" }],
    );
  });

  it("rejects unknown recipients, those who signed, and other statuses", async (t) => {
    const emulator = await startTestEmulator(t);
    const resend = (id: string, email_id: string) => () =>
      emulator.api("POST", `/api/v2.1/public/contracts/${id}/signatories/resend_email/`, { body: { email_id } });
    const waiting = await createDraftContract(emulator.api);
    await assertRejected(
      emulator,
      resend(waiting.id, "jo@acme.example"),
      createForbiddenError("DRAFT", "sent for signature again"),
    );
    const contract = await createSentContract(emulator.api, {
      signatories: ["jo", "kim"].map((name) => ({
        name,
        email: `${name}@acme.example`,
        is_counterparty_signatory: true,
        counterparty_name: "Acme Inc.",
      })),
    });
    await assertRejected(
      emulator,
      resend(contract.id, "eve@evil.example"),
      createDomainError(
        "SVC_ASSUMED_107",
        "eve@evil.example is not a signatory of this contract. It is the turn of jo@acme.example and kim@acme.example.",
      ),
    );
    await emulator.control("POST", `contracts/${contract.id}/sign`, { body: { email: "jo@acme.example" } });
    await assertRejected(
      emulator,
      resend(contract.id, "jo@acme.example"),
      createDomainError(
        "SVC_ASSUMED_108",
        "jo@acme.example has already signed this contract. It is the turn of kim@acme.example.",
      ),
    );
  });
});

describe("contract of another workspace", () => {
  it("returns 404 from every execution route", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const otherApi = await createWorkspaceApi(emulator, 2);
    const routes: readonly (readonly [string, object])[] = [
      ["T-1/mark_for_execution/", {}],
      ["T-1/unmark_for_execution", {}],
      ["T-1/status/void", { note: "x" }],
      ["1/review_request/", { assignee_user_id: 21 }],
      ["T-1/signatories/resend_email/", { email_id: "jo@acme.example" }],
    ];
    for (const [tail, body] of routes)
      await assertRejected(
        emulator,
        () => otherApi("POST", `/api/v2.1/public/contracts/${tail}`, { body }),
        notFoundResponse,
      );
  });
});
