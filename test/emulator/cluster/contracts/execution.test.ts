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

const createForbiddenError = (status: string, words: string) =>
  createDomainError("SVC_ASSUMED_101", `A contract in status ${status} cannot be ${words}.`);

describe("marking for execution", () => {
  it("requests signatures in status DRAFT or REDLINING, and unmarking restores that status", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    const told = await subscribe(t, on, [
      "CONTRACT_MARK_FOR_EXECUTION",
      "CONTRACT_UNMARK_FOR_EXECUTION",
      "CONTRACT_SIGNATURE_REQUESTED",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const mark = () => on.api("POST", `/api/v2.1/public/contracts/${contract.id}/mark_for_execution/`, { body: {} });
    const unmark = () =>
      on.api("POST", `/api/v2.1/public/contracts/${contract.id}/unmark_for_execution`, { body: { note: "Price" } });
    const impossible = { status: 400, body: { detail: "Unable to unmark the contract for execution." } };
    await assertRejected(on, unmark, impossible);

    assert.deepEqual(pickStatusAndBody(await mark()), { status: 200, body: "" });
    assert.deepEqual(await listRecipients(on.api, contract), ["jo@acme.example IN_PROGRESS"]);
    assert.deepEqual(listActivityNames(await told()), ["CONTRACT_MARK_FOR_EXECUTION", "CONTRACT_SIGNATURE_REQUESTED"]);
    await assertRejected(on, mark, createForbiddenError("SIGN", "marked for execution"));

    assert.deepEqual(pickStatusAndBody(await unmark()), { status: 200, body: "" });
    assert.equal(await getContractStatus(on.api, contract), "REDLINING");
    assert.deepEqual(await listRecipients(on.api, contract), ["jo@acme.example PENDING"]);
    await on.ask("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(listActivityNames(await told()), ["CONTRACT_UNMARK_FOR_EXECUTION"]);
    assert.equal((await mark()).status, 200);
  });

  it("rejects a contract without signatories, with an open review or pending approval", async (t) => {
    const on = await startTestEmulator(t);
    const mark = ({ id }: { id: string }) => on.api("POST", `/api/v2.1/public/contracts/${id}/mark_for_execution/`);
    const nobody = await createDraftContract(on.api, { counter_party_details: [] });
    await assertRejected(
      on,
      () => mark(nobody),
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    );
    const reviewed = await createDraftContract(on.api);
    await on.api("POST", `/api/v2.1/public/contracts/${reviewed.number}/review_request/`, {
      body: { assignee_role_id: 2 },
    });
    await assertRejected(
      on,
      () => mark(reviewed),
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    const approved = await createDraftContract(on.api);
    const approvals = [{ name: "Finance", notes: "", approver_user_id: 12 }];
    await on.api("POST", `/api/v2.1/public/contracts/approvals/${approved.id}/`, { body: { approvals } });
    await assertRejected(
      on,
      () => mark(approved),
      createDomainError("SVC_ASSUMED_104", "Approvals of this contract are pending."),
    );
  });
});

describe("voiding through the API", () => {
  it("requires a note, is final, and rejects executed contracts", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const told = await subscribe(t, on, ["CONTRACT_VOIDED"]);
    const voided = (id: string, body: object) =>
      on.api("POST", `/api/v2.1/public/contracts/${id}/status/void`, { body });
    await assertRejected(on, () => voided(contract.id, {}), createFieldErrors({ note: ["Field required"] }));
    await assertRejected(
      on,
      () => voided(contract.id, { note: "" }),
      createFieldErrors({ note: ["String should have at least 1 character"] }),
    );
    assert.deepEqual(pickStatusAndBody(await voided(contract.id, { note: "Deal lost" })), { status: 204, body: "" });
    assert.equal(await getContractStatus(on.api, contract), "VOIDED");
    assert.deepEqual(listActivityNames(await told()), ["CONTRACT_VOIDED"]);
    await assertRejected(on, () => voided(contract.id, { note: "again" }), createForbiddenError("VOIDED", "voided"));

    const executed = await createSentContract(on.api);
    await on.ask("POST", `contracts/${executed.id}/sign`);
    await assertRejected(on, () => voided(executed.id, { note: "late" }), {
      status: 400,
      body: { detail: "Cannot void an executed contract." },
    });
  });
});

describe("review request", () => {
  it("blocks sending a draft until the review is complete", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    const told = await subscribe(t, on, ["CONTRACT_REVIEW_REQUESTED"]);
    const body = { assignee_user_id: 12, description: "Please" };
    assert.deepEqual(
      pickStatusAndBody(
        await on.api("POST", `/api/v2.1/public/contracts/${contract.number}/review_request/`, { body }),
      ),
      {
        status: 200,
        body: "",
      },
    );
    assert.deepEqual(listActivityNames(await told()), ["CONTRACT_REVIEW_REQUESTED"]);
    const send = () => on.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(
      on,
      send,
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    await on.ask("POST", `contracts/${contract.id}/complete-review`);
    assert.equal((await send()).status, 200);
  });

  it("accepts one assignee of the workspace, and only before signature", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    const ask = (body: object) => () =>
      on.api("POST", `/api/v2.1/public/contracts/${contract.number}/review_request/`, { body });
    const noPk = (id: number) => [`Invalid pk "${id}" - object does not exist.`];
    await assertRejected(on, ask({}), createFieldErrors({ assignee_user_id: ["Field required"] }));
    await assertRejected(
      on,
      ask({ assignee_user_id: 12, assignee_role_id: 1 }),
      createFieldErrors({ assignee_role_id: ["Only one of assignee_user_id and assignee_role_id may be given"] }),
    );
    await assertRejected(on, ask({ assignee_user_id: 21 }), createFieldErrors({ assignee_user_id: noPk(21) }));
    await assertRejected(on, ask({ assignee_user_id: 13 }), createFieldErrors({ assignee_user_id: noPk(13) }));
    await assertRejected(on, ask({ assignee_role_id: 3 }), createFieldErrors({ assignee_role_id: noPk(3) }));
    await on.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(on, ask({ assignee_role_id: 1 }), createForbiddenError("SIGN", "sent for review"));
  });
});

describe("resending the signing e-mail", () => {
  it("reminds one signatory by an e-mail delivered a minute later", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    await on.ask("POST", "clock/advance", { body: { by: "PT1H" } });
    const told = await subscribe(t, on, ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT", "SIGNING_EMAIL_DELIVERED"]);
    const resend = (email_id: string) =>
      on.api("POST", `/api/v2.1/public/contracts/${contract.id}/signatories/resend_email/`, { body: { email_id } });
    assert.deepEqual(pickStatusAndBody(await resend("jo@acme.example")), { status: 200, body: "" });
    assert.deepEqual(listActivityNames(await told()), ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT"]);
    await on.ask("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(listActivityNames(await told()), ["SIGNING_EMAIL_DELIVERED"]);
    const { body } = await on.api("GET", `/api/v2.1/public/contracts/${contract.id}/recipients/`);
    const [item] = (body as { items: { recipient: { last_sent_for_signature_at: string } }[] }).items;
    assert.equal(item?.recipient.last_sent_for_signature_at, "2031-01-02T04:04:05Z");
  });

  it("rejects unknown recipients, those who signed, and other statuses", async (t) => {
    const on = await startTestEmulator(t);
    const resend = (id: string, email_id: string) => () =>
      on.api("POST", `/api/v2.1/public/contracts/${id}/signatories/resend_email/`, { body: { email_id } });
    const waiting = await createDraftContract(on.api);
    await assertRejected(
      on,
      resend(waiting.id, "jo@acme.example"),
      createForbiddenError("DRAFT", "sent for signature again"),
    );
    const contract = await createSentContract(on.api, {
      signatories: ["jo", "kim"].map((name) => ({
        name,
        email: `${name}@acme.example`,
        is_counterparty_signatory: true,
        counterparty_name: "Acme Inc.",
      })),
    });
    await assertRejected(
      on,
      resend(contract.id, "eve@evil.example"),
      createDomainError("SVC_ASSUMED_107", "eve@evil.example is not a signatory of this contract."),
    );
    await on.ask("POST", `contracts/${contract.id}/sign`, { body: { email: "jo@acme.example" } });
    await assertRejected(
      on,
      resend(contract.id, "jo@acme.example"),
      createDomainError("SVC_ASSUMED_108", "jo@acme.example has already signed this contract."),
    );
  });
});

describe("contract of another workspace", () => {
  it("returns 404 from every execution route", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    const other = await createWorkspaceApi(on, 2);
    const routes: readonly (readonly [string, object])[] = [
      ["T-1/mark_for_execution/", {}],
      ["T-1/unmark_for_execution", {}],
      ["T-1/status/void", { note: "x" }],
      ["1/review_request/", { assignee_user_id: 21 }],
      ["T-1/signatories/resend_email/", { email_id: "jo@acme.example" }],
    ];
    for (const [tail, body] of routes)
      await assertRejected(on, () => other("POST", `/api/v2.1/public/contracts/${tail}`, { body }), notFoundResponse);
  });
});
