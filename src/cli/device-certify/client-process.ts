import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
// On Windows npm is a batch file, which Node's own spawn does not start.
import spawn from "cross-spawn";
import { runAfterDelay } from "../../base/clock.ts";
import { CommandFailedError } from "../failure.ts";

/** A run of the client that is assessed. */
export interface ClientProcess {
  /** What it has printed on both streams. */
  readonly output: () => string;
  /** Undefined while it runs; 128 + n when a signal ended it. */
  readonly exitCode: () => number | undefined;
  /** Resolves when it has ended; rejects where it cannot be run. */
  readonly ended: Promise<void>;
  /** Signals its whole group. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Of what it prints: a code and an address stand at the beginning. */
const maxOutputCharacters = 1_000_000;
const outputGraceMs = 500;
const hasGroups = process.platform !== "win32";

/** Starts a client in a process group of its own, with nothing to read. */
export function startClient(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): ClientProcess {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: hasGroups });
  let output = "";
  let exitCode: number | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      if (output.length < maxOutputCharacters) output += text;
    });
  }
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "ENOENT" ? "there is no such program" : (cause.code ?? cause.message);
      reject(new CommandFailedError("usage", "cannot_run", `Cannot run ${program}: ${why}`, { cause }));
    });
    child.once("exit", (code, name) => {
      exitCode = code ?? 128 + (name ? constants.signals[name] : 0);
      // Its output is complete at "close", which waits for children of it that hold the pipes.
      runAfterDelay(outputGraceMs, resolve);
    });
    child.once("close", () => resolve());
  });
  ended.catch(() => {});
  return { output: () => output, exitCode: () => exitCode, ended, kill: (signal) => killGroup(child, signal) };
}

function killGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    if (hasGroups) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // The whole group has ended.
  }
}
