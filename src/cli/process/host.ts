import type { Readable, Writable } from "node:stream";
import type { WallClock } from "../../base/clock.ts";

export type InputStream = Readable & { readonly isTTY?: boolean };
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The `svc` that waits for this one. */
export interface ParentRun {
  /** Resolves once it has heard and wants nothing more; rejects when it has gone before. */
  tell(message: object): Promise<void>;
}

/** This variable marks a process that `svc` waits for: it holds the pid of its parent. */
export const parentPidVariable = "SVC_STARTED_BY";

/** Signals that end a run: Ctrl-C, a supervisor, or a terminal that went away. */
export type SignalName = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Resources of one run of the command line. `bin/svc.js` builds it from `process`; tests from memory. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /**
   * If standard output is not a terminal: writes a string there at once, without its stream, which Node needs
   * milliseconds to create. Returns the unwritten rest, of a full pipe or a closed one: the stream handles it then.
   */
  readonly writeAtOnce?: ((text: string) => Uint8Array) | undefined;
  readonly wall: WallClock;
  readonly version: string;
  readonly pid: number;
  /**
   * The command that starts this very program again: an executable and its first arguments, which those of `svc`
   * follow.
   */
  readonly program: readonly [string, ...string[]];
  /** Set where `svc` has started this process to leave it behind, and waits to hear of it. */
  readonly starter?: ParentRun | undefined;
  /** Whether child processes may write to the streams of this very process. */
  readonly inherits: boolean;
  /** Listens for signals until the returned function is called. */
  onSignal(listener: (name: SignalName) => void): () => void;
  /** Does it after this many milliseconds, if the process is still there then; keeps nothing alive. */
  deadline(ms: number, act: () => void): void;
  /** Ends the process at once, whatever runs in it; with the code of the run, if that has ended, else the signal's. */
  end(name: SignalName): void;
}
