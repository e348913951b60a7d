import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { NetworkError, ServiceError } from "../../../client/errors.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import type { Context } from "../../command.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import { findLocalEmulator, isConnectionRefused, type LocalEmulator } from "./emulator-access.ts";
import { findPathAbove } from "./run-file.ts";

/** Result for a shell whose variables point to an emulator that has ended. */
export interface EndedEmulator {
  readonly variable: string;
  /** Emulator that runs in this folder. Undefined if there is none. */
  readonly running: LocalEmulator | undefined;
}

const addressVariables = {
  services: ["SVC_BASE_URL", "SVC_ROUTER_URL", "SVC_CONTRACTS_URL"],
  control: ["SVC_EMULATOR_URL"],
} as const;

/**
 * Checks whether the environment points to a local emulator that has ended. In that case, this folder's emulator has
 * another address, or there is none and nothing listens at the address in the environment. Returns undefined also if
 * another setting than the environment selects the target.
 */
export async function findEndedEmulator(
  { globals, host }: Pick<Context, "globals" | "host">,
  of: "services" | "control",
): Promise<EndedEmulator | undefined> {
  if (globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined) return undefined;
  const variable = addressVariables[of].find((name) => host.env[name]);
  const address = variable && host.env[variable];
  if (!address) return undefined;
  if (!isOnThisMachine(address)) return undefined;
  const running = await findLocalEmulator(host).catch(() => undefined);
  const { SVC_EMULATOR_URL: control } = host.env;
  if (
    running === undefined &&
    !(control && isOnThisMachine(control) && (await isConnectionRefused(new URL(control).origin)))
  )
    return undefined;
  if (!(await isConnectionRefused(new URL(address).origin))) return undefined;
  return { variable, running };
}

function formatEvalCommand({ variable, running }: EndedEmulator, { host }: Pick<Context, "host">): string {
  const ended = `${variable} points to an emulator that has ended`;
  if (running === undefined)
    return `${ended}. To start one: svc emulator start --detach, then eval "$(svc emulator env)" again.`;
  const path = findPathAbove(host.cwd, running.state);
  const location = path === undefined ? "of this folder" : `with the state ${path}`;
  return `${ended}. The emulator ${location} is at ${running.routerUrl}. To use it: eval "$(svc emulator env)" again.`;
}

/** Finds the ended emulator after a command could not reach its service. Returns undefined for another cause. */
export async function findEndedHint(error: unknown, context: Context): Promise<string | undefined> {
  if (!(error instanceof NetworkError) || error.code !== "ECONNREFUSED") return undefined;
  const ended = (await findEndedEmulator(context, "services")) ?? (await findEndedEmulator(context, "control"));
  return ended && formatEvalCommand(ended, context);
}

/**
 * Suggests the next step if a local emulator rejects the credentials in the environment, because another emulator can
 * use that address by now. Returns undefined if another setting than the environment selects the target.
 */
export async function findRejectionHint(error: unknown, { globals, host }: Context): Promise<string | undefined> {
  if (!(error instanceof ServiceError) || error.status !== 401) return undefined;
  if (globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined) return undefined;
  const { SVC_EMULATOR_URL: address } = host.env;
  if (!address || !isOnThisMachine(address)) return undefined;
  return `The variables of this shell may belong to a previous emulator at this address. Run eval "$(svc emulator env)" again in the folder of the running one.`;
}

/**
 * Selects the state that is shown or stopped by default. If the environment's emulator has ended, it is the state of
 * this folder. The emulator of a parent folder can belong to another user and is not stopped instead.
 */
export async function resolveEndedState(
  file: string | undefined,
  context: Context,
  { isStopping = false }: { readonly isStopping?: boolean } = {},
): Promise<string | undefined> {
  if (file !== undefined) return file;
  const ended = await findEndedEmulator(context, "control");
  if (ended?.running === undefined) return undefined;
  const path = isStopping ? findPathAbove(context.host.cwd, ended.running.state) : undefined;
  if (path !== undefined) {
    const message = `${ended.variable} points to an emulator that has already ended.`;
    const hint = `Another emulator is running (state: ${path}).`;
    throw new CommandFailedError("not-found", "no_emulator", message, {
      hint,
      next: ["emulator", "stop", "--file", path],
    });
  }
  await context.output.warn(formatEvalCommand(ended, context));
  return ended.running.state;
}

/** Rewords an emulator's messages about options for the command line: `the option file` becomes `--file`. */
export const toFlagTerms = ({ message }: Error): string =>
  message.replace(/\bthe option ([a-z]+)\b/g, (_, name: string) => `--${name}`);

/** Explains in command line terms why an emulator ended without a request. */
export function toEndedError(error: Error): unknown {
  if (error.name === "StoreFailedError") {
    return new CommandFailedError("failed", "state_not_kept", `${error.message}.`, { cause: error });
  }
  if (error.name !== "StateFormatError") return error;
  return new CommandFailedError("failed", "state_refused", toFlagTerms(error), { cause: error });
}

/**
 * Failure at the start of an emulator. `repairable` marks a rejected state. `kind` gives the reason why a state is
 * inaccessible.
 */
type StartFailure = NodeJS.ErrnoException & {
  readonly repairable?: boolean;
  readonly kind?: "forbidden" | "temporary" | undefined;
  readonly port?: number;
};

/** Explains in command line terms why an emulator did not start. */
export function toStartError(error: StartFailure, { file, store, host, port }: EmulatorOptions): unknown {
  if (error.name === "StateLockedError") {
    // The state has no file, so the hint contains only paths that lead to it.
    const hint = {
      hint:
        store === undefined
          ? "To run another one in memory in the background, set SVC_RUN_FILE to another file."
          : "To run a second process with the same store and folder, set SVC_RUN_FILE to another file.",
    };
    const hasFile = store === undefined && typeof file === "string";
    return new CommandFailedError("failed", "state_in_use", toFlagTerms(error), {
      ...(!hasFile && hint),
      cause: error,
    });
  }
  if (error.name === "NotALockFileError")
    return new CommandFailedError("failed", "not_a_run_file", error.message, { cause: error });
  if (error.name === "StateAccessError") {
    return new CommandFailedError(error.kind ?? "failed", "state_unusable", toFlagTerms(error), { cause: error });
  }
  if (error.name === "StateFormatError") {
    return new CommandFailedError("failed", "state_refused", toFlagTerms(error), {
      ...(error.repairable && file !== undefined && { next: ["emulator", "repair", file] }),
      cause: error,
    });
  }
  if (error.name === "CandidacyAbortedError")
    return new CommandFailedError(
      "failed",
      "stopped",
      "The emulator was stopped before it became the leader of its store.",
      { cause: error },
    );
  if (error.name === "InvalidOptionsError") return new UsageError(error.message, { cause: error });
  if (error.syscall === "getaddrinfo" || error.code === "EADDRNOTAVAIL")
    return new UsageError(`--host must be an address of this machine, got "${host}" (${error.code})`, { cause: error });
  if (error.syscall === "listen" && error.code === "EACCES") {
    const hint = "Choose a port above 1023 with --port, or use --port 0 for free ports.";
    return new UsageError(`This user cannot listen on port ${port ?? error.port} (EACCES)`, { hint, cause: error });
  }
  return error;
}
