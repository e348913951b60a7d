import { spawn } from "node:child_process";
import { timedOut, withTimeout } from "../../base/timing.ts";
import { isSwitchedOn } from "../process/environment.ts";
import type { Host } from "../process/host.ts";

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
  const harmless = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SVC_")));
  const [program, ...args] = command;
  const exit = new Promise<string | undefined>((resolve) => {
    const child = spawn(program!, [...args, new URL(address).href], { stdio: "ignore", detached: true, env: harmless });
    child.once("error", () => resolve(`${program} could not be started`));
    child.once("exit", (code) => resolve(code === 0 ? undefined : `${program} could not open it`));
    child.unref();
  });
  const reason = await withTimeout(wall, openTimeoutMs, exit);
  return reason === timedOut ? undefined : reason;
}
