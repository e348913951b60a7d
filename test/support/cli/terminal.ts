import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const patienceMs = 30_000;

/** Whether a program is installed here; tests that miss one are skipped and say so. */
export const hasProgram = (name: string): boolean =>
  spawnSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" }).status === 0;

/** A folder's `svc` for shells: the sources, as a program of that name. */
export function installSvc(folder: string): string {
  const program = new URL("./svc-process.ts", import.meta.url).pathname;
  const loader = import.meta.resolve("tsx");
  const path = join(folder, "svc");
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" --import "${loader}" "${program}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

export interface Terminal {
  /** Types keys by their names: `Enter`, `C-c`, `Tab`, `Down`; other words are typed as they are. */
  keys(...names: readonly string[]): Promise<void>;
  /** What stands on the screen, once it holds this; fails with the screen otherwise. */
  until(shown: string | RegExp): Promise<string>;
  /** Whether the cursor can be seen. */
  cursor(): Promise<boolean>;
}

/** A real terminal of this size that runs a shell: tmux, with a server of its own that ends with the test. */
export async function terminal(
  t: Pick<TestContext, "after">,
  shell: readonly string[],
  of: { folder: string; env?: Readonly<Record<string, string>>; columns?: number; rows?: number },
): Promise<Terminal> {
  const socket = `svc-${randomBytes(6).toString("hex")}`;
  // The first pane takes its PATH from whoever starts tmux, whatever -e says.
  const path = `${of.folder}:${process.env.PATH}`;
  const tmux = async (...args: string[]) =>
    (await run("tmux", ["-L", socket, ...args], { env: { ...process.env, PATH: path } })).stdout;
  const env = {
    HOME: of.folder,
    PS1: "$ ",
    LANG: "C.UTF-8",
    CI: "",
    ...of.env,
  };
  const given = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const size = ["-x", String(of.columns ?? 100), "-y", String(of.rows ?? 40)];
  await tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", of.folder, ...given, ...shell);
  t.after(() => {
    try {
      execFileSync("tmux", ["-L", socket, "kill-server"], { stdio: "ignore" });
    } catch {
      // It has ended by itself.
    }
  });
  return {
    async keys(...names) {
      await tmux("send-keys", ...names);
    },
    async until(shown) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const screen = await tmux("capture-pane", "-p");
        if (typeof shown === "string" ? screen.includes(shown) : shown.test(screen)) return screen;
        if (performance.now() > deadline) throw new Error(`never showed ${shown}:\n${screen.trimEnd()}`);
        await pause(50);
      }
    },
    cursor: async () => (await tmux("display-message", "-p", "#{cursor_flag}")).trim() === "1",
  };
}
