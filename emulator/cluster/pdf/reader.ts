import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Fail } from "../../../src/api/failures.ts";
import type { WallClock } from "../../../src/base/clock.ts";
import { Mutex } from "../../../src/base/concurrency.ts";
import { decodeFileBase64 } from "../../../src/base/hmac.ts";
import { timedOut, withTimeout } from "../../../src/base/timing.ts";
import {
  memoryLimitMessage,
  type PdfReadResult,
  type PdfTask,
  parseFailureMessage,
  pdfLimits,
  timeLimitMessage,
  type WorkerMessage,
} from "./limits.ts";

export const pdfReaderBusy = Symbol("busy");

/** Reads one file at a time, in order of arrival. The process is replaced after a file that exceeded a limit. */
export class PdfReader {
  readonly #wall: WallClock;
  readonly #waiting = new Set<{ readonly bytes: number }>();
  readonly #turn = new Mutex();
  #isReading = false;
  #isClosed = false;
  #process: ReadingProcess | undefined;

  constructor(wall: WallClock) {
    this.#wall = wall;
  }

  /** Resolves with `busy` if too many files wait, or this one too long. Rejects if no process can be started. */
  async read(goal: PdfTask["goal"], file: Uint8Array): Promise<PdfReadResult | typeof pdfReaderBusy> {
    const bytes = [...this.#waiting].reduce((sum, each) => sum + each.bytes, file.length);
    const isFull =
      this.#waiting.size >= pdfLimits.waitingFiles || (this.#waiting.size > 0 && bytes > pdfLimits.waitingBytes);
    if (this.#isClosed || isFull) return pdfReaderBusy;
    const ticket = { bytes: file.length };
    this.#waiting.add(ticket);
    const turn = this.#turn.acquire();
    const release = await withTimeout(this.#wall, pdfLimits.waitMs, turn);
    this.#waiting.delete(ticket);
    if (release === timedOut) {
      void turn.then((releaseLate) => releaseLate());
      return pdfReaderBusy;
    }
    this.#isReading = true;
    try {
      return this.#isClosed ? pdfReaderBusy : await this.#readNow({ goal, file });
    } catch (error) {
      if (this.#isClosed) return pdfReaderBusy;
      throw error;
    } finally {
      this.#isReading = false;
      release();
    }
  }

  /** Ends the process, or leaves it for the next reader. Waiting callers get a busy error. */
  close(): void {
    this.#isClosed = true;
    if (this.#isReading) this.#process?.end();
    else if (this.#process?.isFit) leaveSpare(this.#process);
    this.#process = undefined;
  }

  async #readNow(task: PdfTask): Promise<PdfReadResult> {
    const process = await this.#acquireProcess();
    const { isFresh } = process;
    const reading = await withTimeout(this.#wall, pdfLimits.timeMs, process.read(task));
    if (reading === timedOut) {
      process.end();
      return { problem: timeLimitMessage };
    }
    // An earlier file may have left the process in a bad state, so this file is tried again in a new process.
    return process.isFit || isFresh ? reading : this.#readNow(task);
  }

  async #acquireProcess(): Promise<ReadingProcess> {
    if (this.#process?.isFit) return this.#process;
    if (this.#isClosed) throw new Error("The PDF reader is closed");
    const process = acquireIdleProcess() ?? new ReadingProcess();
    this.#process = process;
    if ((await withTimeout(this.#wall, pdfLimits.startMs, process.started)) !== timedOut) return process;
    process.end();
    throw new Error(`The PDF reader did not start within ${pdfLimits.startMs / 1_000} seconds`);
  }
}

/** A closed reader leaves its process, because a start takes a third of a second and tests start many emulators. */
let spareProcess: ReadingProcess | undefined;

function acquireIdleProcess(): ReadingProcess | undefined {
  const process = spareProcess;
  spareProcess = undefined;
  return process?.isFit ? process : undefined;
}

function leaveSpare(process: ReadingProcess): void {
  if (spareProcess?.isFit) process.end();
  else spareProcess = process;
}

export type PdfCheckResult = { readonly file: Buffer; readonly problem?: undefined } | { readonly problem: string };

/** Decodes an inline PDF and parses it (DECISIONS.md, P18). */
export async function checkPdf(base64: string, pdfs: PdfReader, fail: Fail<"pdfs-busy">): Promise<PdfCheckResult> {
  const file = decodeFileBase64(base64);
  if (!file) return { problem: "Input should be valid base64" };
  const reading = await pdfs.read("check", file);
  if (reading === pdfReaderBusy) return fail("pdfs-busy", { seconds: pdfLimits.timeMs / 1_000 });
  return reading.problem === undefined ? { file } : { problem: `Input should be a valid PDF: ${reading.problem}` };
}

/** The client side of the reading process. It prevents this process from exiting only while a request is pending. */
class ReadingProcess {
  readonly #child: ChildProcess;
  #onMessage: (message: WorkerMessage | ReadingFailure) => void = () => {};
  /** False once the process got a file. */
  isFresh = true;
  /** False once the process has ended or is being ended. */
  isFit = true;
  readonly started: Promise<void>;

  constructor() {
    this.#child = fork(fileURLToPath(processPath), [], {
      execArgv: [...(isSource ? process.execArgv : []), `--max-old-space-size=${pdfLimits.memoryMb}`],
      // The process must not inherit the options of debuggers and coverage.
      env: isSource ? process.env : { ...process.env, NODE_OPTIONS: "" },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.on("message", (message: WorkerMessage) => {
      if ("broken" in message && message.broken) this.end();
      this.#onMessage(message);
    });
    this.#child.on("error", (error) => this.#end({ error: error.message, outOfMemory: false }));
    this.#child.on("exit", (code, signal) => {
      this.#end({ error: `it ended with ${signal ?? code}`, outOfMemory: signal !== "SIGKILL" && code === null });
    });
    this.started = this.#nextMessage().then((first) => {
      if ("error" in first) throw new Error(`The PDF reader cannot be started: ${first.error}`);
    });
  }

  /** Never rejects. It does not resolve while the file keeps the process busy. */
  async read(task: PdfTask): Promise<PdfReadResult> {
    this.isFresh = false;
    const response = this.#nextMessage();
    // The exit of the process reports a failure to send.
    this.#child.send(task, () => {});
    const message = await response;
    if ("reading" in message) return message.reading;
    return { problem: "outOfMemory" in message && message.outOfMemory ? memoryLimitMessage : parseFailureMessage };
  }

  end(): void {
    this.isFit = false;
    // A busy process does not react to other signals.
    this.#child.kill("SIGKILL");
  }

  #nextMessage(): Promise<WorkerMessage | ReadingFailure> {
    this.#child.ref();
    this.#child.channel?.ref();
    return new Promise((resolve) => {
      this.#onMessage = (message) => {
        this.#child.unref();
        this.#child.channel?.unref();
        resolve(message);
      };
    });
  }

  #end(failure: ReadingFailure): void {
    this.isFit = false;
    this.#onMessage(failure);
  }
}

interface ReadingFailure {
  readonly error: string;
  /** True if V8 aborted at its memory limit, or if the process ended itself at its own. */
  readonly outOfMemory: boolean;
}

/** All files of the bundle are in one folder. When run from source, the process also needs the TypeScript loader. */
const isSource = import.meta.url.endsWith(".ts");
const processPath = new URL(isSource ? "./process.ts" : "./pdf-process.js", import.meta.url);
