import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Activity } from "../../../../api/activities.ts";
import { waitUntilAborted } from "../../../../base/on-abort.ts";
import { pluralize } from "../../../../base/text.ts";
import { writeFileAtomic } from "../../../../files/atomic-write.ts";
import { makeFolder } from "../../../../files/folders.ts";
import type { Context } from "../../../command.ts";
import { maskSecrets } from "../../../output/github-actions.ts";
import { CommandFailedError, UsageError } from "../../../process/failure.ts";
import { canPrompt } from "../../../prompt/confirm.ts";
import { buildChildEnvironment } from "../../emulator/exec.ts";
import type { ReceiverCheck } from "./check.ts";
import { diagnose } from "./diagnosis.ts";
import { startCertificationEmulator } from "./emulation.ts";
import { genuineCheck } from "./event-checks.ts";
import type { ReceiverLanguage } from "./mistakes.ts";
import { createProbe } from "./probe.ts";
import { createReceiverProcess, isListening, type ReceiverProcess } from "./receiver-process.ts";
import { createCertifyReport, formatReceiverJUnitReport, printReport } from "./report.ts";
import { type CheckRunOptions, type ReceiverCheckResult, runChecks } from "./run.ts";
import { type RawDelivery, sendDelivery } from "./sender.ts";

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

export async function runCertification(plan: CertifyPlan, context: Context) {
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
  const { items: allItems, diagnoses } = await diagnose(checkedItems, emulation.deliveries, sendOther);
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
    await output.warn(`${cutOff} not run within the time limit of ${plan.maxMs / 1_000} s (--time-limit)`);
  }
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
    await output.warn(`  SVC_WEBHOOK_HMAC_KEY=${env.SVC_WEBHOOK_HMAC_KEY}`);
    const { askText } = await import("../../../prompt/ask.ts");
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
