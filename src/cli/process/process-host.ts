import { fstatSync, readFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { runAfterDelay, systemWallClock } from "../../base/clock.ts";
import { signalCodes } from "./exit.ts";
import { CommandFailedError } from "./failure.ts";
import { type Host, type ParentRun, parentPidVariable, type SignalName } from "./host.ts";
import { waitForFlush } from "./write.ts";

/** For what a pipe has not taken yet; a reader that does not read cannot hold up the end. */
const flushMs = 50;

/**
 * Files and names of hosts are read by threads, for which Node waits at its exit: an idle pipe, a disk or a name server
 * that is gone would block it forever.
 */
const isHeldByThreads = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));

/** Shells tell the same code of a process that a signal ended. */
function killSelf(name: SignalName): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}

/**
 * Whether the parent process made this one ignore that its terminal goes away, as nohup does: a listener would undo
 * that. If the system does not show that, the streams do: nohup leaves none of them on a terminal.
 */
function ignoresHangUp(): boolean {
  try {
    const [, ignored] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1")) ?? [];
    if (ignored !== undefined) return BigInt(`0x${ignored}`) % 2n === 1n;
  } catch {
    // Not on this system.
  }
  return ![0, 1, 2].some((fd) => isatty(fd));
}

/** Most commands do not need it, and it may have been removed. */
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

const standardOutput = 1;

/** The module that tells it for sure takes as long to load as a page of help to lay out. */
function mayBeTerminal(file: number): boolean {
  try {
    return fstatSync(file).isCharacterDevice();
  } catch {
    return true;
  }
}

function writeAtOnce(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(standardOutput, bytes, written);
  } catch {
    // A later write through the stream gets the error.
  }
  return bytes.subarray(written);
}

/** Programs of others have channels to their children too, and children inherit variables. */
const findParentRun = (): ParentRun | undefined =>
  process.send === undefined || process.env[parentPidVariable] !== String(process.ppid)
    ? undefined
    : {
        tell: (message) =>
          new Promise((resolve, reject) => {
            process.once("disconnect", resolve);
            process.send?.(message, undefined, undefined, (error) => error && reject(error));
          }),
      };

/** The host of a real process. Called once, by `bin/svc.js`. */
export const createProcessHost = (version: string): Host => ({
  env: process.env,
  get cwd() {
    return getWorkingFolder();
  },
  // Opened late: touching standard input keeps some kinds of it alive.
  get stdin() {
    return process.stdin;
  },
  // As late: a page of help needs no stream where it can be written at once.
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  writeAtOnce: mayBeTerminal(standardOutput) ? undefined : writeAtOnce,
  wall: systemWallClock,
  version,
  pid: process.pid,
  program: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
  starter: findParentRun(),
  inherits: true,
  onSignal(listener) {
    const names: readonly SignalName[] = ["SIGINT", "SIGTERM", ...(ignoresHangUp() ? [] : (["SIGHUP"] as const))];
    for (const name of names) process.on(name, listener);
    return () => {
      for (const name of names) process.off(name, listener);
    };
  },
  deadline: runAfterDelay,
  end(name) {
    process.exitCode ??= signalCodes[name];
    const end = () => (isHeldByThreads() ? killSelf(name) : process.exit());
    runAfterDelay(flushMs, end);
    void Promise.all([process.stdout, process.stderr].map(waitForFlush)).then(end);
  },
});
