import { type ChildProcess, spawn } from "node:child_process";
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import { constants } from "node:os";
import { basename, dirname, join } from "node:path";
import { createTemporaryName } from "../../../../files/atomic-write.ts";
import { formatFsError, ignoreMissing, isFsError } from "../../../../files/disk.ts";
import { isForeignState, makeFolder, resolveRealPath, writeOriginMarker } from "../../../../files/folders.ts";
import type { Context } from "../../../command.ts";
import {
  createUntrustedStateError,
  getOwnStateFile,
  makeStateFolder,
  resolveStateFile,
} from "../../../connection/emulator/run-file.ts";
import { maskSecrets } from "../../../output/ci.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { forwardOutput, parentPidVariable } from "../../../process/host.ts";
import { canPrompt } from "../../../prompt/terminal.ts";

export interface StartReport {
  readonly ready: object;
  readonly banner: readonly string[];
  readonly secrets: readonly (string | undefined)[];
}

export async function showStartReport({ ready, banner, secrets }: StartReport, { host, output }: Context) {
  await maskSecrets(host, secrets);
  await output.printEvent(ready, ...banner);
}

/**
 * Runs the same command line in a detached process and returns when its emulator is ready. If the emulator does not
 * start, prints its messages and returns its exit code. Ends the process if this run is stopped first.
 */
export async function startDetached(
  flags: { readonly file?: string | undefined; readonly ephemeral: boolean; readonly seed?: string | undefined },
  context: Context,
): Promise<{ exit: number } | undefined> {
  const { host, signal } = context;
  const state = flags.ephemeral ? getOwnStateFile(host) : resolveStateFile(host, flags.file);
  const removeStateFolder = await makeStateFolder(state);
  const name = host.env.SVC_RUN_FILE ? basename(host.env.SVC_RUN_FILE) : flags.ephemeral && "ephemeral";
  const path = `${name ? join(dirname(state), name) : await resolveRealPath(state).catch(() => state)}.log`;
  // The log of a running emulator is replaced only if this emulator starts.
  const temporaryPath = createTemporaryName(path);
  const log = await openLog(path, temporaryPath, flags.ephemeral);
  let child: ChildProcess | undefined;
  let isStarted = false;
  try {
    child = startAgain(context, log.fd, flags.seed === "-");
    const end = await waitForFirstMessage(child, context);
    signal.throwIfAborted();
    const startOutput = await readFile(temporaryPath);
    await forwardOutput(host.stderr, startOutput);
    if (typeof end === "number" && end !== 0 && startOutput.byteLength === 0) throw createSilentExitError(end, path);
    if (typeof end === "number") return { exit: end };
    await rename(temporaryPath, path);
    isStarted = true;
    child.disconnect();
    child.unref();
    await showStartReport(end, context);
    return undefined;
  } catch (error) {
    if (child?.connected) child.kill("SIGTERM");
    throw error;
  } finally {
    await log.close();
    await rm(temporaryPath, { force: true });
    if (!isStarted) await removeStateFolder();
  }
}

function createSilentExitError(exit: number, path: string): CommandFailedError {
  const message = `The emulator exited during startup (exit code ${exit}) without an error message.`;
  const hint = `Check that the disk of ${path} has free space, or start it without --detach to see the error.`;
  return new CommandFailedError("failed", "not_started", message, { hint });
}

const minLogSpaceBytes = 64 * 1024;

/** Creates the log with a temporary name, which it keeps until the emulator is ready. */
async function openLog(path: string, temporaryPath: string, ephemeral: boolean): Promise<FileHandle> {
  let log: FileHandle | undefined;
  try {
    await makeFolder(dirname(path));
    // A folder in its place could not be replaced later.
    await (await open(path, "r+").catch(ignoreMissing))?.close();
    log = await open(temporaryPath, "wx", 0o600);
    await log.write(Buffer.alloc(minLogSpaceBytes), 0, minLogSpaceBytes, 0);
    await log.truncate(0);
    return log;
  } catch (cause) {
    await log?.close();
    await rm(temporaryPath, { force: true }).catch(() => {});
    if (!isFsError(cause)) throw cause;
    const message = `Failed to write the log ${path}: ${formatFsError(cause)}.`;
    const spaceHint = cause.code === "ENOSPC" || cause.code === "EDQUOT" ? "Free some space. " : "";
    const placeHint = ephemeral
      ? "The log is in .svc of this folder. Start the emulator in another folder, or without --detach."
      : "The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.";
    throw new CommandFailedError("failed", "unwritable", message, { hint: spaceHint + placeHint, cause });
  }
}

/** The child process receives secrets through the environment, as this process did. */
function startAgain({ host, argv }: Context, log: number, isPiped: boolean): ChildProcess {
  const [executable, ...first] = host.program;
  // Workflow commands would end up in the log, including masked secrets.
  const { GITHUB_ACTIONS: _, ...env } = host.env;
  const child = spawn(executable, [...first, ...argv], {
    cwd: host.cwd,
    env: { ...env, [parentPidVariable]: String(host.pid) },
    stdio: [isPiped ? "pipe" : "ignore", log, log, "ipc"],
    detached: true,
    windowsHide: true,
  });
  if (child.stdin) {
    // If the process has ended, it has already printed the reason.
    child.stdin.on("error", () => {});
    if (host.stdin.isTTY) child.stdin.end();
    else host.stdin.pipe(child.stdin);
  }
  return child;
}

/** Resolves with the ready message of the child, or its exit code. Forwards signals to the child. */
async function waitForFirstMessage(
  child: ChildProcess,
  { host, signal, shutdown }: Context,
): Promise<StartReport | number> {
  const unlink = shutdown.linkChild(child);
  try {
    return await new Promise((resolve, reject) => {
      child.once("message", (message) => (signal.aborted ? child.disconnect() : resolve(message as StartReport)));
      child.once("error", reject);
      child.once("exit", (code, name) => resolve(code ?? 128 + (name ? constants.signals[name] : 0)));
    });
  } finally {
    unlink();
    if (child.stdin) host.stdin.unpipe(child.stdin).pause();
  }
}

/**
 * Requires a trusted state: one created here, one with `--trust-state`, or one that the user confirms at a terminal. A
 * confirmed state counts as created here afterwards. `hint` replaces the way out that all commands have.
 */
export async function requireTrust(
  state: string,
  { isTrusted = false, hint }: { readonly isTrusted?: boolean; readonly hint?: string },
  context: Context,
): Promise<void> {
  if (!(await isForeignState(state))) return;
  const { host, globals, output } = context;
  if (!isTrusted) {
    const untrustedStateError = createUntrustedStateError(state, hint);
    if (!canPrompt(host, globals)) throw untrustedStateError;
    await output.warn(`${untrustedStateError.message} Its state may send webhooks and contain tokens of its author.`);
    const { askYesNo } = await import("../../../prompt/ask.ts");
    if (!(await askYesNo("Use it?", context))) throw untrustedStateError;
  }
  await writeOriginMarker(dirname(state));
}
