import { homedir } from "node:os";
import { join } from "node:path";
import type { Host } from "../host.ts";

type Env = Host["env"];

/** Where profiles and tokens are kept (DECISIONS.md, L11). */
export const configFolder = (env: Env): string =>
  env.SVC_CONFIG_DIR || usualFolder(env, "XDG_CONFIG_HOME", "APPDATA", ".config");

/** Where jobs and their logs are kept (DECISIONS.md, L11). */
export const stateFolder = (env: Env): string =>
  env.SVC_STATE_DIR ||
  (env.SVC_CONFIG_DIR
    ? join(env.SVC_CONFIG_DIR, "state")
    : usualFolder(env, "XDG_STATE_HOME", "LOCALAPPDATA", ".local/state"));

/** Relative XDG values do not count. */
function usualFolder(env: Env, xdg: string, windows: string, ofHome: string): string {
  const named = env[xdg];
  if (named?.startsWith("/")) return join(named, "svc");
  const ofWindows = process.platform === "win32" ? env[windows] : undefined;
  return join(ofWindows || join(env.HOME || homedir(), ofHome), "svc");
}
