import { userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { CommandFailedError } from "../failure.ts";
import type { Host } from "../host.ts";

type Env = Host["env"];

/** Where profiles and tokens are kept (DECISIONS.md, L11). Throws a CommandFailedError where the home folder is unknown. */
export const configFolder = (env: Env): string =>
  env.SVC_CONFIG_DIR || usualFolder(env, "XDG_CONFIG_HOME", "APPDATA", ".config");

/** Whether there can be profiles and tokens: without a home folder none are read, and commands work without them. */
export function hasConfigFolder(env: Env): boolean {
  try {
    return configFolder(env) !== "";
  } catch {
    return false;
  }
}

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
  return join(ofWindows || join(homeFolder(env), ofHome), "svc");
}

/** Relative and empty values do not count: they would name a folder below the working folder. */
function homeFolder({ HOME: home = "" }: Env): string {
  if (isAbsolute(home)) return home;
  try {
    return userInfo().homedir;
  } catch (cause) {
    throw new CommandFailedError(
      "failed",
      "no_home",
      `The home folder is unknown: HOME is not set, and user ${process.getuid?.()} has no entry in the user database.`,
      { hint: "Set HOME, or set SVC_CONFIG_DIR to the folder for profiles, tokens and jobs.", cause },
    );
  }
}
