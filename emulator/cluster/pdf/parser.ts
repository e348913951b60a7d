// The order matters: globals, then the worker (which then runs in this thread), then the library.
import { speak } from "./quiet-globals.ts";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { getDocument, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";

speak();

/** Parses a PDF and reads its first page. Says what is wrong; undefined: nothing. */
export async function parsingProblem(file: Buffer): Promise<string | undefined> {
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
    const document = await task.promise;
    if (document.numPages < 1) return "it has no pages";
    await document.getPage(1);
    return undefined;
  } catch (error) {
    return error instanceof Error && error.name === "PasswordException" ? "it needs a password" : "it cannot be parsed";
  } finally {
    await task.destroy();
  }
}
