import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PDFDocument } from "@cantoo/pdf-lib";
import { createTestFolder } from "../../../support/cli/cli-emulator.ts";
import {
  createDomainError,
  createDraftContract,
  createFieldErrors,
  createPdf,
  createSentContract,
  getContractStatus,
  initialTime,
  jo,
  requireContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startPdfReader } from "../../../support/pdf/pdf-reader.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const pdfs = startPdfReader();

/** The bytes of a download. Test helpers read responses as text. */
async function download({ clusters }: TestEmulator, id: string): Promise<{ headers: Headers; bytes: Buffer }> {
  const [first] = clusters;
  const headers = { "client-id": first!.clientId!, "client-secret": first!.clientSecret! };
  const response = await fetch(`${first!.url}/api/v2.1/public/contracts/${id}/download`, { method: "POST", headers });
  assert.equal(response.status, 200);
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const upload = ({ api }: TestEmulator, number: number, body: object) =>
  api("POST", `/api/v2.1/public/contracts/${number}/contract_version/`, { body });

const docx = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), Buffer.alloc(40)]);

describe("contract download", () => {
  it("generates a PDF from the template and the data", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const { headers, bytes } = await download(emulator, contract.id);
    assert.equal(headers.get("content-type"), "application/pdf");
    assert.equal(headers.get("content-disposition"), 'attachment; filename="NDA with Acme.pdf"');
    assert.deepEqual(await pdfs.read("check", bytes), { lines: [] });
    assert.equal((await PDFDocument.load(bytes)).getTitle(), "NDA with Acme");
    assert.deepEqual((await download(emulator, contract.id)).bytes, bytes);
  });

  it("offers a generated PDF by the name of its contract, in any script", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api, { contract_name: "Müller/Łódź: NDA" });
    const { body } = await emulator.api("POST", `/api/v2.1/public/contracts/${id}/download_link`);
    assert.equal((body as { file_name: string }).file_name, "Müller_Łódź_ NDA.pdf");
    const { headers } = await download(emulator, id);
    assert.equal(
      headers.get("content-disposition"),
      "attachment; filename=\"M?ller_??d?_ NDA.pdf\"; filename*=UTF-8''M%C3%BCller_%C5%81%C3%B3d%C5%BA_%20NDA.pdf",
    );
  });

  it("generates a PDF for a contract whose name is invalid in a header", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { contract_name: "NDA ".repeat(500_000) });
    const { headers, bytes } = await download(emulator, contract.id);
    assert.equal(headers.get("content-disposition"), `attachment; filename="${"NDA ".repeat(62)}NDA.pdf"`);
    assert.deepEqual(await pdfs.read("check", bytes), { lines: [] });
  });

  it("returns the newest uploaded version, directly and by an unauthenticated link", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_VERSION_UPLOADED"]);
    const second = await createPdf(2);
    const body = { document_name: "v2.pdf", document_base_64: second.toString("base64") };
    assert.deepEqual(pickStatusAndBody(await upload(emulator, contract.number, body)), { status: 201, body: "" });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_VERSION_UPLOADED"]);
    assert.deepEqual((await download(emulator, contract.id)).bytes, second);

    const { body: link } = await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/download_link`);
    const { url, ...rest } = link as { url: string };
    assert.deepEqual(rest, { file_name: "v2.pdf", current_version_id: 1 });
    assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), second);
  });

  // `(`, `)` and `'` end an extended value early for readers that keep to RFC 8187, 3.2.1.
  const names: readonly (readonly [sent: string, kept: string, shown: string])[] = [
    ["\ud800.pdf", "_.pdf", "filename=_.pdf"],
    ["../drafts/a?b#.pdf", "a_b#.pdf", "filename=a_b#.pdf"],
    ["a\r\nb.pdf", "a__b.pdf", "filename=a__b.pdf"],
    ["Plan (B) 'new'*.pdf", "Plan (B) 'new'_.pdf", "filename=\"Plan (B) 'new'_.pdf\""],
    [
      "Pläne (B) 'neu'.pdf",
      "Pläne (B) 'neu'.pdf",
      "filename=\"Pl?ne (B) 'neu'.pdf\"; filename*=UTF-8''Pl%C3%A4ne%20%28B%29%20%27neu%27.pdf",
    ],
  ];
  for (const [sent, storedName, disposition] of names) {
    it(`stores ${JSON.stringify(sent)} as ${storedName} and offers this name for download`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id, number } = await createDraftContract(emulator.api);
      const bytes = await createPdf();
      const response = await upload(emulator, number, {
        document_name: sent,
        document_base_64: bytes.toString("base64"),
      });
      assert.equal(response.status, 201);
      const { headers } = await download(emulator, id);
      assert.equal(headers.get("content-disposition"), `attachment; ${disposition}`);
      const { body } = await emulator.api("POST", `/api/v2.1/public/contracts/${id}/download_link`);
      const { url, file_name } = body as { url: string; file_name: string };
      assert.deepEqual([file_name, Buffer.from(await (await fetch(url)).arrayBuffer())], [storedName, bytes]);
    });
  }

  it("returns a DOCX if one exists, or the PDF on request", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const link = (format: string) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/download_link`, { body: { format } });
    await assertRejected(
      emulator,
      () => link("DOCX"),
      createDomainError("SVC_ASSUMED_114", "This contract has no DOCX document."),
    );
    assert.equal(
      ((await link("DOCX_WITH_FALLBACK_TO_PDF")).body as { file_name: string }).file_name,
      "NDA with Acme.pdf",
    );
    await upload(emulator, contract.number, { document_name: "v2.docx", document_base_64: docx.toString("base64") });
    assert.equal(((await link("DOCX")).body as { file_name: string }).file_name, "v2.docx");
  });

  it("returns no PDF of paper without a PDF version", async (t) => {
    const emulator = await startTestEmulator(t);
    const pendingResponse = emulator.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
      body: {
        contract_name: "Their paper",
        contract_type_id: 302,
        file_name: "paper.pdf",
        file_base64: (await createPdf()).toString("base64"),
        counterparty_organization_name: "Acme Inc.",
        counterparty_poc_details: jo,
      },
    });
    const { id } = await requireContract(pendingResponse);
    const { body } = await emulator.control("GET", "state");
    const state = body as { rows: { contracts: { versions: object[] }[] } };
    state.rows.contracts[0]!.versions = [];
    assert.equal((await emulator.control("PUT", "state", { body: state })).status, 200);
    const expected = createDomainError("SVC_ASSUMED_114", "This contract has no PDF document.");
    await assertRejected(emulator, () => emulator.api("POST", `/api/v2.1/public/contracts/${id}/download`), expected);
  });
});

describe("document preview", () => {
  const preview = (api: TestEmulator["api"], body: object) =>
    api("POST", "/api/v2.1/public/contracts/preview/", { body });

  it("generates a PDF from a template and some answers without creating a contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const before = await emulator.control("GET", "state");
    const body = { contract_template_id: 102, contract_data: { seats: 3 } };
    const { status, headers, body: bytes } = await preview(emulator.api, body);
    assert.deepEqual(
      [status, headers.get("content-type"), headers.get("content-disposition")],
      [200, "application/pdf", 'attachment; filename="Service Agreement.pdf"'],
    );
    assert.match(String(bytes), /^%PDF-/);
    assert.deepEqual((await emulator.control("GET", "state")).body, before.body);
  });

  it("rejects a template of another workspace and invalid answers", async (t) => {
    const emulator = await startTestEmulator(t);
    await assertRejected(
      emulator,
      () => preview(emulator.api, { contract_template_id: 103 }),
      createFieldErrors({ contract_template_id: ['Invalid pk "103" - object does not exist.'] }),
    );
    await assertRejected(
      emulator,
      () => preview(emulator.api, { contract_template_id: 102, contract_data: { seats: "three" } }),
      createFieldErrors({ contract_data: { seats: ["Input should be a valid integer"] } }),
    );
  });
});

it("generated documents are stored only if a link refers to them", async (t) => {
  const folder = await createTestFolder(t);
  const emulator = await startTestEmulator(t, { file: join(folder, "emulator.json") });
  const { id } = await createDraftContract(emulator.api);
  await download(emulator, id);
  await emulator.api("GET", `/api/v2.1/public/contracts/${id}/content`);
  assert.deepEqual(await readdir(join(folder, "files")), []);
  await emulator.api("POST", `/api/v2.1/public/contracts/${id}/download_link`);
  assert.equal((await readdir(join(folder, "files"))).length, 1);
});

describe("DOCX download of a contract", () => {
  it("returns the newest version, or an older one on request", async (t) => {
    const emulator = await startTestEmulator(t);
    const { number } = await createDraftContract(emulator.api);
    const downloadDocx = (body?: object) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${number}/download_docx/`, { body });
    const none = createDomainError("SVC_ASSUMED_114", "This contract has no DOCX document.");
    await assertRejected(emulator, () => downloadDocx({ fallback_to_last_available_docx: true }), none);

    await upload(emulator, number, { document_name: "v1.docx", document_base_64: docx.toString("base64") });
    const { status, headers, body } = await downloadDocx();
    assert.deepEqual(
      [status, headers.get("content-type"), headers.get("content-disposition"), body],
      [
        200,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "attachment; filename=v1.docx",
        docx.toString("latin1"),
      ],
    );
    await upload(emulator, number, {
      document_name: "v2.pdf",
      document_base_64: (await createPdf()).toString("base64"),
    });
    const message = "The newest version of this contract is not a DOCX document.";
    await assertRejected(emulator, () => downloadDocx({}), createDomainError("SVC_ASSUMED_114", message));
    assert.equal((await downloadDocx({ fallback_to_last_available_docx: true })).status, 200);
  });
});

describe("contract text", () => {
  it("returns the text of the generated PDF without null answers, as a whole or by line", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api, { contract_data: { discount: null } });
    const content = (query = "") => emulator.api("GET", `/api/v2.1/public/contracts/${id}/content${query}`);
    const lines = [
      "NDA with Acme",
      "Mutual NDA - T-1 - SVC-1",
      "Parties",
      "Northwind GmbH and Acme Inc.",
      "Signature",
      "Jo Doe: not signed",
    ];
    const common = { contract_id: 1, extraction_status: "completed", last_updated: initialTime };
    assert.deepEqual(pickStatusAndBody(await content()), {
      status: 200,
      body: { ...common, content_format: "text", content: lines.join("\n") },
    });
    assert.deepEqual((await content("?text_format=segments")).body, {
      ...common,
      content_format: "segments",
      segments: lines.map((segment_text) => ({ segment_text })),
    });
  });

  it("returns the text of the newest or requested PDF version, not of a DOCX", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id, number } = await createDraftContract(emulator.api);
    await upload(emulator, number, {
      document_name: "v1.pdf",
      document_base_64: (await createPdf()).toString("base64"),
    });
    await upload(emulator, number, { document_name: "v2.docx", document_base_64: docx.toString("base64") });
    const content = (query = "") => emulator.api("GET", `/api/v2.1/public/contracts/${id}/content${query}`);
    const common = { contract_id: 1, content_format: "text" };
    assert.deepEqual((await content()).body, { ...common, extraction_status: "not_available" });
    assert.deepEqual((await content("?contract_version_id=1")).body, {
      ...common,
      content: "",
      extraction_status: "completed",
      last_updated: initialTime,
    });
    const fieldErrors = { contract_version_id: ['Invalid pk "9" - object does not exist.'] };
    await assertRejected(emulator, () => content("?contract_version_id=9"), createFieldErrors(fieldErrors));
  });

  it("rejects a document with any unreadable page", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id, number } = await createDraftContract(emulator.api);
    const source = (await createPdf(2, { useObjectStreams: false })).toString("latin1");
    const broken = Buffer.from(source.replace("[ 4 0 R 5 0 R ]", "[ 4 0 R 9 0 R ]"), "latin1");
    const version = { document_name: "v1.pdf", document_base_64: broken.toString("base64") };
    assert.equal((await upload(emulator, number, version)).status, 201);
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", `/api/v2.1/public/contracts/${id}/content`)), {
      status: 200,
      body: { contract_id: 1, content_format: "text", extraction_status: "failed" },
    });
  });
});

describe("version upload", () => {
  it("executes the contract if the version is executed, regardless of missing signatures", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_VERSION_UPLOADED",
      "CONTRACT_EXECUTED",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const document = { document_name: "signed.pdf", document_base_64: (await createPdf()).toString("base64") };
    const rejection = createDomainError("SVC_ASSUMED_101", "A contract in status SIGN cannot be given a new version.");
    await assertRejected(emulator, () => upload(emulator, contract.number, document), rejection);
    assert.equal((await upload(emulator, contract.number, { ...document, is_executed_version: true })).status, 201);
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_VERSION_UPLOADED", "CONTRACT_EXECUTED"]);
    await assertRejected(
      emulator,
      () => upload(emulator, contract.number, { ...document, is_executed_version: true }),
      createDomainError("SVC_ASSUMED_101", "A contract in status EXECUTED cannot be given an executed version."),
    );
  });

  const wrong: readonly (readonly [string, object, object])[] = [
    [
      "an unsupported file type",
      { document_name: "v2.txt", document_base_64: "aGk=" },
      { document_name: ["Value should be a file name that ends in .pdf or .docx"] },
    ],
    [
      "an invalid PDF",
      { document_name: "v2.pdf", document_base_64: "aGk=" },
      { document_base_64: ["Input should be a valid PDF: it cannot be parsed (Invalid PDF structure)"] },
    ],
    [
      "an invalid DOCX",
      { document_name: "v2.docx", document_base_64: "aGk=" },
      { document_base_64: ["Input should be a valid DOCX"] },
    ],
  ];
  for (const [label, body, problems] of wrong) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { number } = await createDraftContract(emulator.api);
      await assertRejected(emulator, () => upload(emulator, number, body), createFieldErrors(problems));
    });
  }
});

describe("upload of supporting documents", () => {
  it("accepts a supporting document for a contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api);
    const body = { name: "Prices", file_name: "prices.txt", file_base64: "MTAgRVVSCg==" };
    assert.deepEqual(
      pickStatusAndBody(await emulator.api("POST", `/api/v2.1/public/supported_documents/${id}/`, { body })),
      { status: 201, body: { id: 1, name: "Prices", created: initialTime } },
    );
    await assertRejected(
      emulator,
      () =>
        emulator.api("POST", `/api/v2.1/public/supported_documents/${id}/`, {
          body: { ...body, file_base64: "10 EUR" },
        }),
      createFieldErrors({ file_base64: ["Input should be valid base64"] }),
    );
  });
});

it("document routes return 404 for a contract of another workspace", async (t) => {
  const emulator = await startTestEmulator(t);
  await createDraftContract(emulator.api);
  const otherApi = await createWorkspaceApi(emulator, 2);
  const document = { document_name: "v2.pdf", document_base_64: (await createPdf()).toString("base64") };
  const supporting = { name: "Prices", file_name: "prices.txt", file_base64: "MTAgRVVSCg==" };
  await assertRejected(emulator, () => otherApi("POST", "/api/v2.1/public/contracts/T-1/download"), notFoundResponse);
  await assertRejected(
    emulator,
    () => otherApi("POST", "/api/v2.1/public/contracts/1/download_docx/", { body: {} }),
    notFoundResponse,
  );
  await assertRejected(emulator, () => otherApi("GET", "/api/v2.1/public/contracts/T-1/content"), notFoundResponse);
  await assertRejected(
    emulator,
    () => otherApi("POST", "/api/v2.1/public/contracts/T-1/download_link", { body: {} }),
    notFoundResponse,
  );
  await assertRejected(
    emulator,
    () => otherApi("POST", "/api/v2.1/public/contracts/1/contract_version/", { body: document }),
    notFoundResponse,
  );
  const path = "/api/v2.1/public/supported_documents/T-1/";
  await assertRejected(emulator, () => otherApi("POST", path, { body: supporting }), notFoundResponse);
});
