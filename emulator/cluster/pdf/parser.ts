// The order matters: globals, then the worker (which then runs in this thread), then the library.
import { speak } from "./quiet-globals.ts";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { getDocument, type PDFDocumentProxy, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";

speak();

/** Parses a PDF and reads its first page. Says what is wrong; undefined: nothing. */
export async function parsingProblem(file: Buffer): Promise<string | undefined> {
  try {
    return await reading(file, async (document) => {
      if (document.numPages < 1) return "it has no pages";
      await document.getPage(1);
      return undefined;
    });
  } catch (error) {
    return error instanceof Error && error.name === "PasswordException" ? "it needs a password" : "it cannot be parsed";
  }
}

/** The text of a PDF, line by line; pictures of text have none. Rejects where a page cannot be read. */
export const linesOfPdf = (file: Buffer): Promise<string[]> =>
  reading(file, async (document) => {
    const lines: string[] = [];
    for (let number = 1; number <= document.numPages; number += 1) {
      const { items } = await (await document.getPage(number)).getTextContent();
      const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
      lines.push(...text.split("\n").filter((line) => line.trim() !== ""));
    }
    return lines;
  });

async function reading<T>(file: Buffer, read: (document: PDFDocumentProxy) => Promise<T>): Promise<T> {
  const task = getDocument({
    // A copy: the library takes the memory away.
    data: Uint8Array.from(file),
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
