import { redactText } from "../../api/secrets.ts";
import { readAccounts } from "../auth/accounts.ts";
import { resolveServerAddress } from "../auth/server.ts";
import { hasExpired } from "../auth/tokens.ts";
import type { Context } from "../command.ts";
import { readRunFile, resolveRunFile, stateFile } from "../connection/run-file.ts";
import { explainError } from "../exit.ts";
import { emulatorSetting, type SettingValue, tokenSetting } from "../settings.ts";
import { type CheckResult, failed, ok, skipped, warning } from "./check.ts";
import { webhookFindings } from "./webhooks.ts";

/** The sign-ins that are kept, the emulator of this folder, and what may keep its webhooks from arriving. */
export async function environmentFindings(context: Context): Promise<CheckResult[]> {
  return [await signIns(context), await emulator(context), ...(await webhookFindings(context))];
}

async function signIns(context: Context): Promise<CheckResult> {
  const { wall } = context.host;
  if (tokenSetting(context.host)) return ok("sign-in", "SVC_TOKEN is set");
  try {
    const accounts = Object.entries(await readAccounts(context));
    if (accounts.length === 0) return skipped("sign-in", "Not signed in");
    const used = await resolveServerAddress(undefined, context).catch(() => undefined);
    if (used !== undefined && accounts.every(([address]) => address !== used)) {
      const others = accounts.map(([address]) => address).join(", ");
      return skipped("sign-in", `Not signed in at ${used}, only at ${others}`);
    }
    const counting = accounts.filter(([address]) => used === undefined || address === used);
    const over = counting.filter(([, one]) => hasExpired(one, wall.now()) && one.refresh_token === undefined);
    if (over.length === 0) return ok("sign-in", counting.map(([address]) => address).join(", "));
    const names = over.map(([address]) => address).join(", ");
    return warning("sign-in", `Expired at ${names}`, "svc auth device-login");
  } catch (error) {
    return failed("sign-in", explainError(error).message, "usage");
  }
}

/** One that a profile names: whether it answers, as one. */
async function emulatorNamed({ value: url, origin }: SettingValue): Promise<CheckResult> {
  const { probeListener } = await import("../connection/listener.ts");
  const found = await probeListener(url);
  const where = `${redactText(url)} (${origin.replace(/ in .*/, "")})`;
  return found ? ok("emulator", where) : failed("emulator", `No emulator responds at ${where}`, "temporary");
}

async function emulator({ globals, host }: Context): Promise<CheckResult> {
  const file = stateFile(host, undefined);
  const running = await readRunFile(await resolveRunFile(file));
  const named = await emulatorSetting({ globals, host }, async () => running !== undefined).catch(() => undefined);
  if (named?.url.origin.startsWith("profile ") && !globals.emulator) return emulatorNamed(named.url);
  if (!running) return skipped("emulator", "No emulator is running in this folder");
  const here = `${running.routerUrl} (pid ${running.pid})`;
  const { SVC_EMULATOR_URL: other } = host.env;
  if (globals.emulator || !other || !URL.canParse(other)) return ok("emulator", here);
  const { isSameEmulator } = await import("../connection/emulator-access.ts");
  // At another address it may be the same one: behind a proxy.
  if (await isSameEmulator({ ...running, routerUrl: new URL(other).origin }).catch(() => false))
    return ok("emulator", here);
  const detail = `${here} runs in this folder, but SVC_EMULATOR_URL is ${redactText(other)}`;
  return warning("emulator", detail, 'To use the emulator of this folder: eval "$(svc emulator env)" again.');
}
