import { type CheckContext, type CheckFinding, describeResponse, type ReceiverCheck } from "./check.ts";
import type { ReceiverProbe } from "./probe.ts";
import { isAccepted } from "./sender.ts";
import { tamperDelivery } from "./signature-checks.ts";

interface ProbeVariant extends Pick<ReceiverCheck, "id" | "summary" | "reason" | "mistake"> {
  readonly check: (probe: ReceiverProbe, run: CheckContext) => Promise<CheckFinding>;
}

/** Creates a check that runs only with --probe. */
const createProbeCheck = ({ check, ...declaration }: ProbeVariant): ReceiverCheck => ({
  ...declaration,
  expects: "other",
  basis: "specified",
  requires: "probe",
  run: (run) => check(run.probe!, run),
});

/** Check that the output changes only after an event. The other checks with a probe depend on it. */
export const probeCheck = createProbeCheck({
  id: "probe",
  summary: "The output of --probe shows an event, and only that",
  reason: "Some results appear only in the data that the receiver has stored",
  mistake: "probe",
  check: async (probe, { deliveries, getEventNumber, send }) => {
    const before = await probe.read();
    if ((await probe.readChanged(before, 0)) !== undefined) {
      return { result: "failed", detail: "the output changes without an event" };
    }
    const response = await send(deliveries.createGenuine(getEventNumber()));
    if (!isAccepted(response))
      return { result: "not_checked", detail: `no event was accepted: ${describeResponse(response)}` };
    return (await probe.readChanged(before)) === undefined
      ? { result: "failed", detail: "the output does not change after an event" }
      : { result: "passed", detail: "the output changes after an event" };
  },
});

/** Checks of effects that HTTP responses cannot show. */
export const probeChecks = (
  [
    {
      id: "store.before-response",
      summary: "Stores an event before it responds",
      reason: "After a 2xx the service never sends the event again",
      mistake: "answered-before-stored",
      check: async (probe, { deliveries, getEventNumber, send }) => {
        const before = await probe.readSettled();
        const response = await send(deliveries.createGenuine(getEventNumber()));
        if (!isAccepted(response)) return { result: "not_checked", detail: describeResponse(response) };
        if ((await probe.readChanged(before, 0)) !== undefined) {
          return { result: "passed", detail: "the event was stored when the response came" };
        }
        await probe.readChanged(before);
        return { result: "failed", detail: "the event was stored only after the response" };
      },
    },
    {
      id: "duplicate.processed-once",
      summary: "Processes the same event once",
      reason: "Retries can repeat an event, so a receiver keeps a dedupe key",
      mistake: "no-dedupe",
      check: async (probe, { deliveries, getEventNumber, send }) => {
        const delivery = deliveries.createGenuine(getEventNumber());
        const before = await probe.readSettled();
        const first = await send(delivery);
        const changedOutput = await probe.readChanged(before);
        if (!isAccepted(first) || changedOutput === undefined)
          return { result: "not_checked", detail: describeResponse(first) };
        await send(delivery);
        return (await probe.staysSame(changedOutput))
          ? { result: "passed", detail: "the second delivery changes nothing" }
          : { result: "failed", detail: "the second delivery of the event changes the output" };
      },
    },
    {
      id: "signature.not-processed",
      summary: "Does not process an event with a wrong signature",
      reason: "Unauthenticated senders can send such an event",
      mistake: "processed-unchecked",
      check: async (probe, run) => {
        const before = await probe.readSettled();
        await run.send(tamperDelivery(run));
        return (await probe.staysSame(before))
          ? { result: "passed", detail: "the output does not change" }
          : { result: "failed", detail: "the output changes after an event with a wrong signature" };
      },
    },
    {
      id: "order.newest-wins",
      summary: "Keeps the newer status when an older event arrives late",
      reason: "An event that is retried arrives after later ones",
      mistake: "stale-overwrite",
      check: async (probe, { deliveries, getEventNumber, send }) => {
        const number = getEventNumber();
        const newest = "EXECUTED";
        const before = await probe.readSettled();
        await send(deliveries.createGenuine(number, { status: newest, laterSeconds: 60 }));
        const changedOutput = await probe.readChanged(before);
        if (
          changedOutput === undefined ||
          countOccurrences(changedOutput, newest) <= countOccurrences(before, newest)
        ) {
          return { result: "not_checked", detail: "the output does not show the status of a contract" };
        }
        await send(deliveries.createGenuine(number));
        await probe.staysSame(changedOutput);
        const settledOutput = await probe.readSettled();
        return countOccurrences(settledOutput, newest) < countOccurrences(changedOutput, newest)
          ? { result: "failed", detail: "the older event replaces the newer status" }
          : { result: "passed", detail: "the newer status stays" };
      },
    },
  ] satisfies readonly ProbeVariant[]
).map(createProbeCheck);

const countOccurrences = (text: string, word: string): number => text.split(word).length - 1;
