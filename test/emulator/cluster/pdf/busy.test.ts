import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PdfReader, pdfReaderBusy } from "../../../../emulator/cluster/pdf/reader.ts";
import {
  createExecutedImport,
  createPdfBase64,
  createUploadRequest,
  requireContract,
} from "../../../support/contracts.ts";
import { startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

describe("PDF reader without free capacity", () => {
  const contracts = "/api/v2.1/public/contracts";
  const rejection = { status: 503, body: { detail: "Too many documents are being read. Try again later." } };
  const ready = {
    creator_signatories: [{ email: "ada@northwind.example", title: "General Counsel" }],
    intake_form_data: { purpose: "Joint project" },
  };
  const uploads: readonly (readonly [path: string, body: () => Promise<object>])[] = [
    ["upload_sign_contracts/", () => createUploadRequest(ready)],
    ["upload_review_contracts/", createUploadRequest],
    ["executed_contracts/", createExecutedImport],
    ["1/contract_version/", async () => ({ document_name: "next.pdf", document_base_64: await createPdfBase64() })],
  ];
  for (const [path, body] of uploads) {
    it(`rejects a request to ${path}, which succeeds when retried`, async (t) => {
      const emulator = await startTestEmulator(t);
      await requireContract(
        emulator.api("POST", `${contracts}/upload_review_contracts/`, { body: await createUploadRequest() }),
      );
      const request = { body: await body() };
      const { mock } = t.mock.method(PdfReader.prototype, "read", async () => pdfReaderBusy);
      await assertRejected(emulator, () => emulator.api("POST", `${contracts}/${path}`, request), rejection);
      mock.restore();
      assert.equal((await emulator.api("POST", `${contracts}/${path}`, request)).status, 201);
    });
  }
});
