import type { ChildProcess } from "node:child_process";
import { onAbort } from "../../base/concurrency.ts";
import type { Host, SignalName } from "./host.ts";

/** Time for required work after Ctrl-C. The whole shutdown takes at most one second. */
const defaultGraceMs = 700;
/** The process then exits even if work is still running. The rest of the second is for the final output. */
const defaultForcedExitMs = 240;

export type ShutdownController = ReturnType<typeof createShutdownController>;

/**
 * Controls the shutdown of a run. A signal aborts `signal`, which ends all waits. Required work (requests of a job, a
 * rotating token, a webhook, an emulator) continues until `forceSignal` is aborted. The process exits with the signal's
 * code a moment later, or at the second signal. This timer does not start while a child process runs that received the
 * signal.
 */
export function createShutdownController(host: Host) {
  const stopping = new AbortController();
  const forcing = new AbortController();
  const { signal } = stopping;
  const { signal: forceSignal } = forcing;
  const forcedExitHandlers = new Set<() => void>();
  let isTerminalLent = false;
  let waiting: (() => void)[] | undefined;
  let graceMs = defaultGraceMs;
  let lastMs = defaultForcedExitMs;
  let grace: AbortController | undefined;
  let interruption: SignalName | undefined;

  function stop(reason?: SignalName): void {
    if (signal.aborted) return;
    startCounting(() => void cutLater());
    stopping.abort(reason);
  }

  function startCounting(begin: () => void): void {
    if (waiting) waiting.push(begin);
    else begin();
  }

  async function cutLater(): Promise<void> {
    grace = new AbortController();
    const graceEnd = grace.signal;
    await host.wall.sleep(graceMs, graceEnd);
    if (!graceEnd.aborted) forcing.abort();
  }

  function force(name: SignalName): void {
    for (const act of forcedExitHandlers) act();
    host.end(name);
  }

  return {
    signal,
    forceSignal,
    stop,
    /** Signal that interrupted the run. */
    get name(): SignalName | undefined {
      return interruption;
    },
    /** Handles a signal or a Ctrl-C that a prompt has read. */
    interrupt(name: SignalName): void {
      if (isTerminalLent && name === "SIGINT") return;
      if (interruption) {
        force(name);
        return;
      }
      interruption = name;
      stop(name);
      startCounting(() => host.setDeadline(graceMs + lastMs, () => force(name)));
    },
    /** Extends the grace period for an embedded emulator, whose clients' requests can take this long. */
    extendGrace(ms: number): void {
      graceMs = ms;
    },
    /** Extends the time for the final write, which can take this long even without open requests. */
    extendClose(ms: number): void {
      lastMs = ms;
    },
    /** Ignores Ctrl-C while another program controls the terminal, because Ctrl-C is a key of that program. */
    async lendTerminal<T>(work: () => Promise<T>): Promise<T> {
      isTerminalLent = host.inherits && host.stdin.isTTY === true;
      try {
        return await work();
      } finally {
        isTerminalLent = false;
      }
    },
    /** Waits for a program that receives the signals. A second signal ends the program. */
    async waitForProgram<T>(work: () => Promise<T>): Promise<T> {
      const pending: (() => void)[] = [];
      waiting = pending;
      try {
        return await work();
      } finally {
        waiting = undefined;
        for (const begin of pending) begin();
      }
    },
    /**
     * Registers a handler for a second signal, or for a stopped run that does not end in time. Returns a function that
     * removes it.
     */
    onForcedExit(act: () => void): () => void {
      forcedExitHandlers.add(act);
      return () => void forcedExitHandlers.delete(act);
    },
    /**
     * Ends a child process with the run: by `stop` at a signal, and by SIGKILL at the end of the grace period or at a
     * forced exit. Returns a function that unlinks the child.
     */
    linkChild(child: ChildProcess, stopChild: () => void = () => child.kill("SIGTERM")): () => void {
      const kill = () => void child.kill("SIGKILL");
      if (signal.aborted) stopChild();
      const unlink = [[signal, stopChild] as const, [forceSignal, kill] as const].flatMap(([cause, act]) =>
        cause.aborted ? [] : onAbort(cause, act),
      );
      forcedExitHandlers.add(kill);
      return () => {
        for (const remove of unlink) remove();
        forcedExitHandlers.delete(kill);
      };
    },
    /** Ends the run. Forces the exit if something keeps the process alive. */
    waitUntilStopped(): void {
      grace?.abort();
    },
  };
}
