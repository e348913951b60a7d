import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { program } from "../program.ts";

/** A process of its own that takes a lock. */
export interface LockProcess {
  /** Tries to take the lock: `held`, or why not. */
  take(): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Ends it as `kill -9` does; resolves when it is gone. */
  kill(): Promise<void>;
}

/** A command line that gives what follows a PID namespace of its own, as a container has; undefined where none can be had. */
export const ownNamespace = (): string[] | undefined => {
  const words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawnSync(words[0]!, [...words.slice(1), "true"]).status === 0 ? words : undefined;
};

export async function lockProcess(t: TestContext, file: string, within: readonly string[] = []): Promise<LockProcess> {
  const [command, ...args] = [...within, process.execPath, program("lock-holder"), file];
  const child: ChildProcess = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  const gone = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await gone;
  };
  t.after(kill);
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
