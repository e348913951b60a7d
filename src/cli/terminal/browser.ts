import { spawn } from "node:child_process";
import type { Host } from "../host.ts";

/** The program that opens an address, where that makes sense: a screen, and nobody far away (DECISIONS.md, L14). */
export function browserCommand({ env }: Pick<Host, "env">, platform: string = process.platform): string[] | undefined {
  const isFarAway = Boolean(env.SSH_CONNECTION || env.SSH_CLIENT || env.SSH_TTY);
  if (isFarAway || env.CI) return undefined;
  if (env.BROWSER) return env.BROWSER === "none" ? undefined : [env.BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  if (env.WSL_DISTRO_NAME) return ["wslview"];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

/** Opens an http(s) address, without a shell and without our secrets. False when it could not be started. */
export function openBrowser(command: readonly string[], address: string, { env }: Pick<Host, "env">): Promise<boolean> {
  const harmless = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SVC_")));
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program!, [...args, address], { stdio: "ignore", detached: true, env: harmless });
    child.once("error", () => resolve(false));
    child.once("spawn", () => resolve(true));
    child.unref();
  });
}
