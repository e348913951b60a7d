import type { Host, SignalName } from "./host.ts";

/** Time for necessary work after Ctrl-C, of the second in which everything ends. */
const defaultGraceMs = 700;
/** So long after that the process ends, whatever still runs in it. What is left of the second is for what is printed last. */
const defaultLastMs = 240;

/**
 * Decides how a run is stopped: at a signal `signal` is aborted, which ends all waits; necessary work (calls of a job,
 * a token that rotates, a webhook, an emulator) continues until `cut` is; a moment later, or at the second signal, the
 * process ends with the signal's code. While a child process runs that got the signal, that moment does not begin.
 */
export class ShutdownController {
  readonly #host: Host;
  readonly #stop = new AbortController();
  readonly #cut = new AbortController();
  readonly #lastActs: (() => void)[] = [];
  #isLent = false;
  /** While a program is awaited: the work for its end. */
  #waiting: (() => void)[] | undefined;
  #graceMs = defaultGraceMs;
  #lastMs = defaultLastMs;
  /** While what has to be finished has its time. */
  #grace: AbortController | undefined;
  #name: SignalName | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Which signal came first, if any did. */
  get name(): SignalName | undefined {
    return this.#name;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get cut(): AbortSignal {
    return this.#cut.signal;
  }

  /** For a signal, and for a Ctrl-C that a question has read. */
  interrupt(name: SignalName): void {
    if (this.#isLent && name === "SIGINT") return;
    if (this.#name) {
      this.#force(name);
      return;
    }
    this.#name = name;
    this.stop(name);
    this.#count(() => this.#host.deadline(this.#graceMs + this.#lastMs, () => this.#force(name)));
  }

  /** Without a signal: the output is not read. */
  stop(reason?: SignalName): void {
    if (this.signal.aborted) return;
    this.#count(() => void this.#cutLater());
    this.#stop.abort(reason);
  }

  /** An emulator here serves others, whose requests may take this long to end. */
  extendGrace(ms: number): void {
    this.#graceMs = ms;
  }

  /** What is written as this ends may take so long, however little is still served. */
  extendClose(ms: number): void {
    this.#lastMs = ms;
  }

  /** While a program of the person has the terminal, Ctrl-C is one of its keys: it goes there as well as here. */
  async withTerminalLent<T>(work: () => Promise<T>): Promise<T> {
    this.#isLent = true;
    try {
      return await work();
    } finally {
      this.#isLent = false;
    }
  }

  /** Waits for a program that gets the signals: it may take any time to end. A second signal ends it. */
  async waitForProgram<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting = [];
    try {
      return await work();
    } finally {
      const begun = this.#waiting;
      this.#waiting = undefined;
      for (const begin of begun) begin();
    }
  }

  #count(begin: () => void): void {
    if (this.#waiting) this.#waiting.push(begin);
    else begin();
  }

  /** Work that remains after a forced end. */
  onForcedExit(act: () => void): void {
    this.#lastActs.push(act);
  }

  /** The run has ended. Should something hold the process all the same, it is forced. */
  waitUntilStopped(): void {
    this.#grace?.abort();
  }

  async #cutLater(): Promise<void> {
    this.#grace = new AbortController();
    const { signal } = this.#grace;
    await this.#host.wall.sleep(this.#graceMs, signal);
    if (!signal.aborted) this.#cut.abort();
  }

  #force(name: SignalName): void {
    for (const act of this.#lastActs) act();
    this.#host.end(name);
  }
}
