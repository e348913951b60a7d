import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../command.ts";
import { configFolder, hasConfigFolder } from "../config/folders.ts";
import { profilesPath, readProfiles } from "../config/profile.ts";
import { explainError } from "../exit.ts";
import { profileSetting } from "../settings.ts";
import { type CheckResult, failed, ok, skipped, warning } from "./check.ts";

/** What can be said without sending anything. */
export async function machineFindings(context: Context): Promise<CheckResult[]> {
  return [versions(context), ...(await files(context)), await profile(context)];
}

/** engines of package.json */
const oldest = [20, 19] as const;

function versions({ host }: Context): CheckResult {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
  const detail = `svc ${host.version}, Node ${node}, ${process.platform} ${process.arch}`;
  return isOld ? warning("versions", detail, `Node ${oldest.join(".")} or later is required.`) : ok("versions", detail);
}

/** Secrets must be readable by their owner alone. */
async function files({ host: { env } }: Context): Promise<CheckResult[]> {
  if (!hasConfigFolder(env)) return [skipped("files", "No home folder for a configuration")];
  const folder = configFolder(env);
  const open: string[] = [];
  let seen = 0;
  for (const path of [folder, profilesPath(env), join(folder, "tokens.json")]) {
    const found = await stat(path).catch(() => undefined);
    if (!found) continue;
    seen += 1;
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) open.push(path);
  }
  if (seen === 0) return [skipped("files", `No configuration in ${folder}`)];
  if (open.length === 0) return [ok("files", `${folder} is private`)];
  return [warning("files", `Other users can read ${open.join(", ")}`, `chmod go= ${open.join(" ")}`)];
}

async function profile(context: Context): Promise<CheckResult> {
  try {
    const { profiles } = await readProfiles(context.host.env);
    const chosen = await profileSetting(context);
    if (chosen) return ok("profile", `${chosen.value}, from ${chosen.origin}`);
    const count = Object.keys(profiles).length;
    return skipped("profile", count > 0 ? `None of ${count} is selected` : "No profiles");
  } catch (error) {
    const { message, hint } = explainError(error);
    return failed("profile", message, "usage", hint);
  }
}
