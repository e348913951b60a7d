import { matchesPathPattern } from "../../base/path-pattern.ts";
import type { listFaults } from "../emulator/faults.ts";
import type { ResultOf } from "../operation.ts";
import type { RemedyStep } from "./causes.ts";

export type Fault = ResultOf<typeof listFaults>[number];

interface Receiver {
  readonly id: number;
  readonly url: string;
  readonly only_for_activities: readonly string[];
}

/** The scripted faults that may act on what is sent to a webhook, of which none is used up. */
export const findActiveFaults = ({ id, url, only_for_activities: wanted }: Receiver, faults: readonly Fault[]) =>
  faults.filter(
    (fault) =>
      fault.direction === "outgoing" &&
      !isUsedUp(fault) &&
      (fault.webhook === undefined || fault.webhook === id) &&
      (fault.activity === undefined || wanted.includes(fault.activity)) &&
      (fault.path === undefined || (URL.canParse(url) && matchesPathPattern(new URL(url).pathname, fault.path))),
  );

export const isUsedUp = ({ count, hit }: Fault): boolean => count !== undefined && hit >= count;

/** `Scripted fault 1 affects its deliveries: tamper, 3 times so far.` */
export const describeFault = ({ id, effect, hit }: Fault): string =>
  `Scripted fault ${id} affects its deliveries: ${effect}, ${times(hit)} so far.`;

const times = (count: number): string => (count === 0 ? "never" : count === 1 ? "once" : `${count} times`);

/** What ends it. */
export const toFaultRemovalStep = ({ id, effect }: Fault): RemedyStep => ({
  kind: "fault",
  words: `Remove scripted fault ${id} (${effect})`,
  command: `svc emulator fault remove ${id}`,
});
