import { attachmentHeader, inlineHeader } from "../../http/attachment.ts";
import type { Finding } from "../../http/handler.ts";
import { Passthrough } from "../../http/reply.ts";
import type { Contract } from "../contracts/rows.ts";
import { bytesOf, latestDocument, sheetIfMade } from "../documents/contract-pdf.ts";
import { pdfType } from "../documents/inline-file.ts";
import type { ClusterWorld } from "../world.ts";

/** The document of a contract as it stands; a PDF is shown, anything else kept. Undefined where there is none. */
export async function documentAnswer(
  contract: Contract,
  { store, blobs }: Pick<ClusterWorld, "store" | "blobs">,
  finding: Finding,
): Promise<Passthrough | undefined> {
  const sheet = await store.read((view) => sheetIfMade(view, contract));
  const document = await latestDocument(contract, sheet, finding);
  if (!document) return undefined;
  const { file_name, content_type } = document;
  const headers = {
    "content-type": content_type,
    "content-length": String("blob" in document ? document.blob.size : document.bytes.length),
    ...(content_type === pdfType ? inlineHeader(file_name) : attachmentHeader(file_name)),
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
  };
  return new Passthrough(200, Object.entries(headers).flat(), await bytesOf(blobs, document));
}
