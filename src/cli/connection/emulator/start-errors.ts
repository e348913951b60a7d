import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { lookupTable } from "../../../base/object.ts";
import { emulatorOptions, type OptionDeclaration } from "../../../derive/emulator-options.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";

/**
 * Rewords an emulator's messages about options for the command line: `the option file` becomes `--file`. Only the
 * schema has no flag.
 */
const toFlagTerms = ({ message }: Error): string =>
  message.replace(/\bthe option ([a-z]+)\b/g, (_, name: string) =>
    name === "schema" ? "SVC_STORE_SCHEMA" : `--${name}`,
  );

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
  readonly address?: string;
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
  const { flag, variable } = declarations[String(name)] ?? {};
  return [flag ? `--${flag.flag}` : (variable ?? String(name)), ...(typeof part === "string" ? [part] : [])].join(" ");
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
  if (error.code === "EADDRNOTAVAIL" && host === undefined) {
    const hint = "Bring up its loopback interface (ip link set lo up), and try again.";
    const message = `This machine has no address ${error.address} (EADDRNOTAVAIL).`;
    return new CommandFailedError("failed", "no_loopback_address", message, { hint, cause: error });
  }
  if (error.syscall === "getaddrinfo" || error.code === "EADDRNOTAVAIL")
    return new UsageError(`--host must be an address of this machine, got "${host}" (${error.code})`, { cause: error });
  if (error.syscall === "listen" && error.code === "EACCES") {
    const hint = "Choose a port above 1023 with --port, or use --port 0 for free ports.";
    return new UsageError(`This user cannot listen on port ${port ?? error.port} (EACCES)`, { hint, cause: error });
  }
  const isRepairable = error.repairable === true && typeof file === "string";
  return toStateError(error, isRepairable ? { next: ["emulator", "repair", file] } : {});
}
