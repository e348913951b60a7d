import type { CheckContext, CheckFinding, ReceiverCheck } from "./check.ts";
import { describeResponse } from "./check.ts";
import type { ReceiverProbe } from "./probe.ts";
import { isAccepted } from "./sender.ts";

/** Check that the output changes only after an event. The other checks with a probe depend on it. */
export const probeCheck: ReceiverCheck = {
  id: "probe",
  summary: "The output of --probe shows an event, and only that",
  expects: "other",
  basis: "specified",
  reason: "Some results appear only in the data that the receiver has stored",
  requires: "probe",
  run: withProbe(async (probe, { deliveries, getEventNumber, send }) => {
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
  }),
};

/** Checks of effects that HTTP responses cannot show. */
export const probeChecks: readonly ReceiverCheck[] = [
  {
    id: "store.before-response",
    summary: "Stores an event before it responds",
    expects: "other",
    basis: "specified",
    reason: "After a 2xx the service never sends the event again",
    requires: "probe",
    run: withProbe(async (probe, { deliveries, getEventNumber, send }) => {
      const before = await probe.readSettled();
      const response = await send(deliveries.createGenuine(getEventNumber()));
      if (!isAccepted(response)) return { result: "not_checked", detail: describeResponse(response) };
      if ((await probe.readChanged(before, 0)) !== undefined) {
        return { result: "passed", detail: "the event was stored when the response came" };
      }
      await probe.readChanged(before);
      return { result: "failed", detail: "the event was stored only after the response" };
    }),
  },
  {
    id: "duplicate.processed-once",
    summary: "Processes the same event once",
    expects: "other",
    basis: "specified",
    reason: "Retries can repeat an event, so a receiver keeps a dedupe key",
    requires: "probe",
    run: withProbe(async (probe, { deliveries, getEventNumber, send }) => {
      const delivery = deliveries.createGenuine(getEventNumber());
      const before = await probe.readSettled();
      const first = await send(delivery);
      const changed = await probe.readChanged(before);
      if (!isAccepted(first) || changed === undefined)
        return { result: "not_checked", detail: describeResponse(first) };
      await send(delivery);
      return (await probe.staysSame(changed))
        ? { result: "passed", detail: "the second delivery changes nothing" }
        : { result: "failed", detail: "the second delivery of the event changes the output" };
    }),
  },
  {
    id: "signature.not-processed",
    summary: "Does not process an event with a wrong signature",
    expects: "other",
    basis: "specified",
    reason: "Unauthenticated senders can send such an event",
    requires: "probe",
    run: withProbe(async (probe, { deliveries, getEventNumber, send }) => {
      const { body, headers } = deliveries.createGenuine(getEventNumber());
      const before = await probe.readSettled();
      await send({ headers, body: Buffer.from(body.toString().replace('"SIGN"', '"VOID"')) });
      return (await probe.staysSame(before))
        ? { result: "passed", detail: "the output does not change" }
        : { result: "failed", detail: "the output changes after an event with a wrong signature" };
    }),
  },
  {
    id: "order.newest-wins",
    summary: "Keeps the newer status when an older event arrives late",
    expects: "other",
    basis: "specified",
    reason: "An event that is retried arrives after later ones",
    requires: "probe",
    run: withProbe(async (probe, { deliveries, getEventNumber, send }) => {
      const number = getEventNumber();
      const newest = "EXECUTED";
      const before = await probe.readSettled();
      await send(deliveries.createGenuine(number, { status: newest, laterSeconds: 60 }));
      const changed = await probe.readChanged(before);
      if (changed === undefined || countOccurrences(changed, newest) <= countOccurrences(before, newest)) {
        return { result: "not_checked", detail: "the output does not show the status of a contract" };
      }
      await send(deliveries.createGenuine(number));
      await probe.staysSame(changed);
      const late = await probe.readSettled();
      return countOccurrences(late, newest) < countOccurrences(changed, newest)
        ? { result: "failed", detail: "the older event replaces the newer status" }
        : { result: "passed", detail: "the newer status stays" };
    }),
  },
];

const countOccurrences = (text: string, word: string): number => text.split(word).length - 1;

function withProbe(check: (probe: ReceiverProbe, run: CheckContext) => Promise<CheckFinding>): ReceiverCheck["run"] {
  return (run) =>
    run.probe ? check(run.probe, run) : Promise.resolve({ result: "not_checked", detail: "--probe is not given" });
}
