import { type ChildProcess, spawn } from "node:child_process";
import type { TestContext } from "node:test";

/** `svc` in a process of its own, as it ships: what `npm run build` made. */
export interface SvcProcess {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves once standard output or standard error holds the text; rejects when it ends before. */
  saw(text: string): Promise<void>;
  /** Its exit code, or the signal that killed it; and how long after the signal it was gone, in milliseconds. */
  stopped(name: "SIGINT" | "SIGTERM", times?: number): Promise<{ exit: number | string | null; afterMs: number }>;
}

const bin = new URL("./svc-process.ts", import.meta.url).pathname;
const loader = import.meta.resolve("tsx");

/** Starts it; whatever is left of it is killed when the test ends. */
export function svcProcess(
  t: Pick<TestContext, "after">,
  argv: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string | undefined>> },
): SvcProcess {
  const child = spawn(process.execPath, ["--import", loader, bin, ...argv], {
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
  const gone = new Promise<number | string | null>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal));
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
    async stopped(name, times = 1) {
      const sent = performance.now();
      for (let i = 0; i < times; i += 1) child.kill(name);
      const exit = await gone;
      return { exit, afterMs: performance.now() - sent };
    },
  };
}
