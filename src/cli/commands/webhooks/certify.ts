import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { activities } from "../../../api/activities.ts";
import { waitUntilAborted } from "../../../base/concurrency.ts";
import { pluralize } from "../../../base/text.ts";
import { createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { writeFileAtomic } from "../../../files/atomic-write.ts";
import { makeFolder } from "../../../files/folders.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { readPrivateFile } from "../../connection/profiles/private-file.ts";
import { maskSecrets } from "../../output/ci.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { getStateFolder } from "../../process/environment.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { canPrompt } from "../../prompt/terminal.ts";
import { createReportWriter, isUnchecked, nothingChecked, selectChecks } from "../certify/check.ts";
import type { ReceiverCheck } from "../certify/receiver/check.ts";
import { type RawDelivery, sendDelivery } from "../certify/receiver/delivery.ts";
import { genuineCheck } from "../certify/receiver/delivery-checks.ts";
import { diagnoseReceiver } from "../certify/receiver/diagnosis.ts";
import { startCertificationEmulator } from "../certify/receiver/emulation.ts";
import { guessLanguage, receiverLanguages } from "../certify/receiver/mistakes.ts";
import { createProbe } from "../certify/receiver/probe.ts";
import { createReceiverProcess, isListening, type ReceiverProcess } from "../certify/receiver/receiver-process.ts";
import { createCertifyReport, formatReceiverJUnitReport, printReport } from "../certify/receiver/report.ts";
import { allReceiverChecks, type ReceiverCheckResult, runChecks } from "../certify/receiver/run.ts";
import { buildChildEnvironment } from "../emulator/exec.ts";
import { parseReceiverUrl } from "./forwarding.ts";
import { parseActivity } from "./registration.ts";
import { requireWritableFolder } from "./saved-deliveries.ts";
import { findKeyVariable, readKeyFile } from "./signing-key.ts";

const flags = [
  createTextFlag("to", "URL", "Address of the receiver: a URL, or a port of localhost", { section: "Receiver" }),
  createTextFlag("command", "COMMAND", "Start the receiver with this shell command, and end it afterwards", {
    section: "Receiver",
  }),
  createTextFlag("ready-timeout", "DURATION", "Maximum wait until --command listens", {
    section: "Receiver",
    default: "30s",
  }),
  createTextFlag("hmac-key-file", "FILE", "File with the base64 key that the receiver has (SVC_WEBHOOK_HMAC_KEY)", {
    section: "Receiver",
  }),
  createTextFlag("probe", "COMMAND", "Shell command that prints what the receiver has stored", { section: "Receiver" }),
  createTextFlag("only", "A,B", "Run only these checks, by ID or group: signature, raw-body.spaced", {
    section: "Checks",
    repeatable: true,
  }),
  createTextFlag("skip", "A,B", "Skip these checks, by ID or group", { section: "Checks", repeatable: true }),
  createTextFlag("activity", "ACTIVITY", "Activity of the events", {
    section: "Checks",
    suggestions: activities,
    default: "CONTRACT_SIGNED",
  }),
  createTextFlag("time-limit", "DURATION", "Maximum time of all checks; the remaining ones are not_checked", {
    section: "Checks",
    default: "8s, or 30s with --probe",
  }),
  createSwitch("list", "List the checks, and exit", { section: "Checks" }),
  createSwitch("last", "Repeat the last run in this folder", { section: "Checks" }),
  createTextFlag("language", "LANGUAGE", "Language of the fixes (default: guessed from --command)", {
    section: "Report",
    choices: receiverLanguages,
  }),
  createTextFlag("keep", "FOLDER", "Write the body and headers of each delivery, and the key, to this folder", {
    section: "Report",
  }),
  createTextFlag("report", "FILE", "Write a JUnit XML report to this file", { section: "Report" }),
  createSwitch("console", "Keep the emulator and the receiver until Ctrl-C, for the console", { section: "Report" }),
] as const satisfies readonly FlagSpec[];

type CertifyFlags = CommandInputOf<typeof flags>["flags"];

const webhooksCertify = defineCommand({
  words: ["webhooks", "certify"],
  summary: "Check a webhook receiver, and name its mistakes",
  description:
    "Sends the receiver requests that it must accept or reject: genuine events written in several ways, wrong signatures, duplicates, broken connections, 64 events at once and a retry after 155 minutes of virtual time. Names the likely mistake of each failed check, and a fix. --command gets the variables of svc emulator exec, among them SVC_WEBHOOK_HMAC_KEY, and PORT. Without --probe, the checks of duplicates and order see only responses, and storage is not checked. --console prints an address of the console after the checks: it shows every delivery with its check and the response, sends it again, and sends further test events. Exits 1 if a check failed, none was made, or the time limit skipped some; warnings do not count.",
  flags,
  examples: [
    [
      "Check a receiver that the command starts",
      "webhooks certify --to localhost:3000/hooks --command 'node receiver.mjs'",
    ],
    [
      "Check what it stores, and write a report for CI",
      "webhooks certify --to localhost:3000/hooks --command 'node receiver.mjs' --probe 'cat events.jsonl' --report junit.xml",
    ],
    ["Check a running receiver with its key", "webhooks certify --to localhost:3000/hooks --hmac-key-file hmac.key"],
    ["List the checks", "webhooks certify --list"],
  ],
  async run(input, context) {
    const { output } = context;
    if (input.flags.list) {
      const rows = allReceiverChecks.map(({ id, summary, basis, reason, requires }) => ({
        id,
        summary,
        basis,
        reason,
        requires: requires === undefined ? null : `--${requires}`,
      }));
      const columns = ["id", { name: "summary", shrinkPriority: 1, minWidth: 20 }, "basis", "requires"] as const;
      await output.show(rows, { columns, fields: ["id", "summary", "basis", "reason", "requires"] });
      return undefined;
    }
    const { last, ...givenFlags } = input.flags;
    // Given flags override the flags of the last run.
    const resolvedFlags: CertifyFlags = last ? { ...(await readLastRun(context.host)), ...givenFlags } : givenFlags;
    const plan = await createPlan(resolvedFlags, context);
    await storeLastRun(context.host, resolvedFlags);
    return certify(plan, context);
  },
});

type CertifyPlan = Awaited<ReturnType<typeof createPlan>>;

async function createPlan(flags: CertifyFlags, context: Context) {
  const { host } = context;
  const { to, command, probe, only, skip } = flags;
  if (to === undefined) throw new InputRequiredError("to", "--to is required");
  if (command?.trim() === "") throw new UsageError("--command must not be empty");
  if (probe?.trim() === "") throw new UsageError("--probe must not be empty");
  const timeLimit = flags["time-limit"] ?? (probe === undefined ? "8s" : "30s");
  const maxMs = parseDurationFlag(timeLimit, "--time-limit");
  if (maxMs === 0) throw new UsageError(`--time-limit must be more than 0s, got "${timeLimit}"`);
  const keep = flags.keep === undefined ? undefined : resolve(host.cwd, flags.keep);
  if (keep !== undefined) await requireWritableFolder(keep, "--keep");
  const writeReport = await createReportWriter(flags.report, host);
  return {
    url: parseReceiverUrl(to, "--to"),
    checks: selectChecks(allReceiverChecks, { only, skip }, ["webhooks", "certify", "--list"]),
    activity: parseActivity(flags.activity ?? "CONTRACT_SIGNED"),
    maxMs,
    readyTimeoutMs: parseDurationFlag(flags["ready-timeout"] ?? "30s", "--ready-timeout"),
    language: flags.language ?? guessLanguage(command ?? ""),
    key: await resolveGivenKey(flags, context),
    command,
    probe,
    /** Absolute path of the folder for the deliveries. */
    keep,
    console: flags.console === true,
    writeReport,
  };
}

/** Resolves the key of the receiver. Returns undefined if the emulator provides one. */
async function resolveGivenKey(flags: CertifyFlags, { host, globals }: Context): Promise<string | undefined> {
  const file = flags["hmac-key-file"];
  if (file !== undefined) return readKeyFile(host, file, "--hmac-key-file");
  if (flags.command !== undefined) return undefined;
  const key = findKeyVariable(host);
  if (key !== undefined || canPrompt(host, globals)) return key;
  throw new UsageError("--command or --hmac-key-file is required when not running interactively", {
    hint: "The key can also be set in SVC_WEBHOOK_HMAC_KEY.",
  });
}

async function certify(plan: CertifyPlan, context: Context) {
  const { output, host, signal } = context;
  const { url, keep } = plan;
  const emulation = await startCertificationEmulator(plan, context);
  const { key } = emulation.deliveries;
  await maskSecrets(host, [key]);
  const env = { ...buildChildEnvironment(emulation.access, host), SVC_WEBHOOK_HMAC_KEY: key };
  const receiver = await openReceiver(plan, env, context);
  const probe = plan.probe === undefined ? undefined : createProbe(plan.probe, { host, env, signal });
  if (keep !== undefined) await writeKey(keep, plan.key === undefined ? key : undefined);
  const files = new Map<string, readonly string[]>();

  const startedAt = host.wall.monotonicNow();
  const isTable = output.format === "table";
  const checkedItems = await runChecks({
    ...plan,
    ...emulation,
    probe,
    receiver,
    wall: host.wall,
    signal,
    onExchange: ({ id }, exchange) => plan.console && emulation.record(id, exchange),
    async onChecked(item) {
      if (keep !== undefined) files.set(item.check.id, await writeDeliveries(keep, item));
      // A receiver that accepts no delivery is detected only at the end of the run.
      if (isTable) await output.showStatus(`${item.check.summary} …`);
    },
  });
  const sendOther = async (delivery: RawDelivery) => {
    const response = await sendDelivery(delivery, { url, wall: host.wall, signal, timeoutMs: 2_000 });
    if (plan.console) emulation.record("search for the mistake", { delivery, response });
    return response;
  };
  const { items: allItems, diagnoses } = await diagnoseReceiver(checkedItems, emulation.deliveries, sendOther);
  await output.showStatus(undefined);
  const items = selectShownItems(allItems, plan.checks);
  const seconds = Math.round((host.wall.monotonicNow() - startedAt) / 100) / 10;
  const report = createCertifyReport({ ...plan, items, diagnoses, seconds, files });
  if (!plan.console) await receiver?.stop();
  await plan.writeReport(formatReceiverJUnitReport(report));
  await printReport(report, context);
  const cutOffCount = items.filter(({ isCutOff }) => isCutOff).length;
  if (cutOffCount > 0) {
    const cutOff = pluralize(cutOffCount, "check was", "checks were");
    await output.warn(`${cutOff} not run because of the time limit of ${plan.maxMs / 1_000} s (--time-limit)`);
  }
  if (isUnchecked(items)) await output.warn(nothingChecked);
  if (plan.console && !signal.aborted) {
    await output.warn(`Console, for one browser within a minute: ${await emulation.openConsole()}`);
    await output.note("Press Ctrl-C to stop");
    await waitUntilAborted(signal);
    await receiver?.stop();
  }
  return report.result === "failed" ? ("failed" as const) : undefined;
}

/** Starts the receiver, or checks that a receiver with this key is running. */
async function openReceiver(
  { command, url, readyTimeoutMs, key }: CertifyPlan,
  env: Record<string, string> & { readonly SVC_WEBHOOK_HMAC_KEY: string },
  context: Context,
): Promise<ReceiverProcess | undefined> {
  const { host, output, signal, onEnd } = context;
  if (command !== undefined) {
    const receiver = createReceiverProcess({ command, url, env, readyTimeoutMs }, context);
    onEnd(() => receiver.stop());
    await receiver.start();
    return receiver;
  }
  if (key === undefined) {
    // The key is also printed with --quiet, because the receiver cannot start without it.
    await output.warn("Start the receiver with this key:");
    await output.warn(`  SVC_WEBHOOK_HMAC_KEY=${env.SVC_WEBHOOK_HMAC_KEY}`);
    const { askText } = await import("../../prompt/ask.ts");
    await askText("Press Enter when it listens", { host, signal });
  }
  if (await isListening(url, signal)) return undefined;
  throw new CommandFailedError("temporary", "receiver_unreachable", `Nothing accepts connections at ${url}.`, {
    hint: "Start the receiver, or use --command to start it.",
  });
}

/** Selects the requested checks. If all of them depend on a failed check, the failed check is included as the cause. */
const selectShownItems = (
  items: readonly ReceiverCheckResult[],
  checks: readonly ReceiverCheck[],
): readonly ReceiverCheckResult[] =>
  items.filter(
    ({ check, result }) =>
      checks.includes(check) ||
      (result === "failed" && (check === genuineCheck || checks.every(({ requires }) => requires === "probe"))),
  );

/** Writes the generated key for --keep. A given key is not written, because it can belong to a real workspace. */
async function writeKey(folder: string, key: string | undefined): Promise<void> {
  await makeFolder(folder);
  const path = join(folder, "emulator-hmac.key");
  if (key === undefined) await rm(path, { force: true });
  else await writeFileAtomic(path, `${key}\n`, { durable: false, mode: 0o600 });
}

/**
 * Writes the deliveries of a check: each body as `<check>.json` or `<check>-2.json`, with its headers next to it.
 * Replaces the files of previous runs. Returns the paths of the bodies.
 */
async function writeDeliveries(folder: string, { check, exchanges }: ReceiverCheckResult): Promise<readonly string[]> {
  const files: string[] = [];
  for (const [i, { delivery }] of exchanges.entries()) {
    const path = join(folder, i === 0 ? check.id : `${check.id}-${i + 1}`);
    const headers = delivery.headers.map(([name, value]) => `${name}: ${value}\n`).join("");
    await writeFileAtomic(`${path}.headers`, headers, { durable: false });
    await writeFileAtomic(`${path}.json`, delivery.body, { durable: false });
    files.push(`${path}.json`);
  }
  return files;
}

type Flags = Readonly<Record<string, unknown>>;

/** The flags are a file of the user, because a cloned folder must not select a command that --last runs. */
async function readLastRun(host: Host): Promise<Flags> {
  const lastFlags = await readPrivateFile<Flags>(getLastRunPath(host), checkFlags);
  if (lastFlags) return lastFlags;
  throw new UsageError("--last: no run in this folder", { next: ["webhooks", "certify", "--to", "URL"] });
}

/** A run succeeds even if its flags cannot be stored. */
async function storeLastRun(host: Host, flags: Flags): Promise<void> {
  try {
    const path = getLastRunPath(host);
    await makeFolder(dirname(path));
    await writeFileAtomic(path, `${JSON.stringify(flags)}\n`, { mode: 0o600, durable: false });
  } catch {
    // The next run then has no --last.
  }
}

const isFlagValue = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isFlagValue) : ["string", "number", "boolean"].includes(typeof value);

const checkFlags = (flags: Flags): string | undefined => {
  const [name] = Object.keys(flags).filter((key) => !isFlagValue(flags[key]));
  return name === undefined ? undefined : `--${name} must be a string, a number, a boolean or a list`;
};

const getLastRunPath = ({ env, cwd }: Host): string =>
  join(getStateFolder(env), "certify", `${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}.json`);

export const commands: readonly Command[] = [webhooksCertify];
