import type { Fail } from "../../../src/api/failures.ts";
import { decodeFileBase64 } from "../../../src/base/base64.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { attachmentHeader } from "../../http/attachment.ts";
import type { Finding } from "../../http/handler.ts";
import { reply } from "../../http/reply.ts";
import type { Blobs } from "../../store/blobs.ts";
import { changed } from "../contracts/creation/new-contract.ts";
import { transition } from "../contracts/lifecycle/transition.ts";
import { performer } from "../contracts/performer.ts";
import { type Contract, requireContract, requireContractNumber } from "../contracts/rows.ts";
import { signedObjectUrl, storedObjects } from "../storage/objects.ts";
import { noteUnknownAnswers, problemsOf, withDefaults } from "../templates/answers.ts";
import { ownTemplate } from "../workspace/own-rows.ts";
import { noSuchRow } from "../workspace/people.ts";
import type { ClusterHandlers, ClusterWorld, Member } from "../world.ts";
import { contentOf } from "./contract-content.ts";
import {
  bytesOf,
  type Document,
  docxType,
  kept,
  madePdf,
  newestVersion,
  previewOf,
  sheetIfMade,
} from "./contract-pdf.ts";
import { keepFile, newVersion, pdfType } from "./inline-file.ts";
import { uploadOf } from "./uploaded-document.ts";

export const documentHandlers = {
  "documents.download": async ({ params }, call) => {
    const { document } = await documentOf(params.composite_id, "PDF", call);
    return attachment(document, call.blobs);
  },

  "documents.preview": async ({ body }, { store, blobs, clock, caller, fail, finding }) => {
    const template = await store.read((view) => ownTemplate(view, caller.workspace, body.contract_template_id));
    if (!template) {
      return fail("invalid-fields", { contract_template_id: [noSuchRow(body.contract_template_id)] });
    }
    noteUnknownAnswers(finding, "contract_data.", template.attributes, body.contract_data);
    const answers = withDefaults(template.attributes, body.contract_data);
    const problems = problemsOf(template.attributes, answers, { partial: true });
    if (problems) return fail("invalid-fields", { contract_data: problems });
    return attachment(await madePdf(previewOf(template, answers, clock.now()), finding), blobs);
  },

  "documents.download-docx": async ({ params, body }, { store, blobs, caller, fail }) => {
    const row = await store.read((view) => requireContractNumber(view, caller, params.contract_id, fail));
    const document = newestVersion(row, docxType);
    const old = document?.version_id !== row.versions.at(-1)?.id;
    if (!document || (old && !body.fallback_to_last_available_docx)) return fail("no-document", { format: "DOCX" });
    return attachment(document, blobs);
  },

  "documents.content": contentOf,

  "documents.link": async ({ params, body }, call) => {
    const { row, document: found } = await documentOf(params.composite_id, body.format, call);
    const document = await kept(call.blobs, found);
    const { store, ids, clock, cluster } = call;
    return store.transaction("documents.link", async (tx) => {
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
      const { url } = await signedObjectUrl(tx, { cluster, clock, ids }, "GET", object);
      const version = document.version_id === undefined ? {} : { current_version_id: document.version_id };
      return { url, file_name: document.file_name, ...version };
    });
  },

  "documents.upload-version": async ({ params, body }, { store, blobs, pdfs, clock, settings, caller, fail }) => {
    const upload = await uploadOf(body.document_name, body.document_base_64, pdfs, fail);
    await store.read((view) => requireContractNumber(view, caller, params.contract_id, fail));
    const blob = await keepFile(blobs, upload.file);
    return store.transaction("documents.upload-version", async (tx) => {
      const row = await requireContractNumber(tx, caller, params.contract_id, fail);
      const version = newVersion(tx, caller.user, clock.now(), {
        file_name: body.document_name,
        content_type: upload.content_type,
        blob,
        is_executed_version: body.is_executed_version,
      });
      const world = { clock, settings };
      const by = performer(caller);
      const patch = (moved: Contract) => ({ ...moved, versions: [...moved.versions, version] });
      if (!body.is_executed_version) {
        await transition(tx, world, row, "upload-version", { by, patch }, fail);
      } else {
        const after = await transition(tx, world, row, "upload-executed-version", { by, patch }, fail);
        await transition(tx, world, after, "executed-outside", { by }, fail);
      }
      return reply(201, undefined);
    });
  },

  "documents.add-supporting": async ({ params, body }, { store, blobs, clock, caller, fail }) => {
    const file = decodeFileBase64(body.file_base64);
    if (!file) return fail("invalid-fields", { file_base64: ["Input should be valid base64"] });
    await store.read((view) => requireContract(view, caller, params.composite_id, fail));
    const blob = await keepFile(blobs, file);
    return store.transaction("documents.add-supporting", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      const at = clock.now();
      const { name, file_name } = body;
      const document = { id: tx.next("supporting_document"), name, file_name, blob, created_at: at };
      changed(tx, row, at, { supporting_documents: [...row.supporting_documents, document] });
      return { id: document.id, name, created: isoSeconds(at) };
    });
  },
} satisfies ClusterHandlers;

async function attachment(document: Document, blobs: Blobs) {
  return reply(200, await bytesOf(blobs, document), {
    "content-length": String("blob" in document ? document.blob.size : document.bytes.length),
    ...attachmentHeader(document.file_name),
  });
}

type Format = "PDF" | "DOCX" | "DOCX_WITH_FALLBACK_TO_PDF";
type DocumentCall = ClusterWorld & {
  readonly caller: Member;
  readonly fail: Fail<"not-found" | "no-document">;
  readonly finding: Finding;
};

/** The document of a contract in a format. Made outside any transaction, since writing a PDF takes its time. */
async function documentOf(
  composite: string,
  format: Format,
  { store, caller, fail, finding }: DocumentCall,
): Promise<{ readonly row: Contract; readonly document: Document }> {
  const { row, sheet } = await store.read(async (view) => {
    const row = await requireContract(view, caller, composite, fail);
    return { row, sheet: await sheetIfMade(view, row) };
  });
  const docx = format === "PDF" ? undefined : newestVersion(row, docxType);
  if (docx) return { row, document: docx };
  if (format === "DOCX") return fail("no-document", { format });
  const document = newestVersion(row, pdfType) ?? (sheet && (await madePdf(sheet, finding)));
  return document ? { row, document } : fail("no-document", { format: "PDF" });
}
