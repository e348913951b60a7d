import type { Liveness } from "../../../api/emulator/lifecycle.ts";
import { fingerprintMachine } from "../../../files/machine.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { quoteShellWord } from "../../process/shell-words.ts";
import { withControlClient } from "./emulator-access.ts";
import { defaultPort, explainDistrust, readRunFile } from "./run-file.ts";

/** A local process that does not respond at once is not an emulator of this user. */
const responseTimeoutMs = 2_000;

/**
 * Returns the description of the emulator at that address. Returns undefined if another program or none listens there.
 */
export async function probeListener(url: string): Promise<Liveness | undefined> {
  const { checkLiveness } = await import("../../../api/emulator/lifecycle.ts");
  const once = { retries: 0, timeoutMs: responseTimeoutMs };
  return withControlClient(url, undefined, (client) => client.call(checkLiveness, {}, once)).catch(() => undefined);
}

/** How to end an emulator that neither this folder nor this shell refers to. */
interface StopInstructions {
  /** Path of its run file, which may be deleted; undefined if it has none. */
  readonly runFile: string | undefined;
  /** Whether its run file is deleted, so that no command can find it. */
  readonly isUnreachable: boolean;
  /** A phrase without a full stop: `kill 4711 ends it`. */
  readonly words: string;
}

/** Explains how to end the described emulator at that address. */
export async function findStopInstructions(
  { instance_id, process: reported }: Liveness,
  url: string,
): Promise<StopInstructions> {
  if (reported === undefined || reported.machine !== (await fingerprintMachine())) {
    const words = `To find its process ID, run lsof -i :${new URL(url).port} on its machine`;
    return { runFile: undefined, isUnreachable: false, words };
  }
  const runFile = reported.run_file ?? undefined;
  const isCurrent = runFile !== undefined && (await readRunFile(runFile))?.instanceId === instance_id;
  const state = runFile?.replace(/\.run$/, "");
  const words =
    isCurrent && state !== runFile
      ? `To stop it, run svc emulator stop --file ${quoteShellWord(state!)}`
      : `To stop it, run kill ${reported.pid}`;
  return { runFile, isUnreachable: runFile !== undefined && !isCurrent, words };
}

/**
 * Returns a hint if no run file names an emulator on that state. One may still listen at the default port: its files
 * may have been removed, or it belongs to another folder.
 */
export async function createNoEmulatorError(state: string, runFile: string): Promise<CommandFailedError> {
  const url = `http://127.0.0.1:${defaultPort}`;
  const found = await probeListener(url);
  const way = found && (await findStopInstructions(found, url));
  if (way?.isUnreachable && way.runFile === runFile) {
    const message = `The emulator at ${url} cannot be used, because its files were removed while it ran (state: ${state}).`;
    return new CommandFailedError("failed", "emulator_lost", message, { hint: `${way.words}. Its data is lost.` });
  }
  const distrustReason = await explainDistrust(runFile);
  if (distrustReason !== undefined) {
    const message = `No emulator is running with the state ${state}: the run file is ignored, because ${distrustReason}.`;
    const hint = `If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${runFile}.`;
    return new CommandFailedError("not-found", "no_emulator", message, { hint });
  }
  const other = way ? ` Another emulator listens at ${url}. ${way.words}.` : "";
  return new CommandFailedError("not-found", "no_emulator", `No emulator is running (state: ${state}).`, {
    hint: `Use --file with the state of a running emulator, or set SVC_EMULATOR_URL and SVC_EMULATOR_TOKEN.${other}`,
    next: other === "" ? ["emulator", "start"] : ["emulator", "start", "--port", "0"],
  });
}
