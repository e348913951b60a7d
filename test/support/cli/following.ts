import type { CliEmulator } from "./cli-emulator.ts";
import type { RunOptions, RunResult } from "./run-cli.ts";

/** A command that goes on until it is told to stop. */
export interface Following {
  /** Resolves once standard output holds the text. */
  saw(text: string): Promise<void>;
  /** The documents printed so far, one a line. */
  events(): Record<string, unknown>[];
  /** Standard error so far. */
  err(): string;
  signal(name: "SIGINT" | "SIGTERM"): void;
  readonly ended: Promise<RunResult>;
}

/** What does not come within this time never comes: the command is ended, so that the test fails and says so. */
const patienceMs = 60_000;

/** Starts `svc` and lets it run beside the test. */
export function following(
  svc: CliEmulator["svc"],
  argv: readonly string[],
  options: Pick<RunOptions, "env" | "cwd" | "wall"> = {},
): Following {
  let out = "";
  let look = () => {};
  let run: Parameters<NonNullable<RunOptions["onStart"]>>[0] | undefined;
  const ended = svc(argv, {
    ...options,
    onStart: (started) => {
      run = started;
    },
    onOutput: (all) => {
      out = all;
      look();
    },
  });
  return {
    ended,
    err: () => run?.err() ?? "",
    signal: (name) => run?.signal(name),
    events: () =>
      out
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    saw: (text) =>
      Promise.race([
        new Promise<void>((resolve) => {
          const late = setTimeout(() => run?.signal("SIGTERM"), patienceMs);
          void ended.then(() => clearTimeout(late));
          look = () => {
            if (!out.includes(text)) return;
            clearTimeout(late);
            resolve();
          };
          look();
        }),
        ended.then(({ exit, err }) => {
          if (!out.includes(text)) throw new Error(`It ended with ${exit} and never printed ${text}: ${out}${err}`);
        }),
      ]),
  };
}
