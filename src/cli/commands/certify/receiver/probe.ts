import { timedOut, withTimeout } from "../../../../base/timing.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { type CheckFinding, failed, notChecked, passed } from "../check.ts";
import { killProcessGroup, startProcessGroup } from "../process-group.ts";
import {
  type CheckContext,
  type CheckReason,
  describeResponse,
  type ReceiverCheck,
  type ReceiverProbe,
  specified,
} from "./check.ts";
import { isAccepted, type ReceiverResponse } from "./delivery.ts";
import { tamperDelivery } from "./delivery-checks.ts";

type ProbeOptions = Pick<Context, "host" | "signal"> & { readonly env: Record<string, string> };

const defaultPollIntervalMs = 100;
/** Maximum delay of a receiver that stores events immediately. */
const maxImmediateMs = 150;
/** Maximum wait for a change after an event. */
const maxWaitMs = 5_000;
/** Maximum wait until processing has ended. */
const maxSettleMs = 3 * maxWaitMs;
/** Minimum wait before the output counts as unchanged. */
const minQuietMs = 300;
/** Exceeds the wait for a change, so that the effect of a slow receiver is not missed. */
const maxQuietMs = 1.2 * maxWaitMs;
/** Wait before the output counts as unchanged when a check is repeated because it failed. */
const patientQuietMs = 4_000;

export function createProbe(command: string, options: ProbeOptions): ReceiverProbe {
  const { signal, host } = options;
  const read = () => runProbe(command, options);
  let slowestMs = 0;
  let isPatient = false;
  /** Output when no event was being processed. */
  let settledOutput: string | undefined;

  async function readChanged(before: string, waitMs = maxWaitMs): Promise<string | undefined> {
    const startedAt = host.wall.monotonicNow();
    for (;;) {
      const elapsedMs = host.wall.monotonicNow() - startedAt;
      const output = await read();
      if (output !== before) {
        slowestMs = Math.max(slowestMs, elapsedMs);
        settledOutput = undefined;
        return output;
      }
      if (elapsedMs >= waitMs || signal.aborted) return undefined;
      await host.wall.sleep(defaultPollIntervalMs, signal);
    }
  }

  const getQuietMs = () => Math.min(maxQuietMs, Math.max(isPatient ? patientQuietMs : minQuietMs, 1.2 * slowestMs));

  return {
    read,
    readChanged,
    async readSettled() {
      let output = await read();
      const endsAt = host.wall.monotonicNow() + maxSettleMs;
      while (output !== settledOutput && (isPatient || slowestMs >= maxImmediateMs)) {
        if (host.wall.monotonicNow() >= endsAt) break;
        const next = await readChanged(output, getQuietMs());
        if (next === undefined) settledOutput = output;
        output = next ?? output;
      }
      return output;
    },
    async staysSame(before) {
      const isSame = (await readChanged(before, getQuietMs())) === undefined;
      if (isSame) settledOutput = before;
      return isSame;
    },
    async withLongerWaits(work) {
      isPatient = true;
      settledOutput = undefined;
      try {
        return await work();
      } finally {
        isPatient = false;
      }
    },
  };
}

const maxProbeMs = 5_000;
const maxOutputBytes = 1024 * 1024;

async function runProbe(command: string, { host, env, signal }: ProbeOptions): Promise<string> {
  const child = startProcessGroup(command, { cwd: host.cwd, env, stderr: "ignore" });
  const chunks: Buffer[] = [];
  const findProblem = new Promise<string | undefined>((resolve) => {
    let size = 0;
    child.stdout?.on("data", (bytes: Buffer) => {
      chunks.push(bytes);
      size += bytes.length;
      if (size > maxOutputBytes) resolve("prints more than 1 MiB");
    });
    child.once("error", () => resolve("cannot run"));
    child.once("close", (code) => {
      if (code === 0) resolve(undefined);
      else resolve(code === null ? "was killed" : `exits with ${code}`);
    });
  });
  const outcome = await withTimeout(host.wall, maxProbeMs, findProblem, signal);
  // Child processes can outlive the shell.
  killProcessGroup(child, "SIGKILL");
  child.stdout?.destroy();
  if (outcome === undefined) return Buffer.concat(chunks).toString("utf8");
  const timeout = signal.aborted ? "was interrupted" : `takes more than ${maxProbeMs / 1_000} s`;
  const problem = outcome === timedOut ? timeout : outcome;
  throw new CommandFailedError("failed", "probe_failed", `The command of --probe ${problem}.`, {
    hint: "Run it in a terminal to see its errors. It must print what the receiver has stored, and exit with 0.",
  });
}

/** Events of a repeated check have other numbers. */
const repeatedEventOffset = 50;

export type RunProbeCheck = (probe: ReceiverProbe, context: CheckContext) => Promise<CheckFinding>;

/** Creates a check that compares the output of --probe before and after deliveries. */
export const createProbeCheck = (
  id: string,
  summary: string,
  reason: CheckReason,
  check: RunProbeCheck,
): ReceiverCheck => ({
  ...{ id, summary, ...reason, expects: "other", requires: "probe" },
  run: (context) => check(context.probe!, context),
});

/**
 * Repeats a check that fails, with longer waits. The output can show the late effect of another event, so only a
 * failure that occurs twice is certain.
 */
export const confirmFailure =
  (check: RunProbeCheck): RunProbeCheck =>
  async (probe, context) => {
    const finding = await check(probe, context);
    if (finding.result !== "failed") return finding;
    const createGenuine: CheckContext["createGenuine"] = (changes, further = 0) =>
      context.createGenuine(changes, further + repeatedEventOffset);
    return probe.withLongerWaits(() => check(probe, { ...context, createGenuine }));
  };

/** Check that the output changes only after an event. The other checks with a probe depend on it. */
export const probeCheck = createProbeCheck(
  "probe",
  "The output of --probe shows an event, and only that",
  specified("Some results appear only in the data that the receiver has stored", "probe"),
  async (probe, { createGenuine, send }) => {
    // The first change can be the effect of an earlier event, so the second one measures the delay.
    for (const further of [0, 1]) {
      let before = await probe.readSettled();
      if ((await probe.readChanged(before, 0)) !== undefined) {
        before = await probe.read();
        if (!(await probe.staysSame(before))) return failed("the output changes without an event");
      }
      const response = await send(createGenuine({}, further));
      if (!isAccepted(response)) return failed(describeResponse(response));
      if ((await probe.readChanged(before)) === undefined)
        return failed(`the output does not change within ${maxWaitMs / 1_000} s of an event`);
    }
    return passed("the output changes after an event");
  },
);

/** Number of events that must be stored before the response. A receiver that stores them later can be fast once. */
const storedEvents = 3;

/** Sends a new event, and reports whether it changes the output. */
async function sendNew(probe: ReceiverProbe, send: () => Promise<ReceiverResponse>) {
  const before = await probe.readSettled();
  const response = await send();
  const isStored = isAccepted(response) && (await probe.readChanged(before)) !== undefined;
  return { response, isStored };
}

/** Explains why an event proves nothing. */
const describeUnstored = (response: ReceiverResponse): string =>
  isAccepted(response)
    ? `the output does not change within ${maxWaitMs / 1_000} s of the event`
    : describeResponse(response);

/** Returns `passed` if the event changes the output. */
async function assessStored(probe: ReceiverProbe, send: () => Promise<ReceiverResponse>): Promise<CheckFinding> {
  const { response, isStored } = await sendNew(probe, send);
  if (!isAccepted(response)) return notChecked(describeResponse(response));
  return isStored ? passed("the genuine event is stored") : failed("the genuine event is not stored");
}

/** Checks of effects that HTTP responses cannot show. */
export const probeChecks: readonly ReceiverCheck[] = [
  createProbeCheck(
    "store.before-response",
    "Stores an event before it responds",
    specified("After a 2xx the service never sends the event again", "answered-before-stored"),
    async (probe, { createGenuine, send }) => {
      for (let further = 0; further < storedEvents; further += 1) {
        const before = await probe.readSettled();
        const response = await send(createGenuine({}, further));
        if (!isAccepted(response)) return notChecked(describeResponse(response));
        if ((await probe.readChanged(before, 0)) !== undefined) continue;
        return (await probe.readChanged(before)) === undefined
          ? failed(`an event was not stored within ${maxWaitMs / 1_000} s of the response`)
          : failed("an event was stored only after the response");
      }
      return passed(`${storedEvents} events were stored when --probe ran after their responses`);
    },
  ),
  createProbeCheck(
    "duplicate.processed-once",
    "Processes the same event once",
    specified("Retries can repeat an event after later ones, so a receiver keeps a dedupe key", "no-dedupe"),
    confirmFailure(async (probe, { createGenuine, send }) => {
      const delivery = createGenuine();
      const first = await sendNew(probe, () => send(delivery));
      if (!first.isStored) return notChecked(describeUnstored(first.response));
      await sendNew(probe, () => send(createGenuine({}, 1)));
      const settledOutput = await probe.readSettled();
      await send(delivery);
      return (await probe.staysSame(settledOutput))
        ? passed("the second delivery changes nothing")
        : failed("the second delivery of the event changes the output");
    }),
  ),
  createProbeCheck(
    "duplicate.other-event",
    "Processes a second event of a contract",
    specified("A dedupe key that is the same for several events loses all but the first", "dedupe-too-wide"),
    async (probe, { createGenuine, send }) => {
      const first = await sendNew(probe, () => send(createGenuine()));
      if (!first.isStored) return notChecked(describeUnstored(first.response));
      const second = await sendNew(probe, () => send(createGenuine({ status: "EXECUTED", laterSeconds: 1 })));
      if (!isAccepted(second.response)) return notChecked(describeResponse(second.response));
      // A probe that counts contracts shows only the first event of each.
      return second.isStored
        ? passed("the output changes after each of two events of a contract")
        : { result: "warning", detail: "the output does not change after a second event of the same contract" };
    },
  ),
  createProbeCheck(
    "duplicate.hang-up-stored",
    "Stores an event whose sender disconnected",
    specified("The service retries an attempt that timed out, and a receiver can have seen it", "lost-after-hang-up"),
    confirmFailure(async (probe, { createGenuine, send }) => {
      const delivery = createGenuine();
      return assessStored(probe, async () => {
        await send({ ...delivery, hangsUp: "after-body" });
        return send(delivery);
      });
    }),
  ),
  createProbeCheck(
    "signature.forged-first",
    "Processes an event after a forged copy of it",
    specified("Unauthenticated senders could otherwise suppress events", "deduped-unverified"),
    confirmFailure(async (probe, { createGenuine, deliveries, send }) => {
      const delivery = createGenuine();
      await send(
        deliveries.forge(delivery.body.toString(), {
          edit: (signature) => signature.replace(/^./, (first) => (first === "0" ? "1" : "0")),
        }),
      );
      return assessStored(probe, () => send(delivery));
    }),
  ),
  createProbeCheck(
    "signature.not-processed",
    "Does not process an event with a wrong signature",
    specified("Unauthenticated senders can send such an event", "processed-unchecked"),
    confirmFailure(async (probe, context) => {
      const before = await probe.readSettled();
      await context.send(tamperDelivery(context));
      return (await probe.staysSame(before))
        ? passed("the output does not change")
        : failed("the output changes after an event with a wrong signature");
    }),
  ),
  createProbeCheck(
    "order.newest-wins",
    "Keeps the newer status when an older event arrives late",
    specified("An event that is retried arrives after later ones", "stale-overwrite"),
    async (probe, { createGenuine, send }) => {
      const newest = "EXECUTED";
      const countNewest = (output: string) => output.split(newest).length - 1;
      const before = await probe.readSettled();
      await send(createGenuine({ status: newest, laterSeconds: 1 }));
      const changedOutput = await probe.readChanged(before);
      if (changedOutput === undefined || countNewest(changedOutput) <= countNewest(before))
        return notChecked("the output does not show the status of a contract");
      await send(createGenuine());
      await probe.staysSame(changedOutput);
      return countNewest(await probe.readSettled()) < countNewest(changedOutput)
        ? failed("the older event replaces the newer status")
        : passed("the newer status stays");
    },
  ),
];
