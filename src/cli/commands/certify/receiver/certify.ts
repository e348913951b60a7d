import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Activity } from "../../../../api/activities.ts";
import { waitUntilAborted } from "../../../../base/on-abort.ts";
import { pluralize } from "../../../../base/text.ts";
import { writeFileAtomic } from "../../../../files/atomic-write.ts";
import { makeFolder } from "../../../../files/folders.ts";
import type { Context } from "../../../command.ts";
import type { EmulatorAccess } from "../../../connection/emulator/emulator-access.ts";
import { annotate, maskSecrets, shouldAnnotate } from "../../../output/github-actions.ts";
import { CommandFailedError, UsageError } from "../../../process/failure.ts";
import { canPrompt } from "../../../prompt/confirm.ts";
import { describeResponse, type ReceiverCheck } from "./check.ts";
import { type Diagnosis, diagnoseMistakes, findAcceptedMistakes } from "./diagnosis.ts";
import { type CertificationEmulator, startCertificationEmulator } from "./emulation.ts";
import { genuineCheck } from "./genuine-checks.ts";
import type { ReceiverLanguage } from "./mistakes.ts";
import { createProbe } from "./probe.ts";
import { createReceiverProcess, isListening, type ReceiverProcess } from "./receiver-process.ts";
import {
  type CertifyReport,
  checkColumns,
  createCertifyReport,
  formatCheckLine,
  formatFindings,
  formatReceiverJUnitReport,
} from "./report.ts";
import { type CheckRunOptions, type ReceiverCheckResult, runChecks } from "./run.ts";
import { hasSucceeded, isAccepted, type RawDelivery, sendDelivery } from "./sender.ts";

export interface CertifyPlan extends Pick<CheckRunOptions, "url" | "checks" | "maxMs"> {
  readonly activity: Activity;
  /** Base64. The emulator generates a key if this is undefined. */
  readonly key: string | undefined;
  readonly command: string | undefined;
  readonly readyTimeoutMs: number;
  readonly probe: string | undefined;
  readonly language: ReceiverLanguage | undefined;
  /** Absolute path of the folder for the deliveries. */
  readonly keep: string | undefined;
  /** Keeps the emulator and the receiver running until Ctrl-C. */
  readonly console: boolean;
  writeReport(xml: string): Promise<void>;
}

export async function runCertification(
  plan: CertifyPlan,
  createEnvironment: (access: EmulatorAccess) => Record<string, string>,
  context: Context,
) {
  const { output, host, signal } = context;
  const emulation = await startCertificationEmulator(plan, context);
  const { key } = emulation.deliveries;
  await maskSecrets(host, [key]);
  const env = { ...createEnvironment(emulation.access), SVC_WEBHOOK_HMAC_KEY: key };
  const receiver = await openReceiver(plan, env, emulation, context);
  const probe = plan.probe === undefined ? undefined : createProbe(plan.probe, { host, env, signal });
  const { keep } = plan;
  if (keep !== undefined) await writeKey(keep, plan.key === undefined ? key : undefined);
  const files = new Map<string, readonly string[]>();

  const startedAt = host.wall.monotonicNow();
  const isTable = output.format === "table";
  const items = await runChecks({
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
  const diagnosed = await diagnoseItems(items, plan, emulation, context);
  await output.showStatus(undefined);
  const shownItems = selectShownItems(diagnosed.items, plan.checks);
  const report = createCertifyReport({
    ...plan,
    items: shownItems,
    diagnoses: diagnosed.diagnoses,
    seconds: Math.round((host.wall.monotonicNow() - startedAt) / 100) / 10,
    files,
  });
  if (!plan.console) await receiver?.stop();
  await writeReports(report, shownItems, plan, context);
  const cutOff = pluralize(shownItems.filter(({ isCutOff }) => isCutOff).length, "check was", "checks were");
  if (shownItems.some(({ isCutOff }) => isCutOff))
    await output.warn(`${cutOff} not run within the time limit of ${plan.maxMs / 1_000} s (--time-limit)`);
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
  env: Record<string, string>,
  { deliveries }: CertificationEmulator,
  context: Context,
): Promise<ReceiverProcess | undefined> {
  const { host, globals, output, signal, onEnd } = context;
  if (command !== undefined) {
    const receiver = createReceiverProcess({ command, url, env, readyTimeoutMs }, context);
    onEnd(() => receiver.stop());
    await receiver.start();
    return receiver;
  }
  if (key === undefined) {
    if (!canPrompt(host, globals)) {
      throw new UsageError("--command or --hmac-key-file is required when not running interactively", {
        hint: "The key can also be set in SVC_WEBHOOK_HMAC_KEY.",
      });
    }
    // The key is also printed with --quiet, because the receiver cannot start without it.
    await output.warn("Start the receiver with this key:");
    await output.warn(`  SVC_WEBHOOK_HMAC_KEY=${deliveries.key}`);
    const { askText } = await import("../../../prompt/ask.ts");
    await askText("Press Enter when it listens", { host, signal });
  }
  if (!(await isListening(url, signal))) {
    throw new CommandFailedError("temporary", "receiver_unreachable", `Nothing accepts connections at ${url}.`, {
      hint: "Start the receiver, or use --command to start it.",
    });
  }
  return undefined;
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

/** Finds the mistakes. If the receiver accepts no delivery, this also searches for signatures that it accepts. */
async function diagnoseItems(
  items: readonly ReceiverCheckResult[],
  { url, console }: CertifyPlan,
  { deliveries, record }: CertificationEmulator,
  { host: { wall }, signal }: Context,
): Promise<{ readonly items: readonly ReceiverCheckResult[]; readonly diagnoses: readonly Diagnosis[] }> {
  const accepts = ({ check: { expects }, exchanges }: ReceiverCheckResult) =>
    exchanges.some(({ response }) => (expects === "reject" ? hasSucceeded(response) : isAccepted(response)));
  // Otherwise, a rejection proves nothing.
  if (items.some((item) => item.check.expects !== "other" && accepts(item)))
    return { items, diagnoses: diagnoseMistakes(items) };
  const first = items[0]?.exchanges[0]?.response;
  const isRejection = first?.error === undefined && first?.status !== undefined && first.status >= 400;
  const send = async (delivery: RawDelivery) => {
    const response = await sendDelivery(delivery, { url, wall, signal, timeoutMs: 2_000 });
    if (console) record("search for the mistake", { delivery, response });
    return response;
  };
  const acceptedMistakes = isRejection ? await findAcceptedMistakes(deliveries, send) : [];
  const detail = `no genuine event is accepted (${first ? describeResponse(first) : "nothing was sent"})`;
  const itemsOfReport = items.map((item) =>
    item.check.expects === "reject" ? { ...item, result: "not_checked" as const, detail } : item,
  );
  return { items: itemsOfReport, diagnoses: diagnoseMistakes(itemsOfReport, acceptedMistakes) };
}

async function writeReports(
  report: CertifyReport,
  items: readonly ReceiverCheckResult[],
  { writeReport }: CertifyPlan,
  context: Context,
): Promise<void> {
  const { output, host, globals, argv } = context;
  await writeReport(formatReceiverJUnitReport(report));
  if (output.format === "ndjson") {
    for (const check of report.checks) await output.printDocument({ type: "check", ...check });
    for (const finding of report.findings) await output.printDocument({ type: "finding", ...finding });
    const { checks: _, findings: __, ...sum } = report;
    await output.printDocument({ type: "result", ...sum });
  } else if (output.format === "table" && (host.stdout.isTTY === true || globals.format === "table")) {
    await output.print(...items.map(formatCheckLine), ...formatFindings(report));
  } else {
    await output.show(report, { rows: "checks", columns: checkColumns });
    if (output.format === "table") for (const line of formatFindings(report)) await output.note(line);
  }
  if (!shouldAnnotate(host.env, argv)) return;
  for (const { title, fix, mistake, checks: ids, result } of report.findings)
    if (result === "failed")
      await annotate(host, { code: mistake, message: `${title} (${ids.join(", ")})`, hint: fix });
}

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
