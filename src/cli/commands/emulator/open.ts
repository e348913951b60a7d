import type { Emulator, EmulatorOptions } from "../../../../emulator/index.ts";
import type { Context } from "../../command.ts";
import { makeStateFolder } from "../../connection/state-folder.ts";
import { CommandFailed, UsageError } from "../../failure.ts";
import { requireDifferentFiles } from "./different-files.ts";
import { portTaken } from "./port-taken.ts";

interface Surroundings {
  /** Is written later, and may not be one of the emulator's own files. */
  readonly readyFile?: string | undefined;
  /** The state beside which the emulator tells of itself; undefined where it does not. */
  readonly toldAt?: string | undefined;
  /** Takes what the emulator has to say while it runs; left out: warnings on standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Starts an emulator that ends with the command; its failures in the words of the command line. */
export async function openEmulator(
  options: EmulatorOptions,
  context: Context,
  { readyFile, toldAt, log }: Surroundings = {},
): Promise<Emulator> {
  const { output, host } = context;
  if (options.host !== undefined && !/^(localhost|127\.|::1|\[::1\])/.test(options.host)) {
    const open = `listening on ${options.host}: others can reach this emulator`;
    if (log) log(open);
    else await output.warn(`warning: ${open}`);
  }
  const { startEmulator } = await import("../../../../emulator/index.ts");
  await requireDifferentFiles({ "--file": options.file, "--run-file": options.runFile, "--ready-file": readyFile });
  const beside = options.file ?? (options.store === undefined ? undefined : toldAt);
  if (beside !== undefined) await makeStateFolder(beside);
  try {
    const emulator = await startEmulator({
      otel: host.env,
      ...options,
      log: log ?? ((line) => void output.warn(line)),
    });
    context.atEnd(() =>
      emulator.close({ hurry: context.cut }).catch((error) => {
        throw endedBy(error);
      }),
    );
    return emulator;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") {
      throw await portTaken({ port: options.port, state: toldAt, cause: error }, context);
    }
    throw translated(error as StartTrouble, options);
  }
}

/** Why an emulator has ended by itself, in the words of the command line. */
export function endedBy(error: Error): unknown {
  if (error.name !== "StateRefused") return error;
  return new CommandFailed("failed", "state_refused", error.message, { cause: error });
}

/** What an emulator fails with at its start. `repairable`: of a state that is refused. */
type StartTrouble = NodeJS.ErrnoException & { readonly repairable?: boolean };

function translated(error: StartTrouble, { file, store }: EmulatorOptions): unknown {
  if (error.name === "StateInUse") {
    const hint =
      store === undefined
        ? {}
        : { hint: "A second one of the same store and folder needs a place of its own: --run-file." };
    return new CommandFailed("failed", "state_in_use", error.message, { ...hint, cause: error });
  }
  if (error.name === "NoLockFile")
    return new CommandFailed("failed", "not_a_run_file", error.message, { cause: error });
  if (error.name === "StateUnusable") {
    return new CommandFailed("failed", "state_unusable", error.message, { cause: error });
  }
  if (error.name === "StateRefused") {
    return new CommandFailed("failed", "state_refused", error.message, {
      ...(error.repairable && file !== undefined && { next: ["emulator", "repair", file] }),
      cause: error,
    });
  }
  if (error.name === "NoLongerWanted")
    return new CommandFailed("failed", "stopped", "It was stopped before it led its store.", { cause: error });
  if (error.name === "InvalidOptions") return new UsageError(error.message, { cause: error });
  if (error.code === "EACCES" || error.code === "EADDRNOTAVAIL")
    return new UsageError(`Cannot start: ${error.message}`, { cause: error });
  return error;
}
