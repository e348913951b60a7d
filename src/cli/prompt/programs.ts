import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timedOut, withTimeout } from "../../base/timing.ts";
import type { Context } from "../command.ts";
import { isSwitchedOn } from "../process/environment.ts";
import { signalCodes } from "../process/exit.ts";
import { CommandFailedError, InterruptedError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { withTemporaryFolder } from "../process/temporary-folder.ts";

/** Browsers, editors and their plug-ins do not need secrets (DECISIONS.md, L9). */
const omitSecrets = (env: Host["env"]) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SVC_")));

/** Finds the program that opens an address, if there is a screen and no remote connection (DECISIONS.md, L14). */
export function findBrowserCommand({ env }: Pick<Host, "env">, platform: string = process.platform) {
  const isRemote = Boolean(env.SSH_CONNECTION || env.SSH_CLIENT || env.SSH_TTY);
  if (isRemote || isSwitchedOn(env.CI)) return undefined;
  if (env.BROWSER) return env.BROWSER === "none" ? undefined : [env.BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  if (env.WSL_DISTRO_NAME) return ["wslview"];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

export const isWebAddress = (address: string): boolean =>
  URL.canParse(address) && ["http:", "https:"].includes(new URL(address).protocol);

/** Maximum wait for the opening program. A browser continues to run, and a failing program ends soon. */
const openTimeoutMs = 3_000;

/**
 * Opens an http(s) address, without a shell and without secrets in the environment. Returns undefined on success, and
 * otherwise the reason. Other addresses are rejected, because a service could provide an option of the program, a file
 * or a script.
 */
export async function openBrowser(
  command: readonly string[],
  address: string,
  { env, wall }: Pick<Host, "env" | "wall">,
): Promise<string | undefined> {
  if (!isWebAddress(address)) return "The address is not an http(s) URL";
  const [program, ...args] = command;
  const exit = new Promise<string | undefined>((resolve) => {
    const child = spawn(program!, [...args, new URL(address).href], {
      stdio: "ignore",
      detached: true,
      env: omitSecrets(env),
    });
    child.once("error", () => resolve(`${program} could not be started`));
    child.once("exit", (code) => resolve(code === 0 ? undefined : `${program} could not open it`));
    child.unref();
  });
  const reason = await withTimeout(wall, openTimeoutMs, exit);
  return reason === timedOut ? undefined : reason;
}

/** Returns the saved content. An empty file cancels; invalid content can be edited again. Prompts must be allowed. */
export async function editText(
  text: string,
  fileName: string,
  context: Context,
  findProblem: (text: string) => string | undefined,
): Promise<string> {
  // The folder is private, because a payload contains personal data.
  return withTemporaryFolder("svc-edit-", context, async (folder) => {
    const file = join(folder, fileName);
    await writeFile(file, `${text}\n`, { mode: 0o600 });
    for (;;) {
      await runEditor(file, context);
      const content = await readFile(file, "utf8");
      if (content.trim() === "") throw createDeclinedError();
      const problem = findProblem(content);
      if (problem === undefined) return content;
      const { askYesNo } = await import("./ask.ts");
      if (!(await askYesNo(`${problem} Edit again?`, context))) throw createDeclinedError();
    }
  });
}

const createDeclinedError = (): CommandFailedError => new CommandFailedError("failed", "declined", "Nothing was sent.");

/** Ctrl-C goes to the editor (DECISIONS.md, L23). If it ends the editor, svc ends too. SIGTERM ends both. */
async function runEditor(file: string, context: Context): Promise<void> {
  const { host, signal, shutdown } = context;
  const { env, cwd, inherits } = host;
  signal.throwIfAborted();
  const command = env.VISUAL || env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");
  // The value can be a program with arguments, as in git: "code --wait".
  const [program = "vi", ...args] = command.split(/\s+/).filter(Boolean);
  // On Windows an editor such as code is a batch file, which Node's own spawn does not start.
  const { default: crossSpawn } = await import("cross-spawn");
  const child = crossSpawn(program, [...args, file], {
    cwd,
    stdio: inherits ? "inherit" : "ignore",
    env: omitSecrets(env),
  });
  const unlink = shutdown.linkChild(child);
  const result = await shutdown.lendTerminal(
    () =>
      new Promise<number | NodeJS.Signals | Error | null>((resolve) => {
        child.once("error", resolve);
        child.once("close", (code, name) => resolve(code ?? name));
      }),
  );
  unlink();
  signal.throwIfAborted();
  if (result === 0) return;
  if (result === "SIGINT" || result === signalCodes.SIGINT) throw new InterruptedError();
  const reason = result instanceof Error ? "cannot be started" : `exited with ${result}`;
  throw new CommandFailedError("failed", "editor_failed", `The editor ${program} ${reason}. Nothing was sent.`, {
    hint: "Set EDITOR to another program.",
    cause: result,
  });
}
