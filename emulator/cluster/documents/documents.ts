import type { showContent } from "../../../src/api/contracts/documents.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { ResultOf } from "../../../src/api/operation.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { decodeFileBase64 } from "../../../src/base/hmac.ts";
import { concatBody } from "../../http/bodies/decode.ts";
import { createAttachmentHeader, reply } from "../../http/reply.ts";
import type { Blobs } from "../../store/blobs.ts";
import type { ClusterCall, ClusterHandlers } from "../context.ts";
import { requireVisibleContract } from "../contracts/access.ts";
import { transitionContract } from "../contracts/lifecycle/transition.ts";
import { toPerformer } from "../contracts/records.ts";
import { type Contract, requireContract, requireContractByNumber, storeContractChange } from "../contracts/rows.ts";
import { checkPdf, type PdfReader, pdfReaderBusy } from "../pdf/reader.ts";
import { signObjectUrl, storedObjects } from "../storage/storage.ts";
import { applyDefaultAnswers, reportUnknownAnswers, validateAnswers } from "../templates/answers.ts";
import { findTemplate, formatRowNotFound } from "../workspace/workspace-rows.ts";
import {
  type ContractDocument,
  createContractSheet,
  createPreviewSheet,
  createVersion,
  docxMediaType,
  findNewestVersion,
  generatePdf,
  getContentLength,
  pdfMediaType,
  readDocument,
  storeDocument,
  storeFile,
} from "./contract-pdf.ts";

type DocumentContent = ResultOf<typeof showContent>;

const formatLines = (
  format: DocumentContent["content_format"],
  lines: readonly string[],
): Pick<DocumentContent, "content" | "segments"> =>
  format === "text" ? { content: lines.join("\n") } : { segments: lines.map((segment_text) => ({ segment_text })) };

export const documentHandlers = {
  "documents.download": async ({ params }, call) => {
    const { document } = await getDocument(params.composite_id, "PDF", call);
    return createAttachment(document, call.blobs);
  },

  "documents.preview": async ({ body }, { store, blobs, clock, caller, fail, finding }) => {
    const template = findTemplate(store, caller.workspace, body.contract_template_id);
    if (!template) {
      return fail("invalid-fields", { contract_template_id: [formatRowNotFound(body.contract_template_id)] });
    }
    reportUnknownAnswers(finding, "contract_data.", template.attributes, body.contract_data);
    const answers = applyDefaultAnswers(template.attributes, body.contract_data);
    const problems = validateAnswers(template.attributes, answers, { partial: true });
    if (problems) return fail("invalid-fields", { contract_data: problems });
    return createAttachment(await generatePdf(createPreviewSheet(template, answers, clock.now()), finding), blobs);
  },

  "documents.download-docx": async ({ params, body }, { store, blobs, caller, fail }) => {
    const row = requireContractByNumber(store, caller, params.contract_id, fail);
    const document = findNewestVersion(row, docxMediaType);
    const isOutdated = document !== row.versions.at(-1);
    if (!document || (isOutdated && !body.fallback_to_last_available_docx))
      return fail("no-document", { format: "DOCX", hasOlder: document !== undefined });
    return createAttachment(document, blobs);
  },

  // Without a version, this returns the text of the PDF that is generated for a template contract (DECISIONS.md, F19).
  "documents.content": async ({ params, query, headers }, { store, blobs, pdfs, caller, fail, finding }) => {
    const row = requireVisibleContract(store, caller, { params, headers }, fail);
    const sheet = createContractSheet(store, row);
    const { contract_version_id: id, text_format } = query;
    const version = id === undefined ? row.versions.at(-1) : row.versions.find((each) => each.id === id);
    if (id !== undefined && !version) return fail("invalid-fields", { contract_version_id: [formatRowNotFound(id)] });

    const document = version ?? (sheet && (await generatePdf(sheet, finding)));
    const common = { contract_id: row.id, content_format: text_format };
    if (document?.content_type !== pdfMediaType) return { ...common, extraction_status: "not_available" as const };
    const reading = await pdfs.read("text", await concatBody(await readDocument(blobs, document)));
    if (reading === pdfReaderBusy) return { ...common, extraction_status: "pending" as const };
    if (reading.problem !== undefined) {
      // The service does not report this problem, but the request log does.
      finding("unreadable-pdf", reading.problem);
      return { ...common, extraction_status: "failed" as const };
    }
    return {
      ...common,
      ...formatLines(text_format, reading.lines),
      extraction_status: "completed" as const,
      last_updated: toIsoSeconds(version?.uploaded_at ?? row.updated_at),
    };
  },

  "documents.link": async ({ params, body }, call) => {
    const { row, document: currentDocument } = await getDocument(params.composite_id, body.format, call);
    const document = await storeDocument(call.blobs, currentDocument);
    const { store, ids, clock, cluster } = call;
    return store.transaction("documents.link", (tx) => {
      const object = {
        key: ids.uuid(),
        cluster_id: row.cluster_id,
        workspace_id: row.workspace_id,
        purpose: "document" as const,
        filename: document.file_name,
        content_type: document.content_type,
        created_at: clock.now(),
        blob: document.blob,
      };
      tx.put(storedObjects, object);
      const { url } = signObjectUrl(tx, { cluster, clock, ids }, "GET", object);
      return { url, file_name: document.file_name, current_version_id: document.id };
    });
  },

  "documents.upload-version": async ({ params, body }, { store, blobs, pdfs, clock, settings, caller, fail }) => {
    const upload = await getUpload(body.document_name, body.document_base_64, pdfs, fail);
    requireContractByNumber(store, caller, params.contract_id, fail);
    const blob = await storeFile(blobs, upload.file);
    return store.transaction("documents.upload-version", (tx) => {
      const row = requireContractByNumber(tx, caller, params.contract_id, fail);
      const version = createVersion(tx, caller.user, clock.now(), {
        file_name: body.document_name,
        content_type: upload.content_type,
        blob,
        is_executed_version: body.is_executed_version,
      });
      const context = { clock, settings };
      const performer = toPerformer(caller);
      const patch = (contract: Contract) => ({ ...contract, versions: [...contract.versions, version] });
      if (!body.is_executed_version) {
        transitionContract(tx, context, row, "upload-version", { performer, patch }, fail);
      } else {
        const after = transitionContract(tx, context, row, "upload-executed-version", { performer, patch }, fail);
        transitionContract(tx, context, after, "executed-outside", { performer }, fail);
      }
    });
  },

  "documents.add-supporting": async ({ params, body }, { store, blobs, clock, caller, fail }) => {
    const file = decodeFileBase64(body.file_base64);
    if (!file) return fail("invalid-fields", { file_base64: ["Input should be valid base64"] });
    requireContract(store, caller, params.composite_id, fail);
    const blob = await storeFile(blobs, file);
    return store.transaction("documents.add-supporting", (tx) => {
      const row = requireContract(tx, caller, params.composite_id, fail);
      const at = clock.now();
      const { name, file_name } = body;
      const document = { id: tx.next("supporting_document"), name, file_name, blob, created_at: at };
      storeContractChange(tx, row, at, { supporting_documents: [...row.supporting_documents, document] });
      return { id: document.id, name, created: toIsoSeconds(at) };
    });
  },
} satisfies ClusterHandlers;

async function createAttachment(document: ContractDocument, blobs: Blobs) {
  return reply(200, await readDocument(blobs, document), {
    ...getContentLength(document),
    ...createAttachmentHeader(document.file_name),
  });
}

/** Runs outside of transactions, because generating a PDF is slow. */
async function getDocument(
  composite: string,
  format: "PDF" | "DOCX" | "DOCX_WITH_FALLBACK_TO_PDF",
  { store, caller, fail, finding }: ClusterCall<"not-found" | "no-document">,
): Promise<{ readonly row: Contract; readonly document: ContractDocument }> {
  const row = requireContract(store, caller, composite, fail);
  const sheet = createContractSheet(store, row);
  const docx = format === "PDF" ? undefined : findNewestVersion(row, docxMediaType);
  if (docx) return { row, document: docx };
  if (format === "DOCX") return fail("no-document", { format });
  const document = findNewestVersion(row, pdfMediaType) ?? (sheet && (await generatePdf(sheet, finding)));
  return document ? { row, document } : fail("no-document", { format: "PDF" });
}

/** Requires a PDF or a DOCX by its name and by its bytes (DECISIONS.md, F6). */
async function getUpload(name: string, base64: string, pdfs: PdfReader, fail: Fail<"invalid-fields" | "pdfs-busy">) {
  if (/\.pdf$/i.test(name)) {
    const pdfCheck = await checkPdf(base64, pdfs, fail);
    if (pdfCheck.problem !== undefined) return fail("invalid-fields", { document_base_64: [pdfCheck.problem] });
    return { file: pdfCheck.file, content_type: pdfMediaType };
  }
  if (!/\.docx$/i.test(name)) {
    return fail("invalid-fields", { document_name: ["Value should be a file name that ends in .pdf or .docx"] });
  }
  const file = decodeFileBase64(base64);
  // A DOCX is a ZIP archive. The contents of the archive are not checked.
  const isZip = file?.subarray(0, 4).equals(Buffer.from("PK\x03\x04", "latin1"));
  if (!file || !isZip) return fail("invalid-fields", { document_base_64: ["Input should be a valid DOCX"] });
  return { file, content_type: docxMediaType };
}
