import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { TestContext } from "node:test";
import type { SignalName } from "../../../src/cli/process/host.ts";
import { addCleanup } from "../cleanup.ts";
import { getSvcPath } from "../shipped.ts";

/** `svc` as a process of the built package. */
export interface SvcProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when standard output or standard error contains the text. Rejects if the process ends before. */
  saw(text: string): Promise<void>;
  /** Sends a signal. Resolves with the exit code as shells report it, and the time until the exit in milliseconds. */
  stop(name: SignalName): Promise<{ exit: number; afterMs: number }>;
}

/** Measures the time in ms that the same program currently needs to start and exit. */
export async function measureStartMs(): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [getSvcPath(), "help"], { stdio: "ignore", env: {} });
  await once(child, "exit");
  return performance.now() - started;
}

/** Starts the process, which is killed when the test ends. */
export async function startSvcProcess(
  t: Pick<TestContext, "after">,
  argv: readonly string[],
  options: {
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string | undefined>>;
    /** A program that starts the process, with its arguments. */
    readonly within?: readonly string[];
  },
): Promise<SvcProcess> {
  const [program, ...first] = [...(options.within ?? []), process.execPath, getSvcPath()];
  const child = spawn(program!, [...first, ...argv], {
    cwd: options.cwd,
    // Standard input stays open without data.
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, SVC_CONFIG_DIR: options.cwd, SVC_STATE_DIR: options.cwd, ...options.env },
  });
  const text = { stdout: "", stderr: "" };
  const looks = new Set<() => void>();
  const add = (name: "stdout" | "stderr") => (piece: Buffer) => {
    text[name] += piece.toString();
    for (const look of looks) look();
  };
  child.stdout.on("data", add("stdout"));
  child.stderr.on("data", add("stderr"));
  const exitCode = new Promise<number>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
  addCleanup(t, () => {
    child.kill("SIGKILL");
    return exitCode;
  });
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    saw: (expected) =>
      Promise.race([
        new Promise<void>((resolve) => {
          const look = () => (text.stdout.includes(expected) || text.stderr.includes(expected)) && resolve();
          looks.add(look);
          look();
        }),
        exitCode.then((exit) => {
          throw new Error(`ended with ${exit} before it printed ${expected}: ${text.stdout}${text.stderr}`);
        }),
      ]),
    async stop(name) {
      const sent = performance.now();
      child.kill(name);
      const exit = await exitCode;
      return { exit, afterMs: performance.now() - sent };
    },
  };
}
