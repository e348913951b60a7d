import type { ChildProcess } from "node:child_process";
// On Windows, npm is a batch file, which spawn of Node.js does not start.
import spawn from "cross-spawn";
import type { WallClock } from "../../../base/clock.ts";
import { withTimeout } from "../../../base/timing.ts";

interface GroupOptions {
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Default: `pipe`. */
  readonly stderr?: "pipe" | "ignore";
}

/** Whether a child process can have its own process group. */
const hasProcessGroups = process.platform !== "win32";

/** Starts a program, or a command line in a shell, in its own process group and with empty standard input. */
export function startProcessGroup(
  command: string | readonly [string, ...string[]],
  { cwd, env, stderr = "pipe" }: GroupOptions,
): ChildProcess {
  const [program, ...args] = typeof command === "string" ? [command] : command;
  const shell = typeof command === "string";
  return spawn(program, args, { cwd, env, shell, stdio: ["ignore", "pipe", stderr], detached: hasProcessGroups });
}

/** Ends a process and its children. `exited` resolves when the process has ended. The signal shortens the wait. */
export async function endProcessGroup(
  child: ChildProcess,
  exited: Promise<unknown>,
  { wall, graceMs, signal }: { readonly wall: WallClock; readonly graceMs: number; readonly signal?: AbortSignal },
): Promise<void> {
  killProcessGroup(child, "SIGTERM");
  await withTimeout(wall, graceMs, exited, signal);
  // Child processes can outlive the first one.
  killProcessGroup(child, "SIGKILL");
}

/** Ignores processes that have already ended. */
export function killProcessGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    if (hasProcessGroups) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // All processes of the group have ended.
  }
}
