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
  const runEnd = new AbortController();
  const { signal } = stopping;
  const { signal: forceSignal } = forcing;
  const forcedExitHandlers = new Set<() => void>();
  let isTerminalLent = false;
  /** Timers that start when a child process ends that received the signal. */
  let heldTimers: (() => void)[] | undefined;
  let graceMs = defaultGraceMs;
  let forcedExitMs = defaultForcedExitMs;
  let interruption: SignalName | undefined;

  function stop(reason?: SignalName): void {
    if (signal.aborted) return;
    startTimer(() => void forceAfterGrace());
    stopping.abort(reason);
  }

  function startTimer(start: () => void): void {
    if (heldTimers) heldTimers.push(start);
    else start();
  }

  async function forceAfterGrace(): Promise<void> {
    await host.wall.sleep(graceMs, runEnd.signal);
    if (!runEnd.signal.aborted) forcing.abort();
  }

  function forceExit(name: SignalName): void {
    // The newest first: a program is killed before its folder is removed.
    for (const act of [...forcedExitHandlers].reverse()) act();
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
        forceExit(name);
        return;
      }
      interruption = name;
      stop(name);
      startTimer(() => host.setDeadline(graceMs + forcedExitMs, () => forceExit(name)));
    },
    /** Extends the grace period for an embedded emulator, whose clients' requests can take this long. */
    extendGrace(ms: number): void {
      graceMs = ms;
    },
    /** Extends the time for the final write, which can take this long even without open requests. */
    extendClose(ms: number): void {
      forcedExitMs = ms;
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
      const timers: (() => void)[] = [];
      heldTimers = timers;
      try {
        return await work();
      } finally {
        heldTimers = undefined;
        for (const start of timers) start();
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
    /** Ends the grace period of a run that has ended. */
    endGrace(): void {
      runEnd.abort();
    },
  };
}
