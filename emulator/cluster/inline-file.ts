import type { Blob, Blobs } from "../store/blobs.ts";
import type { Transaction } from "../store/store.ts";
import type { Version } from "./contract-rows.ts";
import type { User } from "./workspaces.ts";

/** Keeps the bytes of a document that came inline. Done before the transaction that refers to it. */
export const keepFile = (blobs: Blobs, file: Buffer): Promise<Blob> => blobs.put(once(file), file.length);

async function* once(file: Buffer): AsyncGenerator<Uint8Array, void> {
  yield file;
}

export const pdfType = "application/pdf";

/** The row of a document version, with the next number. */
export function newVersion(
  tx: Transaction,
  by: User,
  at: number,
  given: Pick<Version, "file_name" | "blob"> & Partial<Version>,
): Version {
  const id = tx.next("contract_version");
  return { id, content_type: pdfType, is_executed_version: false, uploaded_at: at, uploaded_by: by.id, ...given };
}
