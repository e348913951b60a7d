import type { Fail } from "../../../src/api/failures.ts";
import { decodeFileBase64 } from "../../../src/base/base64.ts";
import { limits } from "./limits.ts";
import { busy, type PdfReader } from "./reader.ts";
import type { Reading } from "./reading.ts";

/** The bytes of a PDF, or why they are not one, in a sentence. */
export type Checked = { readonly file: Buffer; readonly problem?: undefined } | { readonly problem: string };

/** Decodes an inline PDF and has the parser read it (DECISIONS.md, P18). */
export async function checkPdf(base64: string, pdfs: PdfReader, fail: Fail<"pdfs-busy">): Promise<Checked> {
  const file = decodeFileBase64(base64);
  if (!file) return { problem: "Input should be valid base64" };
  const problem = await pdfProblem(file, pdfs);
  if (problem === busy) return fail("pdfs-busy", { seconds: limits.timeMs / 1_000 });
  return problem === undefined ? { file } : { problem: `Input should be a valid PDF: ${problem}` };
}

/** Why a file is not a PDF; undefined when it is one. */
export async function pdfProblem(file: Buffer, pdfs: PdfReader): Promise<string | undefined | typeof busy> {
  const reading = await pdfs.read("check", file);
  return reading === busy ? reading : reading.problem;
}

/** The text of a PDF, line by line, or why it cannot be read, as behind a first page that can. */
export const pdfText = (file: Buffer, pdfs: PdfReader): Promise<Reading | typeof busy> => pdfs.read("text", file);
