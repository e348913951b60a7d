/**
 * The process that reads PDFs, one after the other. It is a process and not a thread: a thread that meets its limit of
 * memory at the wrong moment (as a table grows) ends the whole process with it, and no library may do that to the
 * emulator, whatever is in a file.
 */
import { Worker } from "node:worker_threads";
import { isLimit } from "./limits.ts";
import { formatParseError, readPdf } from "./parser.ts";
import type { PdfReadResult, PdfTask, WorkerMessage } from "./reading.ts";

const send = (message: WorkerMessage) => process.send?.(message);
const tell = (reading: PdfReadResult, broken: boolean) => send({ reading, broken });

process.on("message", async (task: PdfTask) => {
  const reading = await readPdf(task);
  tell(reading, isLimit(reading.problem));
});

// The parser throws errors that cannot be caught, as when a form draws itself.
process.on("uncaughtException", (error) => tell({ problem: formatParseError(error) }, true));

// Ctrl-C reaches every process of a terminal; the emulator says when this one ends.
process.on("SIGINT", () => {});

// A killed emulator sends no message, and an endless file blocks the event loop here: a thread checks.
const watch = `
  const parent = require("node:worker_threads").workerData;
  const still = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    Atomics.wait(still, 0, 0, 1000);
    try { process.kill(parent, 0); } catch { process.kill(process.pid, "SIGKILL"); }
  }`;
new Worker(watch, { eval: true, workerData: process.ppid, execArgv: [] }).unref();

send({ up: true });
