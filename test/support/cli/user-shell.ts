import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";

/** Lines that change the shell and affect all later lines. */
const changesShell = /^(eval|alias) /;

/** A user's bash without a terminal, into which lines are pasted. */
export interface UserShell {
  /** Starts an endless command. Resolves when it prints that it is ready, and rejects if it ends before. */
  stay(line: string, ready: string): Promise<void>;
  /**
   * Runs a line that must exit with 0, and returns its output. `typed` is its standard input, and `onText` receives all
   * output so far.
   */
  paste(line: string, typed?: string, onText?: (all: string) => void): Promise<string>;
}

/** Opens a shell. Its endless commands get Ctrl-C when the test ends, the last one first. */
export function openUserShell(
  t: Pick<TestContext, "after">,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): UserShell {
  const changes: string[] = [];
  const endless: ChildProcess[] = [];
  const start = (line: string, onText: (all: string) => void) => {
    const script = [...changes, line].join("\n");
    const child = spawn("bash", ["-e", "-o", "pipefail", "-c", script], { ...options, detached: true });
    let text = "";
    const add = (piece: Buffer) => {
      text += piece;
      onText(text);
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    // Most lines end without reading standard input.
    child.stdin.on("error", () => {});
    const exited = once(child, "close").then(([exit]) => ({ exit: exit as number, text }));
    return { child, exited };
  };
  t.after(async () => {
    for (const child of endless.reverse()) {
      if (child.exitCode !== null) continue;
      const closed = once(child, "close");
      // Like Ctrl-C, the signal goes to the whole process group.
      process.kill(-child.pid!, "SIGINT");
      await closed;
    }
  });
  return {
    async stay(line, ready) {
      let look: (all: string) => void = () => {};
      const textSeen = new Promise<void>((resolve) => {
        look = (all) => all.includes(ready) && resolve();
      });
      const { child, exited } = start(line, (all) => look(all));
      endless.push(child);
      await Promise.race([
        textSeen,
        exited.then(({ text }) => {
          if (!text.includes(ready)) throw new Error(`${line} ended before it was ready: ${text}`);
        }),
      ]);
    },
    async paste(line, typed = "", onText = () => {}) {
      const { child, exited } = start(line, onText);
      child.stdin.end(typed);
      const { exit, text } = await exited;
      if (exit !== 0) throw new Error(`${line} exited ${exit}: ${text}`);
      // Only here is it evaluated again, which fails once the emulator has stopped.
      if (changesShell.test(line)) changes.push(`${line} || true`);
      return text;
    },
  };
}
