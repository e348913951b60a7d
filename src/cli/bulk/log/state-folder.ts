import { mkdir, mkdtemp } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../../command.ts";
import type { Host } from "../../host.ts";

/** Where jobs and their logs are kept (DECISIONS.md, L11). Relative XDG values do not count. */
export function stateFolder({ env }: Host): string {
  if (env.SVC_STATE_DIR) return env.SVC_STATE_DIR;
  if (env.SVC_CONFIG_DIR) return join(env.SVC_CONFIG_DIR, "state");
  if (env.XDG_STATE_HOME?.startsWith("/")) return join(env.XDG_STATE_HOME, "svc");
  return process.platform === "win32" && env.LOCALAPPDATA
    ? join(env.LOCALAPPDATA, "svc")
    : join(env.HOME || homedir(), ".local", "state", "svc");
}

export const jobsFolder = (host: Host): string => join(stateFolder(host), "jobs");

/** A jobs folder that can be written: the usual one or, on a read-only machine, a temporary one that is named. */
export async function writableJobsFolder({ host, output }: Context): Promise<string> {
  const folder = jobsFolder(host);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    const state = await mkdtemp(join(tmpdir(), "svc-state-"));
    const reason = (error as NodeJS.ErrnoException).code;
    await output.warn(`warning: cannot write to ${folder} (${reason}); the job is kept in ${state}`);
    await output.warn(`To resume it: export SVC_STATE_DIR=${state}`);
    const other = join(state, "jobs");
    await mkdir(other, { mode: 0o700 });
    return other;
  }
}
