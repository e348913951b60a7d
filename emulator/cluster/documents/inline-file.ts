import type { User } from "../../domain/workspaces.ts";
import type { Blob, Blobs } from "../../store/blobs.ts";
import type { Transaction } from "../../store/port.ts";
import type { Version } from "../contracts/rows.ts";
import { sanitizeFilename } from "../storage/storage.ts";

/** Stores the bytes of an inline document, before the transaction that refers to it. */
export const storeFile = (blobs: Blobs, file: Buffer): Promise<Blob> => blobs.put(yieldOnce(file), file.length);

async function* yieldOnce(file: Buffer): AsyncGenerator<Uint8Array, void> {
  yield file;
}

export const pdfType = "application/pdf";

/** The row of a document version, with the next number. */
export function createVersion(
  tx: Transaction,
  by: User,
  at: number,
  given: Pick<Version, "file_name" | "blob"> & Partial<Pick<Version, "content_type" | "is_executed_version">>,
): Version {
  const id = tx.next("contract_version");
  const { content_type = pdfType, is_executed_version = false } = given;
  // It appears in URLs and in the header of a download.
  const file_name = sanitizeFilename(given.file_name, content_type === pdfType ? "pdf" : "docx");
  return { id, file_name, content_type, blob: given.blob, is_executed_version, uploaded_at: at, uploaded_by: by.id };
}
