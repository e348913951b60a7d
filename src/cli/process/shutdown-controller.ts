import type { ChildProcess } from "node:child_process";
import { onAbort } from "../../base/concurrency.ts";
import type { Host, SignalName } from "./host.ts";

/** Time for required work after Ctrl-C. The whole shutdown takes at most one second. */
const defaultGraceMs = 700;
/** The process then exits even if work is still running. The rest of the second is for the final output. */
const defaultForcedExitMs = 240;

/**
 * Controls the shutdown of a run. A signal aborts `signal`, which ends all waits. Required work (requests of a job, a
 * rotating token, a webhook, an emulator) continues until `forceSignal` is aborted. The process exits with the signal's
 * code a moment later, or at the second signal. This timer does not start while a child process runs that received the
 * signal.
 */
export class ShutdownController {
  readonly #host: Host;
  readonly #stop = new AbortController();
  readonly #forced = new AbortController();
  readonly signal = this.#stop.signal;
  readonly forceSignal = this.#forced.signal;
  readonly #forcedExitHandlers = new Set<() => void>();
  #isTerminalLent = false;
  #waiting: (() => void)[] | undefined;
  #graceMs = defaultGraceMs;
  #lastMs = defaultForcedExitMs;
  #grace: AbortController | undefined;
  #name: SignalName | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  get name(): SignalName | undefined {
    return this.#name;
  }

  /** Handles a signal or a Ctrl-C that a prompt has read. */
  interrupt(name: SignalName): void {
    if (this.#isTerminalLent && name === "SIGINT") return;
    if (this.#name) {
      this.#force(name);
      return;
    }
    this.#name = name;
    this.stop(name);
    this.#count(() => this.#host.setDeadline(this.#graceMs + this.#lastMs, () => this.#force(name)));
  }

  stop(reason?: SignalName): void {
    if (this.signal.aborted) return;
    this.#count(() => void this.#cutLater());
    this.#stop.abort(reason);
  }

  /** Extends the grace period for an embedded emulator, whose clients' requests can take this long. */
  extendGrace(ms: number): void {
    this.#graceMs = ms;
  }

  /** Extends the time for the final write, which can take this long even without open requests. */
  extendClose(ms: number): void {
    this.#lastMs = ms;
  }

  /** Ignores Ctrl-C while another program controls the terminal, because Ctrl-C is a key of that program. */
  async lendTerminal<T>(work: () => Promise<T>): Promise<T> {
    this.#isTerminalLent = this.#host.inherits && this.#host.stdin.isTTY === true;
    try {
      return await work();
    } finally {
      this.#isTerminalLent = false;
    }
  }

  /** Waits for a program that receives the signals. A second signal ends the program. */
  async waitForProgram<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting = [];
    try {
      return await work();
    } finally {
      const pending = this.#waiting;
      this.#waiting = undefined;
      for (const begin of pending) begin();
    }
  }

  #count(begin: () => void): void {
    if (this.#waiting) this.#waiting.push(begin);
    else begin();
  }

  /**
   * Registers a handler for a second signal, or for a stopped run that does not end in time. Returns a function that
   * removes it.
   */
  onForcedExit(act: () => void): () => void {
    this.#forcedExitHandlers.add(act);
    return () => void this.#forcedExitHandlers.delete(act);
  }

  /**
   * Ends a child process with the run: by `stop` at a signal, and by SIGKILL at the end of the grace period or at a
   * forced exit. Returns a function that unlinks the child.
   */
  linkChild(child: ChildProcess, stop: () => void = () => child.kill("SIGTERM")): () => void {
    const kill = () => void child.kill("SIGKILL");
    if (this.signal.aborted) stop();
    const unlink = [[this.signal, stop] as const, [this.forceSignal, kill] as const].flatMap(([signal, act]) =>
      signal.aborted ? [] : onAbort(signal, act),
    );
    this.#forcedExitHandlers.add(kill);
    return () => {
      for (const remove of unlink) remove();
      this.#forcedExitHandlers.delete(kill);
    };
  }

  /** Ends the run. Forces the exit if something keeps the process alive. */
  waitUntilStopped(): void {
    this.#grace?.abort();
  }

  async #cutLater(): Promise<void> {
    this.#grace = new AbortController();
    const { signal } = this.#grace;
    await this.#host.wall.sleep(this.#graceMs, signal);
    if (!signal.aborted) this.#forced.abort();
  }

  #force(name: SignalName): void {
    for (const act of this.#forcedExitHandlers) act();
    this.#host.end(name);
  }
}
