import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listFaults } from "../../api/emulator/faults.ts";
import { listControlWebhooks } from "../../api/emulator/webhooks.ts";
import { redactText } from "../../api/secrets.ts";
import { isUsedUp } from "../../api/webhook-health/causes.ts";
import { svcVersion } from "../../base/version.ts";
import { describeToken, getSignInCommand, hasExpired, readAccounts } from "../auth/accounts.ts";
import { resolveServerAddress } from "../auth/oauth-call.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { isSameEmulator, probeListener } from "../connection/emulator/emulator-access.ts";
import { readRunFileOf, resolveStateFile } from "../connection/emulator/run-file.ts";
import { getProfilesPath, readProfiles } from "../connection/profiles/profile.ts";
import {
  resolveEmulatorSetting,
  resolveProfileSetting,
  resolveServiceSettings,
} from "../connection/resolve-settings.ts";
import { formatNextCommand } from "../parse/argv.ts";
import { getConfigFolder, hasConfigFolder } from "../process/environment.ts";
import { explainError } from "../process/exit.ts";
import { createSentSecretRedactor } from "../process/redact.ts";
import { withSpinner } from "../prompt/terminal.ts";
import {
  type CheckResult,
  checkServices,
  createCheckWarning,
  createFailedCheck,
  createPassedCheck,
  createSkippedCheck,
} from "./doctor/services.ts";

const doctor = defineCommand({
  words: ["doctor"],
  summary: "Diagnose why commands do not work here",
  description:
    "Checks versions, configuration files and their permissions, the profile, whether the services respond (through the configured proxies) and accept the credentials, clocks, sign-ins, and the emulator of this folder: scripted faults, and webhooks that are disabled or not allowed. It changes nothing. The exit code is that of the first failed check: 75 for an unreachable service, 4 for credentials, 2 for settings.",
  examples: [
    ["Check this machine and the services", "doctor"],
    ["Print JSON for a bug report", "doctor --json"],
    ["Check the services of another profile", "doctor --profile staging"],
  ],
  async run(_input, context) {
    const { output } = context;
    const findings = await withSpinner(context, "Running checks", async () => [
      checkVersions(),
      await checkFiles(context),
      await checkProfile(context),
      ...(await checkServices(context)),
      await checkSignIns(context),
      await checkEmulator(context),
      ...(await checkWebhooks(context)),
    ]);
    // Users attach the output to bug reports. A service can have echoed a rejected secret.
    const redact = createSentSecretRedactor(context.host);
    const rows = findings.map(({ check, status, detail, hint }) => ({
      ...{ check, status, detail: redact(detail) },
      hint: hint === undefined ? null : redact(hint),
    }));
    await output.show(rows, {
      fields: ["check", "status", "detail", "hint"],
      columns: ["check", "status", { name: "detail", shrinkPriority: 1, minWidth: 24, purpose: true }],
    });
    if (output.format === "table") {
      for (const { check, hint } of findings) if (hint !== undefined) await output.note(`${check}: ${hint}`);
    }
    return findings.find(({ status }) => status === "failed")?.kind;
  },
});

const minNodeVersion = [20, 19] as const;

function checkVersions(): CheckResult {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = major < minNodeVersion[0] || (major === minNodeVersion[0] && minor < minNodeVersion[1]);
  const detail = `svc ${svcVersion}, Node ${node}, ${process.platform} ${process.arch}`;
  return isOld
    ? createCheckWarning("versions", detail, `Node ${minNodeVersion.join(".")} or later is required.`)
    : createPassedCheck("versions", detail);
}

async function checkFiles({ host: { env } }: Context): Promise<CheckResult> {
  if (!hasConfigFolder(env)) return createSkippedCheck("files", "No home folder for a configuration");
  const folder = getConfigFolder(env);
  const open: string[] = [];
  let existingCount = 0;
  for (const path of [folder, getProfilesPath(env), join(folder, "tokens.json")]) {
    const stats = await stat(path).catch(() => undefined);
    if (!stats) continue;
    existingCount += 1;
    if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) open.push(path);
  }
  if (existingCount === 0) return createSkippedCheck("files", `No configuration in ${folder}`);
  if (open.length === 0) return createPassedCheck("files", `${folder} is private`);
  return createCheckWarning("files", `Other users can read ${open.join(", ")}`, `chmod go= ${open.join(" ")}`);
}

async function checkProfile(context: Context): Promise<CheckResult> {
  try {
    const { profiles } = await readProfiles(context.host.env);
    const profile = await resolveProfileSetting(context);
    if (profile) return createPassedCheck("profile", `${profile.value}, from ${profile.origin}`);
    const count = Object.keys(profiles).length;
    return createSkippedCheck("profile", count > 0 ? `None of ${count} is selected` : "No profiles");
  } catch (error) {
    const { message, hint } = explainError(error);
    return createFailedCheck("profile", message, "usage", hint);
  }
}

async function checkSignIns(context: Context): Promise<CheckResult> {
  const { wall } = context.host;
  try {
    const { token } = await resolveServiceSettings(context);
    if (token) return createPassedCheck("sign-in", `${describeToken(token)} is set`);
    const accounts = Object.entries(await readAccounts(context));
    if (accounts.length === 0) return createSkippedCheck("sign-in", "Not signed in");
    const currentAddress = await resolveServerAddress(undefined, context).catch(() => undefined);
    if (currentAddress !== undefined && accounts.every(([address]) => address !== currentAddress)) {
      const otherAddresses = accounts.map(([address]) => address).join(", ");
      return createSkippedCheck("sign-in", `Not signed in at ${currentAddress}, only at ${otherAddresses}`);
    }
    const relevant = accounts.filter(([address]) => currentAddress === undefined || address === currentAddress);
    const expiredAccounts = relevant.filter(
      ([, account]) => hasExpired(account, wall.now()) && account.refresh_token === undefined,
    );
    if (expiredAccounts.length === 0)
      return createPassedCheck("sign-in", relevant.map(([address]) => address).join(", "));
    const names = expiredAccounts.map(([address]) => address).join(", ");
    const [address, account] = expiredAccounts[0]!;
    const signInCommand = await getSignInCommand(address, context, account.client_id);
    return createCheckWarning("sign-in", `Expired at ${names}`, formatNextCommand(signInCommand, context));
  } catch (error) {
    return createFailedCheck("sign-in", explainError(error).message, "usage");
  }
}

async function checkEmulator({ globals, host }: Context): Promise<CheckResult> {
  const file = resolveStateFile(host, undefined);
  const running = await readRunFileOf(file, undefined);
  const setting = await resolveEmulatorSetting({ globals, host }, running !== undefined).catch(() => undefined);
  if (setting && !globals.emulator && (!running || setting.url.origin.startsWith("profile "))) {
    const { value: url, origin } = setting.url;
    const location = `${redactText(url)} (${origin.replace(/ in .*/, "")})`;
    return (await probeListener(url))
      ? createPassedCheck("emulator", location)
      : createFailedCheck("emulator", `No emulator responds at ${location}`, "temporary");
  }
  if (!running) return createSkippedCheck("emulator", "No emulator is running in this folder");
  const runningEmulator = `${running.routerUrl} (pid ${running.pid})`;
  try {
    if (!(await isSameEmulator(running)))
      return createFailedCheck("emulator", `The emulator of this folder is not at ${runningEmulator}`, "temporary");
  } catch (error) {
    const { message, hint } = explainError(error);
    return createFailedCheck("emulator", message, "temporary", hint);
  }
  if (globals.emulator || !setting) return createPassedCheck("emulator", runningEmulator);
  // Behind a proxy, the same emulator can have another address.
  const { value: otherUrl, origin } = setting.url;
  if (otherUrl === running.routerUrl || (await isSameEmulator({ ...running, routerUrl: otherUrl }).catch(() => false)))
    return createPassedCheck("emulator", runningEmulator);
  const detail = `${runningEmulator} runs in this folder, but ${origin} is ${redactText(otherUrl)}`;
  return createCheckWarning(
    "emulator",
    detail,
    'To use the emulator of this folder: eval "$(svc emulator env)" again.',
  );
}

const maxListed = 5;

/** Finds causes of failing requests and webhooks: scripted faults, and webhooks that nothing is sent to. */
async function checkWebhooks(context: Context): Promise<CheckResult[]> {
  const client = await context.client("emulator").catch(() => undefined);
  if (!client) return [];
  const once = { retries: 0, timeoutMs: 3_000 };
  // A token that is bound to a workspace cannot list faults.
  const [scriptedFaults, webhooks] = await Promise.all([
    client.call(listFaults, {}, once).catch(() => []),
    client.call(listControlWebhooks, {}, once).catch(() => []),
  ]);
  const faults = scriptedFaults.filter((fault) => !isUsedUp(fault));
  const stoppedWebhooks = webhooks.filter(({ status, forbidden }) => status !== "ACTIVE" || forbidden !== null);
  const findings: CheckResult[] = [];
  if (faults.length > 0) {
    const all = faults.map(({ id, direction, effect, status }) => {
      return `${id} (${[direction, effect ?? status ?? []].flat().join(", ")})`;
    });
    const detail = `Active scripted faults: ${formatList(all)}`;
    findings.push(createCheckWarning("faults", detail, `To remove one: svc emulator fault remove ${faults[0]!.id}`));
  }
  if (stoppedWebhooks.length > 0) {
    const all = stoppedWebhooks.map(
      ({ id, status }) => `${id} (${status === "ACTIVE" ? "address not allowed" : status})`,
    );
    findings.push(
      createCheckWarning(
        "webhooks",
        `Webhooks that receive nothing: ${formatList(all)}`,
        "To see why: svc webhooks why",
      ),
    );
  }
  return findings;
}

const formatList = (all: readonly string[]): string =>
  `${all.slice(0, maxListed).join(", ")}${all.length > maxListed ? ` and ${all.length - maxListed} more` : ""}`;

export const commands: readonly Command[] = [doctor];
