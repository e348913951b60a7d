import type { Fail } from "../../../src/api/failures.ts";
import { decodeFileBase64 } from "../../../src/base/base64.ts";
import { checkPdf } from "../pdf/pdf.ts";
import type { PdfReader } from "../pdf/reader.ts";
import { docxType } from "./contract-pdf.ts";
import { pdfType } from "./inline-file.ts";

/** A version's bytes, checked. */
export interface Upload {
  readonly file: Buffer;
  readonly content_type: string;
}

/** A new version is a PDF or a DOCX, by its name and by its bytes (DECISIONS.md, F6). */
export async function uploadOf(
  name: string,
  base64: string,
  pdfs: PdfReader,
  fail: Fail<"invalid-fields" | "pdfs-busy">,
): Promise<Upload> {
  if (/\.pdf$/i.test(name)) {
    const checked = await checkPdf(base64, pdfs, fail);
    if (checked.problem !== undefined) return fail("invalid-fields", { document_base_64: [checked.problem] });
    return { file: checked.file, content_type: pdfType };
  }
  if (!/\.docx$/i.test(name)) {
    return fail("invalid-fields", { document_name: ["Value should be a file name that ends in .pdf or .docx"] });
  }
  const file = decodeFileBase64(base64);
  // A DOCX is a ZIP archive; whether it opens is for a word processor to say.
  const zipped = file?.subarray(0, 4).equals(Buffer.from("PK\x03\x04", "latin1"));
  if (!file || !zipped) return fail("invalid-fields", { document_base_64: ["Input should be a valid DOCX"] });
  return { file, content_type: docxType };
}
