import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { getSvcPath } from "../shipped.ts";
import { createTestFolder } from "./cli-emulator.ts";

const run = promisify(execFile);
const patienceMs = 30_000;

/** Reports whether a program is installed. Tests without their program are skipped with a reason. */
export const hasProgram = (name: string): boolean =>
  spawnSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" }).status === 0;

/** Installs the built `svc` in a folder, as a program for shells. */
export async function installSvc(folder: string): Promise<void> {
  const path = join(folder, "svc");
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${getSvcPath()}" "$@"\n`, { mode: 0o755 });
}

export interface Terminal {
  /** Types keys by name, such as `Enter`, `C-c`, `Tab` and `Down`. Other words are typed literally. */
  keys(...names: readonly string[]): Promise<void>;
  /** Resolves with the screen when it contains the text. Rejects with the screen otherwise. */
  waitFor(expected: string | RegExp): Promise<string>;
  /** Reports whether the cursor is visible. */
  cursor(): Promise<boolean>;
  /** Returns all bytes written to the terminal. */
  readOutput(): Promise<string>;
  /** Closes the terminal like a window. */
  close(): Promise<void>;
  /** Sets the number of columns and notifies the running program. */
  resize(columns: number): Promise<void>;
}

/**
 * Runs only `svc` at a real terminal. The last lines show its exit code and whether the terminal's modes were restored.
 */
export async function openSvcTerminal(
  t: Pick<TestContext, "after">,
  argv: readonly string[],
  options: TerminalOptions,
): Promise<Terminal> {
  await installSvc(options.folder);
  const script = `
    trap : INT
    stty -echo; read _; stty echo; modes=$(stty -g)
    svc "$@"
    echo "exit=$?"
    [ "$modes" = "$(stty -g)" ] || echo "modes changed"
    echo done
    read _`;
  const terminal = await openTerminal(t, ["sh", "-c", script, "sh", ...argv], options);
  await terminal.keys("Enter");
  return terminal;
}

interface TerminalOptions {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** Resolves when the file does not exist. A closed terminal cannot show when its program ended. */
export async function waitUntilFileGone(path: string): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (existsSync(path)) {
    if (performance.now() > deadline) throw new Error(`${path} is still there`);
    await pause(50);
  }
}

/** Opens a real terminal of this size with a shell, in a tmux server that ends with the test. */
export async function openTerminal(
  t: Pick<TestContext, "after">,
  shell: readonly string[],
  options: TerminalOptions,
): Promise<Terminal> {
  const socket = `svc-${randomBytes(6).toString("hex")}`;
  // The first pane inherits PATH from the process that starts tmux, regardless of -e.
  const path = `${options.folder}:${process.env.PATH}`;
  const tmux = async (...args: string[]) =>
    (await run("tmux", ["-L", socket, ...args], { env: { ...process.env, PATH: path } })).stdout;
  const env = { HOME: options.folder, PS1: "$ ", LANG: "C.UTF-8", CI: "", ...options.env };
  const envFlags = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const size = ["-x", String(options.columns ?? 100), "-y", String(options.rows ?? 40)];
  await tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", options.folder, ...envFlags, ...shell);
  t.after(() => {
    try {
      execFileSync("tmux", ["-L", socket, "kill-server"], { stdio: "ignore" });
    } catch {
      // The program has exited already.
    }
  });
  const outputFile = join(await createTestFolder(t), "written");
  await tmux("pipe-pane", "-O", `cat > ${outputFile}`);
  const countWritten = async () => (await stat(outputFile).catch(() => undefined))?.size;
  return {
    readOutput: () => readFile(outputFile, "utf8").catch(() => ""),
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
    async waitFor(expected) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const bytes = await countWritten();
        const screen = await tmux("capture-pane", "-p");
        if (typeof expected === "string" ? screen.includes(expected) : expected.test(screen)) return screen;
        // Starting tmux takes ten times as long as reading a file's size. A resize changes the screen without output.
        const next = performance.now() + 1_000;
        do {
          if (performance.now() > deadline) throw new Error(`never showed ${expected}:\n${screen.trimEnd()}`);
          await pause(20);
        } while (performance.now() < next && (await countWritten()) === bytes);
      }
    },
    cursor: async () => (await tmux("display-message", "-p", "#{cursor_flag}")).trim() === "1",
  };
}
