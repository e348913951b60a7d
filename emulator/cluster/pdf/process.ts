import { Worker } from "node:worker_threads";
import {
  isLimitMessage,
  nestingLimitMessage,
  type PdfReadResult,
  type PdfTask,
  parseFailureMessage,
  pdfLimits,
  textLimitMessage,
  type WorkerMessage,
} from "./limits.ts";
// The order of the imports matters: globals, then the worker (which then runs in this thread), then the library.
import { restoreConsole } from "./pdfjs-globals.ts";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { getDocument, type PDFDocumentProxy, type PDFPageProxy, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";

/** Reads PDFs in a process of its own, because a thread that exceeds its memory limit can crash the emulator. */

restoreConsole();

const send = (message: WorkerMessage) => process.send?.(message);

/** 1 while a file is read. */
const isReading = new Int32Array(new SharedArrayBuffer(4));

process.on("message", async (task: PdfTask) => {
  Atomics.store(isReading, 0, 1);
  Atomics.notify(isReading, 0);
  const reading = await readPdf(task);
  Atomics.store(isReading, 0, 0);
  send({ reading, broken: isLimitMessage(reading.problem) });
});

// The parser throws some errors outside of any promise, for example while it draws a form.
process.on("uncaughtException", (error) => send({ reading: { problem: formatParseError(error) }, broken: true }));

// Ctrl-C reaches every process of a terminal, but the emulator ends this process.
process.on("SIGINT", () => {});

// A malicious file can block the event loop, so a thread ends this process when the emulator was killed, and when the
// file takes too much memory. V8's own limit does not cover typed arrays, into which compressed streams are decoded.
// Between files, the thread sleeps, and this process ends when its channel is closed.
const watcher = `
  const { parent, maxBytes, isReading } = require("node:worker_threads").workerData;
  for (;;) {
    Atomics.wait(isReading, 0, 0);
    Atomics.wait(isReading, 0, 1, 100);
    try { process.kill(parent, 0); } catch { process.kill(process.pid, "SIGKILL"); }
    if (process.memoryUsage.rss() > maxBytes) process.kill(process.pid, "SIGTERM");
  }`;
const workerData = { parent: process.ppid, maxBytes: pdfLimits.memoryMb * 1024 * 1024, isReading };
new Worker(watcher, { eval: true, workerData, execArgv: [] }).unref();

send({ started: true });

/** Parses a PDF and reads its first page, or all text. Images have no text. Never rejects. */
async function readPdf({ goal, file }: PdfTask): Promise<PdfReadResult> {
  try {
    return await openDocument(file, goal === "check" ? checkFirstPage : readText);
  } catch (error) {
    return { problem: formatParseError(error) };
  }
}

function formatParseError(error: unknown): string {
  if (!(error instanceof Error)) return parseFailureMessage;
  if (error.name === "PasswordException") return "it requires a password";
  if (error.name === "InvalidPDFException") return `${parseFailureMessage} (${error.message.replace(/\.$/, "")})`;
  return error.message.includes("Maximum call stack size exceeded") ? nestingLimitMessage : parseFailureMessage;
}

async function checkFirstPage(document: PDFDocumentProxy): Promise<PdfReadResult> {
  if (document.numPages < 1) return { problem: "it has no pages" };
  await document.getPage(1);
  return { lines: [] };
}

async function readText(document: PDFDocumentProxy): Promise<PdfReadResult> {
  const lines: string[] = [];
  let remaining = pdfLimits.textLength;
  for (let number = 1; number <= document.numPages; number += 1) {
    const text = await readPageText(await document.getPage(number), remaining);
    if (text === undefined) return { problem: textLimitMessage };
    remaining -= text.length;
    for (const line of text.split("\n")) if (line.trim() !== "") lines.push(line);
  }
  return { lines };
}

async function readPageText(page: PDFPageProxy, maxLength: number): Promise<string | undefined> {
  let text = "";
  const pieces = page.streamTextContent().getReader();
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
    for (const item of piece.value.items) if ("str" in item) text += item.hasEOL ? `${item.str}\n` : item.str;
    if (text.length > maxLength) return undefined;
  }
  return text;
}

async function openDocument(
  file: Uint8Array,
  readContents: (document: PDFDocumentProxy) => Promise<PdfReadResult>,
): Promise<PdfReadResult> {
  const task = getDocument({
    // The library needs a plain Uint8Array whose memory it can transfer.
    data: new Uint8Array(file),
    verbosity: VerbosityLevel.ERRORS,
    stopAtErrors: true,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
  });
  try {
    return await readContents(await task.promise);
  } finally {
    await task.destroy();
  }
}
