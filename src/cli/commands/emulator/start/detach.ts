import { type ChildProcess, spawn } from "node:child_process";
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { createTemporaryName } from "../../../../files/atomic-write.ts";
import { formatFsError, isFsError } from "../../../../files/disk.ts";
import { resolveRealPath } from "../../../../files/folders.ts";
import { makeFolder } from "../../../../files/make-folder.ts";
import { isForeignState, writeOriginMarker } from "../../../../files/origin-marker.ts";
import type { Context } from "../../../command.ts";
import { createUntrustedStateError, makeStateFolder, stateFile } from "../../../connection/emulator/run-file.ts";
import { maskSecrets } from "../../../output/github-actions.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { type Host, parentPidVariable } from "../../../process/host.ts";
import { forwardOutput } from "../../../process/write.ts";
import { canPrompt } from "../../../prompt/confirm.ts";

/** Messages of a ready emulator: to programs, to people, and to runners that mask secrets in logs. */
export interface StartReport {
  readonly ready: object;
  readonly banner: readonly string[];
  readonly secrets: readonly (string | undefined)[];
}

export async function showStartReport(
  { ready, banner, secrets }: StartReport,
  { host, output }: Context,
): Promise<void> {
  await maskSecrets(host, secrets);
  await output.event(ready, ...banner);
}

interface PlaceFlags {
  readonly file?: string | undefined;
  readonly ephemeral?: boolean | undefined;
}

/**
 * Runs the same command line in a process of its own session, and returns when the emulator there is up. One that does
 * not come up has its own words printed, and its exit code is the result. Ends it when this run is stopped before.
 */
export async function startDetached(
  flags: PlaceFlags & { readonly seed?: string | undefined },
  context: Context,
): Promise<{ exit: number } | undefined> {
  const { host, signal } = context;
  const path = await logOf(flags, host);
  // The log of an emulator that runs already keeps its name unless this one starts.
  const aside = createTemporaryName(path);
  const log = await logAt(path, aside, flags.ephemeral === true);
  let child: ChildProcess | undefined;
  try {
    child = startAgain(context, log.fd, flags.seed === "-");
    const end = await firstWord(child, context);
    signal.throwIfAborted();
    const printed = await readFile(aside);
    await forwardOutput(host.stderr, printed);
    if (typeof end === "number" && end !== 0 && printed.byteLength === 0) throw wordless(end, path);
    if (typeof end === "number") return { exit: end };
    await rename(aside, path);
    child.disconnect();
    child.unref();
    await showStartReport(end, context);
    return undefined;
  } catch (error) {
    if (child?.connected) child.kill("SIGTERM");
    throw error;
  } finally {
    await log.close();
    await rm(aside, { force: true });
  }
}

/** Next to the state; in memory, where the state would be. */
async function logOf({ file, ephemeral }: PlaceFlags, host: Host): Promise<string> {
  const state = stateFile(host, ephemeral ? undefined : file);
  await makeStateFolder(state);
  const path = ephemeral
    ? join(dirname(state), "ephemeral.log")
    : `${await resolveRealPath(state).catch(() => state)}.log`;
  return path;
}

const besideState =
  "The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.";
const besideNothing = "The log is in .svc of this folder. Start the emulator in another folder, or without --detach.";

const wordless = (exit: number, path: string): CommandFailedError =>
  new CommandFailedError(
    "failed",
    "not_started",
    `The emulator exited during startup (exit code ${exit}) without an error message.`,
    {
      hint: `Check that the disk of ${path} has free space, or start it without --detach to see the error.`,
    },
  );

/** Minimum that is needed to report an error. */
const bytesToTry = 64 * 1024;

/**
 * Begins the log under its temporary name until the emulator is ready. Creates the folder, or reports why it cannot be
 * created or written.
 */
async function logAt(path: string, aside: string, ephemeral: boolean): Promise<FileHandle> {
  let log: FileHandle | undefined;
  try {
    await makeFolder(dirname(path));
    log = await open(aside, "wx", 0o600);
    await log.write(Buffer.alloc(bytesToTry), 0, bytesToTry, 0);
    await log.truncate(0);
    return log;
  } catch (cause) {
    await log?.close();
    await rm(aside, { force: true }).catch(() => {});
    if (!isFsError(cause)) throw cause;
    const message = `Failed to write the log ${path}: ${formatFsError(cause)}.`;
    const hint = isRoomLacking(cause) ? "Free some space. " : "";
    throw new CommandFailedError("failed", "unwritable", message, {
      hint: hint + (ephemeral ? besideNothing : besideState),
      cause,
    });
  }
}

const isRoomLacking = ({ code }: NodeJS.ErrnoException): boolean => code === "ENOSPC" || code === "EDQUOT";

/** Secrets are passed to the process as this one got them, by the environment. */
function startAgain({ host, argv }: Context, log: number, isPiped: boolean): ChildProcess {
  const [executable, ...first] = host.program;
  // Its workflow commands would end in the log, masked secrets among them.
  const { GITHUB_ACTIONS: _, ...env } = host.env;
  const child = spawn(executable, [...first, ...argv], {
    cwd: host.cwd,
    env: { ...env, [parentPidVariable]: String(host.pid) },
    stdio: [isPiped ? "pipe" : "ignore", log, log, "ipc"],
    detached: true,
    windowsHide: true,
  });
  if (child.stdin) {
    // A process that has ended has printed the reason.
    child.stdin.on("error", () => {});
    if (host.stdin.isTTY) child.stdin.end();
    else host.stdin.pipe(child.stdin);
  }
  return child;
}

/** Its ready message, or its exit code as shells have it. Signals to us are forwarded to it, and it is awaited. */
async function firstWord(
  child: ChildProcess,
  { host, signal, cut, atForcedEnd }: Context,
): Promise<StartReport | number> {
  const pass = () => child.kill("SIGTERM");
  const kill = () => child.kill("SIGKILL");
  if (signal.aborted) pass();
  signal.addEventListener("abort", pass, { once: true });
  cut.addEventListener("abort", kill, { once: true });
  atForcedEnd(() => child.connected && kill());
  try {
    return await new Promise((resolve, reject) => {
      child.once("message", (message) => (signal.aborted ? child.disconnect() : resolve(message as StartReport)));
      child.once("error", reject);
      child.once("exit", (code, name) => resolve(code ?? 128 + (name ? constants.signals[name] : 0)));
    });
  } finally {
    signal.removeEventListener("abort", pass);
    cut.removeEventListener("abort", kill);
    if (child.stdin) host.stdin.unpipe(child.stdin).pause();
  }
}

/**
 * Lets a state be used that was found in this folder: one that was made here, one that `--trust-state` says it of, or one
 * that a person at a terminal says it of. From then on it counts as made here.
 */
export async function requireTrust(state: string, isTrusted: boolean, context: Context): Promise<void> {
  if (!(await isForeignState(state))) return;
  const { host, globals, output, signal } = context;
  if (!isTrusted) {
    const refused = createUntrustedStateError(state, "Use it with --trust-state, or choose another state with --file.");
    if (!canPrompt(host, globals)) throw refused;
    await output.warn(`${refused.message} Its state may send webhooks and contain tokens of its author.`);
    const { askYesNo } = await import("../../../prompt/ask.ts");
    if (!(await askYesNo("Use it?", host, signal))) throw refused;
  }
  await writeOriginMarker(dirname(state));
}
