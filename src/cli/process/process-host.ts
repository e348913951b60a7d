import { runAfterDelay, systemWallClock } from "../../base/clock.ts";
import { signalCodes } from "./exit.ts";
import { CommandFailedError } from "./failure.ts";
import { type Host, type ParentProcess, parentPidVariable, type SignalName, showCursor, waitForFlush } from "./host.ts";

/** Time for output that a pipe has not accepted. A stalled reader cannot delay the exit. */
const maxFlushMs = 50;

/** Node waits for threads at exit. An idle pipe, disk or name server would block it forever. */
const isHeldByThreads = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));

const signalNames: readonly SignalName[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Shells report the same code for a process that a signal ended. */
function killSelf(name: SignalName): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}

/** Most commands do not need the working folder, and it can have been removed. */
function getWorkingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new CommandFailedError("failed", "no_working_folder", "The working folder no longer exists.", {
      hint: "Change to a folder that exists, for example with cd ~, and run the command again.",
      cause,
    });
  }
}

/** Other programs also have channels to their children, and children inherit variables. */
const findParentRun = (): ParentProcess | undefined =>
  process.send === undefined || process.env[parentPidVariable] !== String(process.ppid)
    ? undefined
    : {
        send: (message) =>
          new Promise((resolve, reject) => {
            process.once("disconnect", resolve);
            process.send?.(message, undefined, undefined, (error) => error && reject(error));
          }),
      };

/** Prompts and spinners hide the cursor, which the shell needs while Ctrl-Z suspends the process. */
function suspendSelf(): void {
  if (process.stderr.isTTY && process.env.TERM !== "dumb") void showCursor(process.stderr);
  // The listener is removed instead of sending SIGSTOP, which would also stop a process that no shell can continue.
  process.off("SIGTSTP", suspendSelf);
  process.kill(process.pid, "SIGTSTP");
  runAfterDelay(0, () => process.on("SIGTSTP", suspendSelf));
}

export const createProcessHost = (): Host => ({
  env: process.env,
  get cwd() {
    return getWorkingFolder();
  },
  // The stream is opened on demand, because some kinds of standard input keep the process alive.
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  wall: systemWallClock,
  pid: process.pid,
  program: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
  starter: findParentRun(),
  inherits: true,
  onSignal(listener) {
    // Node resets the signals that its parent ignored, so a process below nohup cannot know that it is one.
    for (const name of signalNames) process.on(name, listener);
    // A nested command line has the same handler.
    if (process.listenerCount("SIGTSTP") === 0) process.on("SIGTSTP", suspendSelf);
    return () => {
      for (const name of signalNames) process.off(name, listener);
    };
  },
  setDeadline: runAfterDelay,
  end(name) {
    process.exitCode ??= signalCodes[name];
    const end = () => (isHeldByThreads() ? killSelf(name) : process.exit());
    runAfterDelay(maxFlushMs, end);
    void Promise.all([process.stdout, process.stderr].map(waitForFlush)).then(end);
  },
});
