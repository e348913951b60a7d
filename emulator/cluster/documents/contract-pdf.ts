import { Readable } from "node:stream";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { toExactJson } from "../../../src/base/json.ts";
import { type ContractTemplate, entities, type IntakeQuestion, templates, type User } from "../../domain/workspaces.ts";
import type { FindingReporter } from "../../http/handler.ts";
import type { Blob, Blobs } from "../../store/blobs.ts";
import type { Transaction, View } from "../../store/port.ts";
import { type Contract, type DocumentVersion, formatCompositeId, formatReferenceId } from "../contracts/rows.ts";
import type { PdfSheet } from "../pdf/render.ts";
import { sanitizeFilename } from "../storage/storage.ts";

/** A document for a response, either generated or an uploaded version, whose bytes are a blob. */
export type ContractDocument = StoredDocument | GeneratedDocument;

type StoredDocument = Pick<DocumentVersion, "file_name" | "content_type" | "blob"> & { readonly id?: number };
type GeneratedDocument = Pick<DocumentVersion, "file_name" | "content_type"> & { readonly bytes: Buffer };

export const docxMediaType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

export const findNewestVersion = ({ versions }: Contract, contentType: string): DocumentVersion | undefined =>
  versions.findLast((version) => version.content_type === contentType);

/** Returns the current document: the newest version, or the text of the template (DECISIONS.md, F19). */
export async function getLatestDocument(
  { versions }: Contract,
  sheet: PdfSheet | undefined,
  finding: FindingReporter,
): Promise<ContractDocument | undefined> {
  return versions.at(-1) ?? (sheet && (await generatePdf(sheet, finding)));
}

/** The PDF is not stored, because it can be generated again. Missing glyphs are reported as a finding. */
export async function generatePdf(sheet: PdfSheet, finding: FindingReporter): Promise<GeneratedDocument> {
  const { renderPdf } = await import("../pdf/render.ts");
  // A title is not a path.
  const file_name = sanitizeFilename(`${sheet.title.replace(/[/\\]/g, "_")}.pdf`, undefined);
  const { bytes, missingCharacters } = await renderPdf(sheet);
  if (missingCharacters.length > 0) {
    const glyphs = missingCharacters.join(" ");
    finding("missing-glyph", `The font of the document has no glyph for ${glyphs}. A question mark is shown instead`);
  }
  return { file_name, content_type: pdfMediaType, bytes };
}

export async function storeDocument(blobs: Blobs, document: ContractDocument): Promise<StoredDocument> {
  return "blob" in document ? document : { ...document, blob: await storeFile(blobs, document.bytes) };
}

export const getContentLength = (document: ContractDocument): Record<"content-length", string> => ({
  "content-length": String("blob" in document ? document.blob.size : document.bytes.length),
});

export async function readDocument(blobs: Blobs, document: ContractDocument) {
  if ("bytes" in document) return document.bytes;
  const { sha256 } = document.blob;
  const bytes = await blobs.open(sha256);
  if (!bytes) throw new Error(`The bytes ${sha256} of a document are missing`);
  return bytes;
}

/** Returns the source of a contract's document, or undefined if the document was uploaded as a file. */
export function createContractSheet(view: View, row: Contract): PdfSheet | undefined {
  if (row.template_id === null) return undefined;
  const template = view.get(templates, row.template_id);
  const entity = row.entity_id === null ? undefined : view.get(entities, row.entity_id);
  const parties = [entity?.name, ...row.counterparties.map((party) => party.name)].filter((name) => name !== undefined);
  return {
    title: row.name,
    subtitle: `${template?.name ?? ""} - ${formatCompositeId(row)} - ${formatReferenceId(row)}`,
    rows: [
      ["Parties", parties.join(" and ")],
      ...listAnswerRows(template?.attributes ?? [], row.contract_data),
      ...row.signatories.map(({ name, title, action }) => {
        const signed = action?.is_success ? `signed ${toIsoSeconds(action.at)}` : "not signed";
        return ["Signature", `${name}${title ? `, ${title}` : ""}: ${signed}`] as const;
      }),
    ],
    at: row.updated_at,
  };
}

export const createPreviewSheet = (
  template: ContractTemplate,
  answers: Readonly<Record<string, unknown>>,
  at: number,
): PdfSheet => ({ title: template.name, subtitle: "Preview", rows: listAnswerRows(template.attributes, answers), at });

function listAnswerRows(
  questions: readonly IntakeQuestion[],
  answers: Readonly<Record<string, unknown>>,
): PdfSheet["rows"] {
  const labels = new Map(questions.map(({ variable, display_label }) => [variable, display_label]));
  return Object.entries(answers)
    .filter(([, answer]) => answer !== null)
    .map(([variable, answer]) => [
      labels.get(variable) ?? variable,
      typeof answer === "string" ? answer : toExactJson(answer),
    ]);
}

/** Stores the bytes of an inline document. It must run before the transaction that refers to the blob. */
export const storeFile = (blobs: Blobs, file: Buffer): Promise<Blob> => blobs.put(Readable.from([file]), file.length);

export const pdfMediaType = "application/pdf";

export function createVersion(
  tx: Transaction,
  user: User,
  at: number,
  fields: Pick<DocumentVersion, "file_name" | "blob"> &
    Partial<Pick<DocumentVersion, "content_type" | "is_executed_version">>,
): DocumentVersion {
  const id = tx.next("contract_version");
  const { content_type = pdfMediaType, is_executed_version = false } = fields;
  // The name appears in URLs and in the header of a download.
  const file_name = sanitizeFilename(fields.file_name, content_type === pdfMediaType ? "pdf" : "docx");
  return { id, file_name, content_type, blob: fields.blob, is_executed_version, uploaded_at: at, uploaded_by: user.id };
}
