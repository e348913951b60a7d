import type { CliEmulator } from "./cli-emulator.ts";
import type { RunOptions, RunResult } from "./run-cli.ts";

/** A running command that ends only when it is stopped. */
export interface RunningCommand {
  /** Resolves when standard output contains the text. */
  saw(text: string): Promise<void>;
  /** Returns the documents printed so far, one per line. */
  events(): Record<string, unknown>[];
  /** Returns standard error so far. */
  stderr(): string;
  signal(name: "SIGINT" | "SIGTERM"): void;
  /** Ends a command that the test did not end. Resolves when the command has ended. */
  stop(): Promise<void>;
  readonly completion: Promise<RunResult>;
}

/** Time limit in ms for expected output. Afterwards the command is ended and the test fails with its output. */
const patienceMs = 60_000;

/** Starts `svc` in parallel to the test. */
export function startCommand(
  svc: CliEmulator["svc"],
  argv: readonly string[],
  options: Pick<RunOptions, "env" | "cwd" | "wall"> = {},
): RunningCommand {
  let stdout = "";
  let look = () => {};
  let run: Parameters<NonNullable<RunOptions["onStart"]>>[0] | undefined;
  let isSignaled = false;
  const signal = (name: "SIGINT" | "SIGTERM") => {
    isSignaled = true;
    run?.signal(name);
  };
  const completion = svc(argv, {
    ...options,
    onStart: (started) => {
      run = started;
    },
    onOutput: (all) => {
      stdout = all;
      look();
    },
  });
  return {
    completion,
    stderr: () => run?.stderr() ?? "",
    signal,
    async stop() {
      // A second signal would force the end.
      if (!isSignaled) signal("SIGTERM");
      await completion;
    },
    events: () =>
      stdout
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    saw: (text) =>
      Promise.race([
        new Promise<void>((resolve) => {
          const timeout = setTimeout(() => signal("SIGTERM"), patienceMs);
          void completion.then(() => clearTimeout(timeout));
          look = () => {
            if (!stdout.includes(text)) return;
            clearTimeout(timeout);
            resolve();
          };
          look();
        }),
        completion.then(({ exit, stderr }) => {
          if (!stdout.includes(text))
            throw new Error(`It ended with ${exit} and never printed ${text}: ${stdout}${stderr}`);
        }),
      ]),
  };
}
