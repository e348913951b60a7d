import { mailerEventNames } from "../../src/api/emulator/deliveries.ts";
import { acme, createContractRequest, createPdfBase64, createUploadRequest } from "../support/contracts.ts";
import type { TestEmulator, TestResponse } from "../support/emulator.ts";
import { findOperation, type OperationCall } from "./operation-call.ts";

interface Stage extends TestEmulator {
  readonly call: OperationCall;
}

/** Prepares what an operation needs; what comes back is the one call of it. */
type Story = (fixture: Stage) => Promise<() => Promise<TestResponse>>;

const t1 = { composite_id: "T-1" };
const contractBody = { contract_id: 1 };
const id = { id: "T-1" };
const metadata = { external_metadata: { id: "deal-1" } };
const address = { line_one: "2 High Street", city: "Munich", country_iso_code: "DE" };
const withAddress = { ...acme, organization_details: { address } };

const create = ({ call }: Stage, overrides: object = {}) =>
  call("contracts.create", {}, createContractRequest(overrides));
const autoSend = { workflow_config: { auto_send_to_counterparty: true } };
const createSignatories = (...names: readonly string[]) => ({
  signatories: names.map((name, i) => ({
    name,
    email: `${name}@acme.example`,
    is_counterparty_signatory: true,
    counterparty_name: "Acme Inc.",
    sign_order: i + 1,
  })),
});

/** A contract from that template, out to whom it goes first. */
const createSentContract = (fixture: Stage, template = 101) =>
  create(fixture, { contract_template_id: template, ...autoSend });
const actOnDraft =
  (...[operation, params, body]: Parameters<OperationCall>): Story =>
  async (fixture) => {
    await create(fixture);
    return () => fixture.call(operation, params, body);
  };
const actOnSent =
  (...[operation, params, body]: Parameters<OperationCall>): Story =>
  async (fixture) => {
    await createSentContract(fixture);
    return () => fixture.call(operation, params, body);
  };

const finance = { approvals: [{ name: "Finance", notes: "", approver_user_id: 12 }] };
const createDocumentBody = async () => ({ document_name: "v2.pdf", document_base_64: await createPdfBase64() });
const party = { is_individual: false, organization_name: "Acme Inc." };
const postalAddress = { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom" };
const counterpartyParams = { counter_party_id: 1 };
const actOnParty =
  (...[operation, params, body]: Parameters<OperationCall>): Story =>
  async ({ call }) => {
    const contact = { contact_name: "Jo", contact_email: "jo@acme.example" };
    await call("counterparties.create", {}, { ...party, ...contact, primary_address: postalAddress });
    return () => call(operation, params, body);
  };
const createKeyPointerBody = (value: string) => ({ key_pointers: [{ key_pointer_field_name: "expiry_date", value }] });
const pointer = createKeyPointerBody("2032-01-01");

const integrations = "/router/v1/integrations/";
const mention = JSON.stringify({ team_id: "T-NORTHWIND", event: { type: "app_mention", text: "What about T-1?" } });
const button = { team: { id: "T-NORTHWIND" }, user: { name: "jo" }, actions: [{ action_id: "ok", value: "T-1" }] };
const interaction = `payload=${encodeURIComponent(JSON.stringify(button))}`;
const message = findOperation("chat-b.messaging").examples[0]?.body;
const actOnChatA =
  (path: string, body: string): Story =>
  async (fixture) => {
    await create(fixture);
    const type = body.startsWith("payload") ? "application/x-www-form-urlencoded" : "application/json";
    return () => fixture.router("POST", `${integrations}${path}`, { body, headers: { "content-type": type } });
  };

/** For each operation that causes activities: stories that together cause all of them. */
export const stories: Readonly<Record<string, readonly Story[]>> = {
  "contracts.create": [
    async (fixture) => () => create(fixture, { counter_party_details: [withAddress], ...metadata, ...autoSend }),
    async (fixture) => () => createSentContract(fixture, 104),
  ],
  "contracts.send": [
    actOnDraft("contracts.send", t1),
    async (fixture) => {
      await create(fixture, { contract_template_id: 104 });
      return () => fixture.call("contracts.send", t1);
    },
  ],
  "executed.import": [
    async ({ call }) => {
      const file = {
        contract_name: "Old",
        contract_type_id: 301,
        file_name: "a.pdf",
        file_base64: await createPdfBase64(),
      };
      const body = { ...file, creator_organization_entity_id: 401, counterparty_details: [withAddress], ...metadata };
      return () => call("executed.import", {}, body);
    },
  ],
  "paper.upload-for-review": [
    async ({ call }) => {
      const body = await createUploadRequest(metadata);
      return () => call("paper.upload-for-review", {}, body);
    },
  ],
  "paper.upload-for-signature": [
    async ({ call }) => {
      const ready = { creator_signatories: [{ email: "ada@northwind.example" }], intake_form_data: { purpose: "x" } };
      const body = await createUploadRequest({ ...ready, ...metadata });
      return () => call("paper.upload-for-signature", {}, body);
    },
  ],
  "execution.mark": [actOnDraft("execution.mark", t1, {})],
  "execution.unmark": [actOnSent("execution.unmark", t1, {})],
  "execution.void": [actOnDraft("execution.void", t1, { note: "Off" })],
  "execution.request-review": [actOnDraft("execution.request-review", contractBody, { assignee_user_id: 12 })],
  "execution.resend-email": [actOnSent("execution.resend-email", t1, { email_id: "jo@acme.example" })],
  "documents.upload-version": [
    async (fixture) => {
      await create(fixture);
      const body = { ...(await createDocumentBody()), is_executed_version: true };
      return () => fixture.call("documents.upload-version", contractBody, body);
    },
  ],
  "approvals.create": [actOnDraft("approvals.create", t1, finance)],
  "contract-details.update-data": [actOnDraft("contract-details.update-data", t1, { data: { seats: 4 } })],
  "intake-form.update": [
    async ({ call }) => {
      await call("paper.upload-for-review", {}, await createUploadRequest());
      return () => call("intake-form.update", t1, { purpose: "y" });
    },
  ],
  "external-metadata.put": [
    actOnDraft("external-metadata.put", { contract_id: "T-1" }, metadata),
    async (fixture) => {
      await create(fixture, metadata);
      return () => fixture.call("external-metadata.put", { contract_id: "T-1" }, metadata);
    },
  ],
  "key-pointers.set": [
    actOnDraft("key-pointers.set", t1, pointer),
    async (fixture) => {
      await create(fixture);
      await fixture.call("key-pointers.set", t1, pointer);
      return () => fixture.call("key-pointers.set", t1, createKeyPointerBody("2033-01-01"));
    },
  ],
  "key-pointers.update": [
    async (fixture) => {
      await create(fixture);
      await fixture.call("key-pointers.set", t1, pointer);
      return () => fixture.call("key-pointers.update", { ...t1, key_pointer_id: 1 }, { value: "2033-01-01" });
    },
  ],
  "comments.create": [actOnDraft("comments.create", contractBody, { comment: "Waiting" })],
  "counterparties.create": [
    async ({ call }) => {
      const contact = { contact_name: "Jo", contact_email: "jo@acme.example" };
      return () => call("counterparties.create", {}, { ...party, ...contact, primary_address: postalAddress });
    },
  ],
  "counterparties.update": [actOnDraft("counterparties.update", counterpartyParams, { name: "Acme GmbH" })],
  "counterparty-contacts.create": [
    actOnParty("counterparty-contacts.create", counterpartyParams, { name: "Kim", email: "kim@acme.example" }),
  ],
  "counterparty-contacts.update-many": [
    actOnParty("counterparty-contacts.update-many", counterpartyParams, { contacts: [{ id: 1, name: "Kim" }] }),
  ],
  "counterparty-contacts.update": [
    actOnParty("counterparty-contacts.update", { ...counterpartyParams, contact_id: 1 }, { name: "Kim" }),
  ],
  "counterparty-addresses.create": [actOnParty("counterparty-addresses.create", counterpartyParams, postalAddress)],
  "counterparty-addresses.update": [
    actOnParty(
      "counterparty-addresses.update",
      { ...counterpartyParams, address_id: 1 },
      { line_one: "3 High Street" },
    ),
  ],
  "emulator-contracts.sign": [
    async (fixture) => {
      await create(fixture, { ...createSignatories("jo", "kim"), ...autoSend });
      return () => fixture.call("emulator-contracts.sign", id, {});
    },
    actOnSent("emulator-contracts.sign", id, {}),
  ],
  "emulator-contracts.decline": [actOnSent("emulator-contracts.decline", id, {})],
  "emulator-contracts.complete-review": [
    async (fixture) => {
      await fixture.call("paper.upload-for-review", {}, await createUploadRequest());
      return () => fixture.call("emulator-contracts.complete-review", id, {});
    },
    async (fixture) => {
      await createSentContract(fixture, 104);
      return () => fixture.call("emulator-contracts.complete-review", id, {});
    },
  ],
  "emulator-contracts.approve": [
    async (fixture) => {
      await createSentContract(fixture, 104);
      await fixture.call("approvals.create", t1, finance);
      await fixture.call("emulator-contracts.complete-review", id, {});
      return () => fixture.call("emulator-contracts.approve", id, {});
    },
    async (fixture) => {
      await create(fixture);
      const [first] = finance.approvals;
      const approvals = [1, 2].map((order) => ({ ...first, order }));
      await fixture.call("approvals.create", t1, { approvals });
      return () => fixture.call("emulator-contracts.approve", id, {});
    },
  ],
  "emulator-contracts.void": [actOnDraft("emulator-contracts.void", id, {})],
  "emulator-contracts.hold": [actOnDraft("emulator-contracts.hold", id, {})],
  "emulator-contracts.resume": [
    async (fixture) => {
      await create(fixture);
      await fixture.call("emulator-contracts.hold", id, {});
      return () => fixture.call("emulator-contracts.resume", id, {});
    },
    ...[101, 104].map(
      (template): Story =>
        async (fixture) => {
          await createSentContract(fixture, template);
          await fixture.call("emulator-contracts.hold", id, {});
          return () => fixture.call("emulator-contracts.resume", id, {});
        },
    ),
  ],
  "emulator-contracts.send": [
    actOnDraft("emulator-contracts.send", id, {}),
    async (fixture) => {
      await create(fixture, { contract_template_id: 104 });
      return () => fixture.call("emulator-contracts.send", id, {});
    },
  ],
  "emulator-contracts.mark": [actOnDraft("emulator-contracts.mark", id, {})],
  "emulator-contracts.unmark": [
    async (fixture) => {
      await createSentContract(fixture);
      return () => fixture.call("emulator-contracts.unmark", id, {});
    },
  ],
  "emulator-contracts.request-review": [actOnDraft("emulator-contracts.request-review", id, {})],
  "emulator-contracts.request-approval": [actOnDraft("emulator-contracts.request-approval", id, {})],
  "emulator-contracts.delete": [actOnDraft("emulator-contracts.delete", id, {})],
  "emulator-contracts.entity": [actOnDraft("emulator-contracts.entity", id, { reference_id: "NW-US" })],
  "chat-a.interaction": [actOnChatA("chat_a/webhook/interaction", interaction)],
  "chat-a.event": [actOnChatA("chat_a/webhook/event/", mention)],
  "chat-a.destination-interaction": [actOnChatA("destinations/eu/chat_a/webhook/interaction", interaction)],
  "chat-a.destination-event": [actOnChatA("destinations/eu/chat_a/webhook/event/", mention)],
  "chat-b.messaging": [
    async (fixture) => {
      await create(fixture);
      const { token } = (await fixture.control("POST", "chat-b/token", { body: {} })).body as { token: string };
      const headers = { authorization: `Bearer ${token}` };
      return () => fixture.router("POST", `${integrations}chat_b/webhook/messaging`, { body: message, headers });
    },
  ],
  "mailer.webhook": [101, 104].flatMap((template) =>
    mailerEventNames.map(
      (RecordType): Story =>
        async (fixture) => {
          await createSentContract(fixture, template);
          const { body } = await fixture.call("emails.list");
          const [{ metadata: Metadata }] = (body as { items: [{ metadata: object }] }).items;
          return () => fixture.call("mailer.webhook", {}, { RecordType, Metadata });
        },
    ),
  ),
};
