import { readAccounts } from "../auth/accounts.ts";
import { hasExpired } from "../auth/tokens.ts";
import type { Context } from "../command.ts";
import { readRunFile, runFileOf, stateFile } from "../connection/run-file.ts";
import { explain } from "../exit.ts";
import { tokenSetting } from "../settings.ts";
import { type CheckResult, failed, ok, skipped, warning } from "./check.ts";

/** The sign-ins that are kept, and the emulator of this folder. */
export async function aroundFindings(context: Context): Promise<CheckResult[]> {
  return [await signIns(context), await emulator(context)];
}

async function signIns(context: Context): Promise<CheckResult> {
  const { wall } = context.host;
  if (tokenSetting(context.host)) return ok("sign-in", "SVC_TOKEN is set");
  try {
    const accounts = Object.entries(await readAccounts(context));
    if (accounts.length === 0) return skipped("sign-in", "Nobody is signed in");
    const over = accounts.filter(([, one]) => hasExpired(one, wall.now()) && one.refresh_token === undefined);
    if (over.length === 0) return ok("sign-in", accounts.map(([address]) => address).join(", "));
    const names = over.map(([address]) => address).join(", ");
    return warning("sign-in", `Ended at ${names}`, "svc auth device-login");
  } catch (error) {
    return failed("sign-in", explain(error).message, "usage");
  }
}

async function emulator({ host }: Context): Promise<CheckResult> {
  const file = stateFile(host, undefined);
  const running = await readRunFile(await runFileOf(file));
  if (!running) return skipped("emulator", "None runs in this folder");
  return ok("emulator", `${running.routerUrl} (pid ${running.pid})`);
}
