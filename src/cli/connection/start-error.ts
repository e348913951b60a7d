import type { EmulatorOptions } from "../../../emulator/index.ts";
import { CommandFailedError, UsageError } from "../failure.ts";

/** What an emulator tells programs of their options, as the flags that those are here: `the option file` is `--file`. */
export const toFlagTerms = ({ message }: Error): string =>
  message.replace(/\bthe option ([a-z]+)\b/g, (_, name: string) => `--${name}`);

/** Why an emulator has ended by itself, in the words of the command line. */
export function toEndedError(error: Error): unknown {
  if (error.name === "StoreFailedError") {
    return new CommandFailedError("failed", "state_not_kept", `${error.message}.`, { cause: error });
  }
  if (error.name !== "StateFormatError") return error;
  return new CommandFailedError("failed", "state_refused", toFlagTerms(error), { cause: error });
}

/** What an emulator fails with at its start. `repairable`: of a state that is refused; `trouble`: of one that is not usable. */
type StartTrouble = NodeJS.ErrnoException & {
  readonly repairable?: boolean;
  readonly trouble?: "forbidden" | "temporary" | undefined;
  readonly port?: number;
};

/** Why an emulator did not start, in the words of the command line. */
export function toStartError(error: StartTrouble, { file, store, host, port }: EmulatorOptions): unknown {
  if (error.name === "StateLockedError") {
    // It has no file of its own, so that only what would lead to it is taken.
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
    return new CommandFailedError(error.trouble ?? "failed", "state_unusable", toFlagTerms(error), { cause: error });
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
