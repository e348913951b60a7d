// The order matters: globals, then the worker (which then runs in this thread), then the library.
import { beginBudget, isOverBudget } from "./byte-budget.ts";
import { restoreConsole } from "./quiet-globals.ts";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { getDocument, type PDFDocumentProxy, type PDFPageProxy, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";
import { memoryLimitMessage, nestingLimitMessage, parseFailureMessage, pdfLimits, textLimitMessage } from "./limits.ts";
import type { PdfReadResult, PdfTask } from "./reading.ts";

restoreConsole();

/** Parses a PDF and reads its first page, or all text. Images have no text. Never rejects. */
export async function readPdf({ goal, file }: PdfTask): Promise<PdfReadResult> {
  beginBudget();
  try {
    const reading = await openDocument(file, goal === "check" ? check : readText);
    return isOverBudget() ? { problem: memoryLimitMessage } : reading;
  } catch (error) {
    return { problem: formatParseError(error) };
  }
}

/** The reason why a file cannot be read, from the parser's error. */
export function formatParseError(error: unknown): string {
  if (isOverBudget()) return memoryLimitMessage;
  if (!(error instanceof Error)) return parseFailureMessage;
  if (error.name === "PasswordException") return "it requires a password";
  if (error.name === "InvalidPDFException") return `${parseFailureMessage} (${error.message.replace(/\.$/, "")})`;
  return error.message.includes("Maximum call stack size exceeded") ? nestingLimitMessage : parseFailureMessage;
}

async function check(document: PDFDocumentProxy): Promise<PdfReadResult> {
  if (document.numPages < 1) return { problem: "it has no pages" };
  await document.getPage(1);
  return { lines: [] };
}

async function readText(document: PDFDocumentProxy): Promise<PdfReadResult> {
  const lines: string[] = [];
  let left = pdfLimits.textLength;
  for (let number = 1; number <= document.numPages; number += 1) {
    const text = await readPageText(await document.getPage(number), left);
    if (text === undefined) return { problem: textLimitMessage };
    left -= text.length;
    for (const line of text.split("\n")) if (line.trim() !== "") lines.push(line);
  }
  return { lines };
}

/** Undefined: it is longer than that. */
async function readPageText(page: PDFPageProxy, maxLength: number): Promise<string | undefined> {
  let text = "";
  // In chunks as they arrive, so that no more is read than needed.
  const pieces = page.streamTextContent().getReader();
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
    for (const item of piece.value.items) if ("str" in item) text += item.hasEOL ? `${item.str}\n` : item.str;
    if (text.length > maxLength) return undefined;
  }
  return text;
}

async function openDocument(
  file: Uint8Array,
  read: (document: PDFDocumentProxy) => Promise<PdfReadResult>,
): Promise<PdfReadResult> {
  const task = getDocument({
    // The library needs a plain Uint8Array, and transfers its memory.
    data: new Uint8Array(file),
    verbosity: VerbosityLevel.ERRORS,
    stopAtErrors: true,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
  });
  try {
    return await read(await task.promise);
  } finally {
    await task.destroy();
  }
}
