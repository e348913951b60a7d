import type { Readable, Writable } from "node:stream";
import type { Wall } from "../base/clock.ts";

export type InputStream = Readable & { readonly isTTY?: boolean };
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What the world outside gives to one run of the command line. `bin/svc.js` builds it from `process`; tests from memory. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly wall: Wall;
  readonly version: string;
  readonly pid: number;
  /** Whether child processes may write to the streams of this very process. */
  readonly inherits: boolean;
  /** Listens for signals until the returned function is called. */
  onSignal(listener: (name: "SIGINT" | "SIGTERM") => void): () => void;
  /** Does it after so many milliseconds, if the process is still there then; keeps nothing alive. */
  deadline(ms: number, act: () => void): void;
  /** Ends the process at once, whatever runs in it; with the code of the run, where that has ended, else the signal's. */
  end(name: "SIGINT" | "SIGTERM"): void;
}
