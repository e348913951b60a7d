import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { shippedSvc } from "../shipped.ts";
import { testFolder } from "./cli-emulator.ts";

const run = promisify(execFile);
const patienceMs = 30_000;

/** Whether a program is installed here; tests that miss one are skipped and say so. */
export const hasProgram = (name: string): boolean =>
  spawnSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" }).status === 0;

/** A folder's `svc` for shells: what ships, as a program of that name. */
export async function installSvc(folder: string): Promise<void> {
  const path = join(folder, "svc");
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${shippedSvc()}" "$@"\n`, { mode: 0o755 });
}

export interface Terminal {
  /** Types keys by their names: `Enter`, `C-c`, `Tab`, `Down`; other words are typed as they are. */
  keys(...names: readonly string[]): Promise<void>;
  /** What stands on the screen, once it holds this; fails with the screen otherwise. */
  until(shown: string | RegExp): Promise<string>;
  /** Whether the cursor can be seen. */
  cursor(): Promise<boolean>;
  /** Everything that was written to it, as it came. */
  written(): Promise<string>;
  /** Goes away, as a window that is closed. */
  close(): Promise<void>;
  /** Makes it so many columns wide, and tells whoever runs in it. */
  resize(columns: number): Promise<void>;
}

/**
 * `svc` alone at a real terminal: nobody else writes to it but lines at the end with its exit code, and whether the
 * terminal takes keys as it did before.
 */
export async function svcTerminal(
  t: Pick<TestContext, "after">,
  argv: readonly string[],
  of: TerminalOptions,
): Promise<Terminal> {
  await installSvc(of.folder);
  const script = `
    trap : INT
    stty -echo; read _; stty echo; modes=$(stty -g)
    svc "$@"
    echo "exit=$?"
    [ "$modes" = "$(stty -g)" ] || echo "modes changed"
    echo done
    read _`;
  const opened = await terminal(t, ["sh", "-c", script, "sh", ...argv], of);
  await opened.keys("Enter");
  return opened;
}

interface TerminalOptions {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** Resolves once there is no such file: a terminal that has gone away shows no longer when its program has ended. */
export async function untilGone(path: string): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (existsSync(path)) {
    if (performance.now() > deadline) throw new Error(`${path} is still there`);
    await pause(50);
  }
}

/** A real terminal of this size that runs a shell: tmux, with a server of its own that ends with the test. */
export async function terminal(
  t: Pick<TestContext, "after">,
  shell: readonly string[],
  of: TerminalOptions,
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
  const written = join(await testFolder(t), "written");
  await tmux("pipe-pane", "-O", `cat > ${written}`);
  return {
    written: () => readFile(written, "utf8").catch(() => ""),
    async resize(columns) {
      const device = (await tmux("display-message", "-p", "#{pane_tty}")).trim();
      await run("stty", ["-F", device, "columns", String(columns)]);
    },
    async close() {
      await tmux("kill-session");
    },
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
