import type { Emulator, EmulatorOptions } from "../../../../emulator/index.ts";
import type { Liveness } from "../../../api/emulator/lifecycle.ts";
import { quoteShellWord } from "../../../base/text.ts";
import { getOrigin } from "../../../base/urls.ts";
import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { resolveRealPath } from "../../../files/folders.ts";
import { fingerprintMachine } from "../../../files/machine.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { probeListener } from "../../connection/emulator/emulator-access.ts";
import { makeStateFolder, readRunFile, resolveRunFile } from "../../connection/emulator/run-file.ts";
import { toStartError, toStateError } from "../../connection/emulator/start-errors.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import { findBrowserCommand, isWebAddress, openBrowser } from "../../prompt/programs.ts";

interface OpenOptions {
  /** Path of the ready file, which is written later. It must not be a file of the emulator. */
  readonly readyFile?: string | undefined;
  /** State file next to which the emulator writes its run file. Undefined for an emulator without one. */
  readonly runFileState?: string | undefined;
  /** Receives messages of the running emulator (default: warnings on standard error). */
  readonly log?: ((line: string) => void) | undefined;
}

/** Time for closing a large state. A second signal ends it at once. Supervisors commonly kill after 10 s or more. */
const maxCloseMs = 8_000;

/** Returns a warning for an address that other machines may reach. */
function describeRemoteAccess(options: EmulatorOptions): string | undefined {
  if (options.host === undefined || /^(localhost|127\.|::1|\[::1\])/.test(options.host)) return undefined;
  const { allowedHosts = [], publicUrl, clusterUrls = {} } = options;
  const publicNames = [publicUrl, ...Object.values(clusterUrls)].flatMap((url) => (url ? new URL(url).hostname : []));
  const names = [...allowedHosts, ...new Set(publicNames)];
  const hostNote =
    names.length > 0
      ? `under ${names.join(", ")}`
      : "but requests to a name or address other than localhost get 403. To allow a name: --allowed-host NAME";
  return `warning: listening on ${options.host}: other machines can reach this emulator, ${hostNote}`;
}

/** Starts an emulator that ends with the command. Error messages use command line terms. */
export async function openEmulator(
  options: EmulatorOptions,
  context: Context,
  { readyFile, runFileState, log }: OpenOptions = {},
): Promise<Emulator> {
  const { output, host } = context;
  const { startEmulator } = await import("../../../../emulator/index.ts");
  await requireDifferentFiles({ "--file": options.file, SVC_RUN_FILE: options.runFile, "--ready-file": readyFile });
  const beside = options.file ?? (options.store === undefined ? undefined : runFileState);
  const removeStateFolder = beside === undefined ? undefined : await makeStateFolder(beside);
  if (options.file !== undefined) context.shutdown.extendClose(maxCloseMs);
  try {
    const emulator = await startEmulator({
      otel: host.env,
      ...options,
      log: log ?? ((line: string) => void output.warn(line)),
    });
    context.onEnd(() =>
      emulator.close({ signal: context.forceSignal }).catch((error) => {
        throw toStateError(error);
      }),
    );
    const warning = describeRemoteAccess(options);
    if (warning !== undefined) await (log ? log(warning) : output.warn(warning));
    return emulator;
  } catch (error) {
    await removeStateFolder?.();
    const isPortTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
    const state = options.file ?? runFileState;
    // Several processes can run one store, each with its own run file.
    const isFileTaken = (error as Error).name === "StateLockedError" && options.store === undefined;
    if (state !== undefined && (isPortTaken || isFileTaken)) {
      const running = await createAlreadyRunningError(state, options.file === undefined, error);
      if (running) throw running;
    }
    if (isPortTaken) throw await createPortTakenError(options.port ?? 0, error, context);
    throw toStartError(error as Error, options);
  }
}

const emulatorOpen = defineCommand({
  words: ["emulator", "open"],
  summary: "Open the console of the running emulator in the browser",
  description:
    "The console shows virtual time, webhooks and contracts, and has buttons to change them. The address signs in one browser, once, within a minute. Without a browser, the address is printed.",
  flags: [
    createSwitch("url", "Print the address without opening it"),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["Open the console of this folder's emulator", "emulator open"],
    ["Print the address for a browser on another machine", "emulator open --url"],
  ],
  async run({ flags }, context) {
    const { host, globals, output } = context;
    if (globals.emulator)
      throw new UsageError("--emulator cannot be used with svc emulator open: its emulator stops with the command");
    const client = await context.client("emulator", { file: flags.file });
    // Starting an emulator uses this module, too, and needs no schemas.
    const { makeSessionCode } = await import("../../../api/emulator/console.ts");
    const { code, url: signInUrl, expires_in } = await client.call(makeSessionCode);
    const { baseUrls } = await context.target("emulator", flags.file);
    // The server's response can contain any URL. The browser opens only the requested one.
    const consoleUrl = `${baseUrls.emulator}/_emulator/ui/#code=${encodeURIComponent(code)}`;
    const url = isWebAddress(signInUrl) ? signInUrl : consoleUrl;
    const browser = flags.url ? undefined : findBrowserCommand(host);
    const openError = browser ? await openBrowser(browser, consoleUrl, host) : "No browser found";
    const isOpened = openError === undefined && !flags.url;
    if (output.format !== "table") await output.show({ opened: isOpened, url, expires_in });
    else if (isOpened) await output.note(`Opened ${consoleUrl.replace(/#.*/, "")} in the browser`);
    else await output.print(url);
    if (!isOpened && !flags.url)
      await output.warn(`${openError}. Open this address yourself within ${expires_in} seconds.`);
  },
});

/** Rejects the same file in two roles, also through links, because each role would overwrite the other. */
async function requireDifferentFiles(files: Readonly<Record<string, string | undefined>>): Promise<void> {
  const flagAt = new Map<string, string>();
  for (const [flag, path] of Object.entries(files)) {
    if (path === undefined) continue;
    const real = await resolveRealPath(path);
    const otherFlag = flagAt.get(real);
    if (otherFlag !== undefined)
      throw new UsageError(`${flag} and ${otherFlag} must be different files, got "${path}" twice`);
    flagAt.set(real, flag);
  }
}

/** An emulator in memory has no state that another one could use, so only the run file has to differ. */
async function createAlreadyRunningError(state: string, isInMemory: boolean, cause: unknown) {
  const running = await readRunFile(await resolveRunFile(state));
  if (!running || (await probeListener(running.routerUrl))?.instance_id !== running.instanceId) return undefined;
  const stateName = running.isInMemory ? "state in memory" : `state: ${running.store ?? state}`;
  const message = `An emulator is already running: ${running.routerUrl} (${stateName}).`;
  return new CommandFailedError("failed", "already_running", message, {
    hint: isInMemory
      ? "Use it or stop it with svc emulator stop. To run another one in memory, start it in another folder, or set SVC_RUN_FILE to another file."
      : "Use it, or stop it with svc emulator stop.",
    next: ["emulator", "status", "--file", state],
    cause,
  });
}

async function createPortTakenError(port: number, cause: unknown, { host }: Context): Promise<CommandFailedError> {
  const address = `http://127.0.0.1:${port}`;
  const listener = await probeListener(address);
  const occupant = listener ? "another emulator" : "another program";
  const isOfShell = listener !== undefined && getOrigin(host.env.SVC_EMULATOR_URL) === address;
  const stopHint = isOfShell
    ? " The variables of this shell point to the other emulator. To stop it, run svc emulator stop."
    : listener
      ? ` ${await formatStopInstructions(listener, port)}.`
      : "";
  const message = `Port ${port} or a following port is in use by ${occupant}.`;
  const hint = `Choose another port with --port, or use --port 0 for free ports.${stopHint}`;
  return new CommandFailedError("failed", "port_taken", message, { hint, cause });
}

/** Explains how to end an emulator that neither this folder nor this shell refers to. */
async function formatStopInstructions({ instance_id, process: processInfo }: Liveness, port: number): Promise<string> {
  if (processInfo === undefined || processInfo.machine !== (await fingerprintMachine()))
    return `To find its process ID, run lsof -i :${port} on its machine`;
  const { run_file: runFile, pid } = processInfo;
  const state = runFile?.replace(/\.run$/, "");
  const isCurrent = runFile != null && (await readRunFile(runFile))?.instanceId === instance_id;
  return isCurrent && state !== runFile
    ? `To stop it, run svc emulator stop --file ${quoteShellWord(state!)}`
    : `To stop it, run kill ${pid}`;
}

export const commands: readonly Command[] = [emulatorOpen];
