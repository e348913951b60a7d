import assert from "node:assert/strict";
import { PDFDocument } from "@cantoo/pdf-lib";
import { pickStatusAndBody, type TestEmulator, type TestResponse } from "./emulator.ts";

/** Timestamp of everything that happens at the start of a test emulator's clock. */
export const initialTime = "2031-01-02T03:04:05Z";

type Api = TestEmulator["api"];

export const jo = { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" } as const;
export const acme = { is_individual: false, organization_name: "Acme Inc.", poc_details: jo } as const;

/** Creates a request body for a contract from the straight-through template of the demo seed. */
export const createContractRequest = (overrides: object = {}): object => ({
  contract_template_id: 101,
  contract_name: "NDA with Acme",
  contract_data: {},
  counter_party_details: [acme],
  ...overrides,
});

/** Fields of a contract that both sides sign, first Jo and then Ada. */
export const bilateralSigning = {
  contract_template_id: 102,
  contract_data: { start_date: "2031-02-01", seats: 3 },
  signatories: [
    { name: "Ada", email: "ada@northwind.example", is_counterparty_signatory: false, sign_order: 2 },
    {
      name: "Jo Doe",
      email: "jo@acme.example",
      is_counterparty_signatory: true,
      counterparty_name: "Acme Inc.",
      sign_order: 1,
    },
  ],
};

/** Creates a request body with the counterparty's document, for review or signature. */
export const createUploadRequest = async (overrides: object = {}): Promise<Record<string, unknown>> => ({
  contract_name: "Their paper",
  contract_type_id: 301,
  file_name: "paper.pdf",
  file_base64: await createPdfBase64(),
  counterparty_organization_name: "Acme Inc.",
  counterparty_poc_details: jo,
  ...overrides,
});

/** Creates a request body for a contract that was executed outside the platform. */
export const createExecutedImport = (overrides: object = {}): Promise<Record<string, unknown>> =>
  createUploadRequest({
    contract_name: "NDA of 2029",
    file_name: "nda.pdf",
    creator_organization_entity_id: 401,
    counterparty_is_individual: false,
    ...overrides,
  });

export interface ContractIds {
  readonly id: string;
  readonly number: number;
}

/** Returns the contract of a response, which must be a success. */
export async function requireContract(pendingResponse: Promise<TestResponse>): Promise<ContractIds> {
  const { status, body } = await pendingResponse;
  assert.equal(status, 201, JSON.stringify(body));
  const { id } = body as { id: string };
  return { id, number: Number(id.slice(2)) };
}

export const createDraftContract = (api: Api, overrides: object = {}): Promise<ContractIds> =>
  requireContract(api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest(overrides) }));

/** Creates a contract and sends it for signature. */
export async function createSentContract(api: Api, overrides: object = {}): Promise<ContractIds> {
  const contract = await createDraftContract(api, overrides);
  assert.deepEqual(
    pickStatusAndBody(await api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`)),
    { status: 200, body: {} },
  );
  return contract;
}

export async function getContractStatus(api: Api, { id }: ContractIds): Promise<string> {
  const { body } = await api("GET", `/api/v2.1/public/contracts/${id}/status`);
  return (body as { contract_status: string }).contract_status;
}

/** Lists the recipients in short form: address, status, and whether they signed or declined. */
export async function listRecipients(api: Api, { id }: ContractIds): Promise<string[]> {
  const { body } = await api("GET", `/api/v2.1/public/contracts/${id}/recipients/`);
  const { items } = body as { items: Recipient[] };
  return items.map(({ recipient, recipient_action: action, status }) =>
    [recipient.user.email, status, ...(action ? [action.is_success ? "signed" : "declined"] : [])].join(" "),
  );
}

interface Recipient {
  readonly recipient: { readonly user: { readonly email: string } };
  readonly recipient_action: { readonly is_success: boolean } | null;
  readonly status: string;
}

/** Creates a PDF with a library that the emulator does not use for reading. */
export async function createPdf(pages = 1, options: { readonly useObjectStreams?: boolean } = {}): Promise<Buffer> {
  const document = await PDFDocument.create();
  for (let page = 0; page < pages; page += 1) document.addPage([200, 200]);
  return Buffer.from(await document.save(options));
}

export const createPdfBase64 = async (): Promise<string> => (await createPdf()).toString("base64");

/** Creates an error of shape B, with equal detail and message. */
export const createDomainError = (code: string, message: string): { status: number; body: unknown } => ({
  status: 400,
  body: { detail: message, status_code: 400, code, message },
});

/** Creates an error of shape C. */
export const createFieldErrors = (body: object): { status: number; body: unknown } => ({ status: 400, body });
