import type { Host, SignalName } from "./host.ts";

/** What has to be finished after Ctrl-C has so long, of the second in which everything ends. */
const defaultGraceMs = 700;
/** So long after that the process ends, whatever still runs in it. What is left of the second is for what is printed last. */
const lastMs = 240;

/**
 * How a run is stopped, the only place that knows: at a signal `signal` is aborted, which ends all that waits; what has
 * to be finished (calls of a job, a token that rotates, a subscription, an emulator) continues until `cut` is; a moment
 * later, or at the second signal, the process ends with the signal's code. While somebody else's program runs, which
 * was told to end, that moment does not begin.
 */
export class ShutdownController {
  readonly #host: Host;
  readonly #stop = new AbortController();
  readonly #cut = new AbortController();
  readonly #lastActs: (() => void)[] = [];
  #isLent = false;
  /** While a program is waited for: what is to be done once it has ended. */
  #waiting: (() => void)[] | undefined;
  #graceMs = defaultGraceMs;
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
    this.#count(() => this.#host.deadline(this.#graceMs + lastMs, () => this.#force(name)));
  }

  /** Without a signal: nobody reads what is printed. */
  stop(reason?: SignalName): void {
    if (this.signal.aborted) return;
    this.#count(() => void this.#cutLater());
    this.#stop.abort(reason);
  }

  /** What runs here serves others, whose requests may take so long to end. */
  extendGrace(ms: number): void {
    this.#graceMs = ms;
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

  /** Waits for a program that is told of signals: how long it takes to end is its own affair. A second signal ends it. */
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

  /** What a forced end leaves nobody else to do. */
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
