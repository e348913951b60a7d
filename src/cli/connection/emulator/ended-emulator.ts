import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { lookupTable } from "../../../base/object.ts";
import { NetworkError, ServiceError } from "../../../client/errors.ts";
import { emulatorOptions, type OptionDeclaration } from "../../../derive/emulator-options.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import type { Context } from "../../command.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import { isTokenRejected } from "../../process/service-message.ts";
import { formatCommandLine } from "../../process/shell-words.ts";
import { findLocalEmulator, findStartCommand, isConnectionRefused } from "./emulator-access.ts";
import { findPathAbove } from "./run-file.ts";

type EndedEmulator = NonNullable<Awaited<ReturnType<typeof findEndedEmulator>>>;

const addressVariables = {
  services: ["SVC_BASE_URL", "SVC_ROUTER_URL", "SVC_CONTRACTS_URL"],
  control: ["SVC_EMULATOR_URL"],
} as const;

/**
 * Checks whether the environment points to a local emulator that has ended. In that case, this folder's emulator has
 * another address, or there is none and nothing listens at the address in the environment. Returns undefined also if
 * another setting than the environment selects the target.
 */
async function findEndedEmulator({ globals, host }: Pick<Context, "globals" | "host">, target: "services" | "control") {
  if (hasTargetFlag({ globals })) return undefined;
  const variable = addressVariables[target].find((name) => host.env[name]);
  const address = variable && host.env[variable];
  if (!address || !isOnThisMachine(address)) return undefined;
  const running = await findLocalEmulator(host).catch(() => undefined);
  const { SVC_EMULATOR_URL: control } = host.env;
  const isControlGone = async () =>
    control && isOnThisMachine(control) && (await isConnectionRefused(new URL(control).origin));
  if (running === undefined && !(await isControlGone())) return undefined;
  if (!(await isConnectionRefused(new URL(address).origin))) return undefined;
  return { variable, running };
}

const hasTargetFlag = ({ globals }: Pick<Context, "globals">): boolean =>
  globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined;

async function suggestEval({ variable, running }: EndedEmulator, { host }: Pick<Context, "host">): Promise<string> {
  const message = `${variable} points to an emulator that has ended`;
  if (running === undefined) {
    const start = formatCommandLine(await findStartCommand());
    return `${message}. To start one: ${start}, then eval "$(svc emulator env)" again.`;
  }
  const path = findPathAbove(host.cwd, running.state);
  const location = path === undefined ? "of this folder" : `with the state ${path}`;
  return `${message}. The emulator ${location} is at ${running.routerUrl}. To use it: eval "$(svc emulator env)" again.`;
}

/** Suggests another emulator if a command could not reach one that has ended. Undefined for another cause. */
export async function findEndedHint(error: unknown, context: Context): Promise<string | undefined> {
  if (!(error instanceof NetworkError) || error.code !== "ECONNREFUSED") return undefined;
  const endedEmulator = (await findEndedEmulator(context, "services")) ?? (await findEndedEmulator(context, "control"));
  return endedEmulator && (await suggestEval(endedEmulator, context));
}

/**
 * Suggests the next step if a local emulator rejects the credentials of the environment, because another emulator can
 * use its address by now. Returns undefined for another cause.
 */
export function findRejectionHint(error: unknown, context: Context): string | undefined {
  const address = context.host.env.SVC_EMULATOR_URL;
  // The variables of an emulator contain no access token.
  const isRejected = error instanceof ServiceError && error.status === 401 && !isTokenRejected(error);
  if (!isRejected || hasTargetFlag(context) || !address || !isOnThisMachine(address)) return undefined;
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
  const endedEmulator = await findEndedEmulator(context, "control");
  if (endedEmulator?.running === undefined) return undefined;
  const path = isStopping ? findPathAbove(context.host.cwd, endedEmulator.running.state) : undefined;
  if (path !== undefined) {
    const message = `${endedEmulator.variable} points to an emulator that has already ended.`;
    const hint = `Another emulator is running (state: ${path}).`;
    throw new CommandFailedError("not-found", "no_emulator", message, {
      hint,
      next: ["emulator", "stop", "--file", path],
    });
  }
  await context.output.warn(await suggestEval(endedEmulator, context));
  return endedEmulator.running.state;
}

/** Rewords an emulator's messages about options for the command line: `the option file` becomes `--file`. */
const toFlagTerms = ({ message }: Error): string => message.replace(/\bthe option ([a-z]+)\b/g, "--$1");

const errorCodes = lookupTable<string>({
  StateLockedError: "state_in_use",
  StateFormatError: "state_refused",
  StateAccessError: "state_unusable",
  NotALockFileError: "not_a_run_file",
  StoreFailedError: "state_not_kept",
});

/** `repairable` marks a rejected state. `kind` gives the reason why a state is inaccessible. */
type StateError = NodeJS.ErrnoException & {
  readonly repairable?: boolean;
  readonly kind?: "forbidden" | "temporary" | undefined;
  readonly port?: number;
  /** Of an InvalidOptionsError. */
  readonly problems?: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
};

/** Names the invalid options as the command line does: `--public-url eu-1 must be a URL without a path`. */
const describeProblems = ({ message, problems = [] }: StateError): string =>
  problems.map(({ path, message }) => `${formatOptionName(path)}${message}`).join("; ") || message;

const declarations = lookupTable<OptionDeclaration>({ ...emulatorOptions, clusterUrls: emulatorOptions.publicUrl });

/** Positions in a list are omitted, because messages quote the item. */
function formatOptionName([name, part]: readonly PropertyKey[]): string {
  const { flags, variable } = declarations[String(name)] ?? {};
  const flag = flags && `--${flags[0]!.flag}`;
  return [flag ?? variable ?? String(name), ...(typeof part === "string" ? [part] : [])].join(" ");
}

/** Explains an error of an emulator about its state in command line terms. Returns other errors unchanged. */
export function toStateError(
  error: StateError,
  options: { readonly hint?: string | undefined; readonly next?: readonly string[] } = {},
): unknown {
  const code = errorCodes[error.name];
  if (code === undefined) return error;
  const message = error.name === "StoreFailedError" ? `${error.message}.` : toFlagTerms(error);
  return new CommandFailedError(error.kind ?? "failed", code, message, { ...options, cause: error });
}

export function toStartError(error: StateError, { file, store, host, port }: EmulatorOptions): unknown {
  if (error.name === "StateLockedError") {
    // Without a file of the state, the hint contains only paths that lead to it.
    const process =
      store === undefined
        ? "another one in memory in the background"
        : "a second process with the same store and folder";
    const hasFile = store === undefined && typeof file === "string";
    return toStateError(error, hasFile ? {} : { hint: `To run ${process}, set SVC_RUN_FILE to another file.` });
  }
  if (error.name === "CandidacyAbortedError") {
    const message = "The emulator was stopped before it became the leader of its store.";
    return new CommandFailedError("failed", "stopped", message, { cause: error });
  }
  if (error.name === "InvalidOptionsError") return new UsageError(describeProblems(error), { cause: error });
  if (error.syscall === "getaddrinfo" || error.code === "EADDRNOTAVAIL")
    return new UsageError(`--host must be an address of this machine, got "${host}" (${error.code})`, { cause: error });
  if (error.syscall === "listen" && error.code === "EACCES") {
    const hint = "Choose a port above 1023 with --port, or use --port 0 for free ports.";
    return new UsageError(`This user cannot listen on port ${port ?? error.port} (EACCES)`, { hint, cause: error });
  }
  const isRepairable = error.repairable === true && typeof file === "string";
  return toStateError(error, isRepairable ? { next: ["emulator", "repair", file] } : {});
}
