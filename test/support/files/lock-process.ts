import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { addCleanup } from "../cleanup.ts";
import { getProgramPath } from "../program.ts";

/** A process that takes a lock. */
export interface LockProcess {
  /** Tries to take the lock. Resolves with `held` or the reason of the failure. */
  take(): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
}

/**
 * Returns a command that runs its arguments in a new PID namespace, like a container. Returns undefined if namespaces
 * are unavailable.
 */
export const getNamespaceCommand = (): string[] | undefined => {
  const words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawnSync(words[0]!, [...words.slice(1), "true"]).status === 0 ? words : undefined;
};

export async function startLockProcess(
  t: TestContext,
  file: string,
  within: readonly string[] = [],
): Promise<LockProcess> {
  const [command, ...args] = [...within, process.execPath, getProgramPath("lock-holder"), file];
  const child: ChildProcess = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await closed;
  };
  addCleanup(t, kill);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async take() {
      child.stdin!.write("\n");
      return (await lines.next()).value as string;
    },
    signal: (name) => child.kill(name),
    kill,
  };
}
