import type { EmulatorOptions } from "../../../emulator/index.ts";
import { CommandFailed, UsageError } from "../failure.ts";

/** What an emulator tells programs of their options, as the flags that those are here: `the option file` is `--file`. */
export const inFlags = ({ message }: Error): string =>
  message.replace(/\bthe option ([a-z]+)\b/g, (_, name: string) => `--${name}`);

/** Why an emulator has ended by itself, in the words of the command line. */
export function endedBy(error: Error): unknown {
  if (error.name === "StoreFailed") {
    return new CommandFailed("failed", "state_not_kept", `${error.message}.`, { cause: error });
  }
  if (error.name !== "StateRefused") return error;
  return new CommandFailed("failed", "state_refused", inFlags(error), { cause: error });
}

/** What an emulator fails with at its start. `repairable`: of a state that is refused; `trouble`: of one that is not usable. */
type StartTrouble = NodeJS.ErrnoException & {
  readonly repairable?: boolean;
  readonly trouble?: "forbidden" | "temporary" | undefined;
  readonly port?: number;
};

/** Why an emulator did not start, in the words of the command line. */
export function notStarted(error: StartTrouble, { file, store, host, port }: EmulatorOptions): unknown {
  if (error.name === "StateInUse") {
    // It has no file of its own, so that only what would lead to it is taken.
    const hint = {
      hint:
        store === undefined
          ? "To run one in memory in the background next to it, set SVC_RUN_FILE to another file."
          : "To run a second one of the same store and folder, set SVC_RUN_FILE to another file.",
    };
    const hasFile = store === undefined && typeof file === "string";
    return new CommandFailed("failed", "state_in_use", inFlags(error), { ...(!hasFile && hint), cause: error });
  }
  if (error.name === "NoLockFile")
    return new CommandFailed("failed", "not_a_run_file", error.message, { cause: error });
  if (error.name === "StateUnusable") {
    return new CommandFailed(error.trouble ?? "failed", "state_unusable", inFlags(error), { cause: error });
  }
  if (error.name === "StateRefused") {
    return new CommandFailed("failed", "state_refused", inFlags(error), {
      ...(error.repairable && file !== undefined && { next: ["emulator", "repair", file] }),
      cause: error,
    });
  }
  if (error.name === "NoLongerWanted")
    return new CommandFailed("failed", "stopped", "It was stopped before it led its store.", { cause: error });
  if (error.name === "InvalidOptions") return new UsageError(error.message, { cause: error });
  if (error.syscall === "getaddrinfo" || error.code === "EADDRNOTAVAIL")
    return new UsageError(`--host: ${host} is no address of this machine (${error.code})`, { cause: error });
  if (error.syscall === "listen" && error.code === "EACCES") {
    const hint = "Choose one above 1023 with --port, or --port 0 for free ones.";
    return new UsageError(`This user may not listen on port ${port ?? error.port} (EACCES)`, { hint, cause: error });
  }
  return error;
}
