/**
 * The process that reads PDFs, one after another. It is not a thread: a thread that exceeds its memory limit at the
 * wrong time (as a table grows) crashes the whole process, and no file may crash the emulator.
 */
import { Worker } from "node:worker_threads";
import { isLimit } from "./limits.ts";
import { formatParseError, readPdf } from "./parser.ts";
import type { PdfReadResult, PdfTask, WorkerMessage } from "./reading.ts";

const send = (message: WorkerMessage) => process.send?.(message);
const sendMessage = (reading: PdfReadResult, broken: boolean) => send({ reading, broken });

process.on("message", async (task: PdfTask) => {
  const reading = await readPdf(task);
  sendMessage(reading, isLimit(reading.problem));
});

// The parser throws errors that cannot be caught, for example when a form draws itself.
process.on("uncaughtException", (error) => sendMessage({ problem: formatParseError(error) }, true));

// Ctrl-C reaches every process of a terminal, but the emulator decides when this one ends.
process.on("SIGINT", () => {});

// A killed emulator sends no message, and a malicious file may block the event loop, so a thread checks.
const watch = `
  const parent = require("node:worker_threads").workerData;
  const still = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    Atomics.wait(still, 0, 0, 1000);
    try { process.kill(parent, 0); } catch { process.kill(process.pid, "SIGKILL"); }
  }`;
new Worker(watch, { eval: true, workerData: process.ppid, execArgv: [] }).unref();

send({ up: true });
