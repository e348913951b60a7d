import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { memoryLimitMessage, parseFailureMessage, pdfLimits } from "./limits.ts";
import type { PdfReadResult, PdfTask, WorkerMessage } from "./reading.ts";

/** The client side of the reading process. It keeps this process alive only while a request is pending. */
export class ReadingProcess {
  readonly #child: ChildProcess;
  #onMessage: (message: WorkerMessage | ReadingFailure) => void = () => {};
  #isFresh = true;
  #hasEnded = false;

  /** Resolves when the process is ready. Rejects if it cannot be started. */
  readonly up: Promise<void>;

  constructor() {
    this.#child = fork(fileURLToPath(entry), [], {
      execArgv: [...(isSource ? process.execArgv : []), `--max-old-space-size=${pdfLimits.memoryMb}`],
      // Options of debuggers and coverage must not be inherited.
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
    this.up = this.#ensureStarted();
  }

  /** Whether it can read another file. */
  get isFit(): boolean {
    return !this.#hasEnded;
  }

  /** Whether it has no pending request. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** Never rejects. Never resolves if the file keeps the process busy forever. */
  async read(task: PdfTask): Promise<PdfReadResult> {
    this.#isFresh = false;
    const answer = this.#nextMessage();
    // A failure to send is noticed when the process ends.
    this.#child.send(task, () => {});
    const message = await answer;
    if ("reading" in message) return message.reading;
    return { problem: "outOfMemory" in message && message.outOfMemory ? memoryLimitMessage : parseFailureMessage };
  }

  async #ensureStarted(): Promise<void> {
    const first = await this.#nextMessage();
    if ("error" in first) throw new Error(`The PDF reader cannot be started: ${first.error}`);
  }

  end(): void {
    this.#hasEnded = true;
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

  #end(ended: ReadingFailure): void {
    this.#hasEnded = true;
    this.#onMessage(ended);
  }
}

interface ReadingFailure {
  readonly error: string;
  /** V8 aborted, as it does at its memory limit. */
  readonly outOfMemory: boolean;
}

/** In the bundle all files are in one folder. Otherwise the TypeScript loader is passed on. */
const isSource = import.meta.url.endsWith(".ts");
const entry = new URL(isSource ? "./process.ts" : "./pdf-process.js", import.meta.url);
