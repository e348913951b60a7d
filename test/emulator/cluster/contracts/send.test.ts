import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  acme,
  createDomainError,
  createDraftContract,
  createFieldErrors,
  getContractStatus,
  listRecipients,
} from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

describe("sending a contract to its counterparties", () => {
  it("requests signatures, and emits the e-mail delivery a minute later", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_SIGNATURE_REQUESTED",
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const response = await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, {
      body: {},
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: {} });
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");

    const [requestedEvent, notified, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    assert.equal(requestedEvent?.activity, "CONTRACT_SIGNATURE_REQUESTED");
    assert.equal(requestedEvent?.contract_status, "SIGN");
    assert.deepEqual(notified?.activity_data, {
      performed_by: { name: "Ada Keller", email: "ada@northwind.example" },
      timestamp: "2031-01-02T03:04:05.000000Z",
      signatory: { name: "Jo Doe", email: "jo@acme.example" },
    });

    await emulator.control("POST", "clock/advance", { body: { to: "2031-01-02T03:05:04Z" } });
    assert.deepEqual(await readPayloads(), [
      {
        ...requestedEvent,
        activity: "SIGNING_EMAIL_DELIVERED",
        activity_data: {
          performed_by: { name: "SYSTEM" },
          timestamp: "2031-01-02T03:05:05.000000Z",
          email_event_data: {
            recipient_email: "jo@acme.example",
            email_mode: "to",
            occured_at: "2031-01-02T03:05:05.000000Z",
          },
        },
      },
    ]);
  });

  it("invites each signatory once in signing order", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, {
      counter_party_details: [acme],
      signatories: ["jo", "kim", "lee"].map((name, i) => ({
        name,
        email: `${name}@acme.example`,
        is_counterparty_signatory: true,
        counterparty_name: "Acme Inc.",
        sign_order: i === 0 ? 1 : 2,
      })),
    });
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_SIGNED",
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const next = async () =>
      (await readPayloads()).map(({ activity, activity_data: { signatory, email_event_data: mail } }) => [
        activity,
        (signatory as { email: string } | undefined)?.email ?? (mail as { recipient_email: string })?.recipient_email,
      ]);
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body: {} });
    assert.deepEqual(await next(), [["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT", "jo@acme.example"]]);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(await next(), [["SIGNING_EMAIL_DELIVERED", "jo@acme.example"]]);
    assert.deepEqual(await listRecipients(emulator.api, contract), [
      "jo@acme.example IN_PROGRESS",
      "kim@acme.example PENDING",
      "lee@acme.example PENDING",
    ]);

    await emulator.control("POST", "contracts/T-1/sign", { body: { email: "jo@acme.example" } });
    assert.deepEqual(await next(), [
      ["CONTRACT_SIGNED", undefined],
      ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT", "kim@acme.example"],
      ["CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT", "lee@acme.example"],
    ]);
    assert.deepEqual(await listRecipients(emulator.api, contract), [
      "jo@acme.example COMPLETED signed",
      "kim@acme.example IN_PROGRESS",
      "lee@acme.example IN_PROGRESS",
    ]);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(await next(), [
      ["SIGNING_EMAIL_DELIVERED", "kim@acme.example"],
      ["SIGNING_EMAIL_DELIVERED", "lee@acme.example"],
    ]);
    await emulator.control("POST", "contracts/T-1/sign", { body: { email: "kim@acme.example" } });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(await next(), [["CONTRACT_SIGNED", undefined]]);
  });

  it("sends the contract for review first if the template requires it", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { contract_template_id: 104 });
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_SENT_TO_COUNTERPARTY",
      "CONTRACT_SIGNATURE_REQUESTED",
    ]);
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, {
      body: { cc_emails: ["cc@acme.example"] },
    });
    assert.equal(await getContractStatus(emulator.api, contract), "REDLINING");
    const [shared, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    assert.equal(shared?.contract_status, "REDLINING");
    assert.deepEqual(shared?.activity_data.counterparty_email_recipients, {
      to_recipients: ["jo@acme.example"],
      cc_recipients: ["cc@acme.example"],
    });
  });

  it("emits the delivery of the review e-mail to all recipients, including copies", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { contract_template_id: 104 });
    const readPayloads = await subscribe(t, emulator, ["REDLINING_EMAIL_DELIVERED"]);
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, {
      body: { to_emails: ["legal@acme.example"], cc_emails: ["jo@acme.example"] },
    });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.email_event_data),
      [
        { recipient_email: "legal@acme.example", email_mode: "to", occured_at: "2031-01-02T03:05:05.000000Z" },
        { recipient_email: "jo@acme.example", email_mode: "cc", occured_at: "2031-01-02T03:05:05.000000Z" },
      ],
    );
  });

  it("rejects a second request and invalid fields", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const send = (body: object) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body });
    await assertRejected(
      emulator,
      () => send({ to_emails: "jo@acme.example" }),
      createFieldErrors({ to_emails: ["Input should be a valid list"] }),
    );
    const attachment = { file_name: "a.pdf", mime_type: "application/pdf", content_base64: "%PDF-1.7" };
    await assertRejected(
      emulator,
      () => send({ attachment_formats: ["PDF"], extra_attachments: [attachment] }),
      createFieldErrors({ extra_attachments: { "0": { content_base64: ["Input should be valid base64"] } } }),
    );
    assert.equal((await send({})).status, 200);
    await assertRejected(
      emulator,
      () => send({}),
      createDomainError("SVC_ASSUMED_101", "A contract in status SIGN cannot be sent to counterparties."),
    );
  });

  it("rejects a contract without signatories", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { counter_party_details: [] });
    await assertRejected(
      emulator,
      () => emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body: {} }),
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    );
  });

  it("rejects a contract with an open review or a pending approval", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.number}/review_request/`, {
      body: { assignee_user_id: 12 },
    });
    await assertRejected(
      emulator,
      () => emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body: {} }),
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    const approvalContract = await createDraftContract(emulator.api);
    await emulator.api("POST", `/api/v2.1/public/contracts/approvals/${approvalContract.id}/`, {
      body: { approvals: [{ name: "Finance", notes: "", approver_user_id: 12 }] },
    });
    await assertRejected(
      emulator,
      () =>
        emulator.api("POST", `/api/v2.1/public/contracts/${approvalContract.id}/send_to_counterparties`, { body: {} }),
      createDomainError("SVC_ASSUMED_104", "Approvals of this contract are pending."),
    );
  });
});
