import { decodeBase64 } from "../../../src/base/base64.ts";
import { structuralProblem } from "./structure.ts";

/** The bytes of a PDF, or why they are not one, in a sentence. */
export type Checked = { readonly file: Buffer; readonly problem?: undefined } | { readonly problem: string };

/** Decodes and validates an inline PDF: strict base64, structure, then a real parser (conformance.md, section 9). */
export async function checkPdf(base64: string): Promise<Checked> {
  const file = decodeBase64(base64);
  if (!file) return { problem: "Input should be valid base64" };
  const problem = await pdfProblem(file);
  return problem === undefined ? { file } : { problem: `Input should be a valid PDF: ${problem}` };
}

/** Why a file is not a PDF; undefined when it is one. The parser is loaded by the first file that gets so far. */
export async function pdfProblem(file: Buffer): Promise<string | undefined> {
  const structural = structuralProblem(file);
  if (structural !== undefined) return structural;
  const { parsingProblem } = await import("./parser.ts");
  return parsingProblem(file);
}

/** The text of a PDF, line by line; undefined when it cannot be read, as behind a first page that can. */
export async function pdfLines(file: Buffer): Promise<string[] | undefined> {
  const { linesOfPdf } = await import("./parser.ts");
  return linesOfPdf(file).catch(() => undefined);
}
