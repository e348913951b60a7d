import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { TestContext } from "node:test";
import type { SignalName } from "../../../src/cli/process/host.ts";
import { shippedSvc } from "../shipped.ts";

/** `svc` in a process of its own, as it ships: what `npm run build` made. */
export interface SvcProcess {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves once standard output or standard error holds the text; rejects when it ends before. */
  saw(text: string): Promise<void>;
  /** Its exit code as shells tell it, and how long after the signal it was gone, in milliseconds. */
  stopped(name: SignalName): Promise<{ exit: number; afterMs: number }>;
}

/** How long the same program takes to start and to end by itself, at this very moment, in milliseconds. */
export async function startMs(): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [shippedSvc(), "help"], { stdio: "ignore", env: {} });
  await once(child, "exit");
  return performance.now() - started;
}

/** Starts it; whatever is left of it is killed when the test ends. */
export async function svcProcess(
  t: Pick<TestContext, "after">,
  argv: readonly string[],
  options: {
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string | undefined>>;
    /** A program that becomes it. */
    readonly within?: readonly string[];
  },
): Promise<SvcProcess> {
  const [program, ...first] = [...(options.within ?? []), process.execPath, shippedSvc()];
  const child = spawn(program!, [...first, ...argv], {
    cwd: options.cwd,
    // Its standard input stays open: nobody types anything.
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, SVC_CONFIG_DIR: options.cwd, SVC_STATE_DIR: options.cwd, ...options.env },
  });
  t.after(() => void child.kill("SIGKILL"));
  const text = { out: "", err: "" };
  const looks = new Set<() => void>();
  const add = (name: "out" | "err") => (piece: Buffer) => {
    text[name] += piece.toString();
    for (const look of looks) look();
  };
  child.stdout.on("data", add("out"));
  child.stderr.on("data", add("err"));
  const gone = new Promise<number>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
  return {
    child,
    out: () => text.out,
    err: () => text.err,
    saw: (wanted) =>
      Promise.race([
        new Promise<void>((resolve) => {
          const look = () => (text.out.includes(wanted) || text.err.includes(wanted)) && resolve();
          looks.add(look);
          look();
        }),
        gone.then((exit) => {
          throw new Error(`ended with ${exit} before it printed ${wanted}: ${text.out}${text.err}`);
        }),
      ]),
    async stopped(name) {
      const sent = performance.now();
      child.kill(name);
      const exit = await gone;
      return { exit, afterMs: performance.now() - sent };
    },
  };
}
