import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import type { ScheduledEntry } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Something that came due and is a cause of its own: it was put into the queue because of another. */
export function createTimerCause(entry: ScheduledEntry, what: string, clock: VirtualClock, make: MakeCauseRow): Cause {
  const id = `timer:${entry.id}`;
  const at = clock.now();
  const movedBy = clock.movedBy?.id;
  return { id, before: causeOf(entry), row: (before) => make({ id, what, at, before, movedBy }) };
}

/** Why an entry was put into the queue; its row was written then. */
export const causeOf = ({ cause }: ScheduledEntry): Cause | undefined => (cause === null ? undefined : { id: cause });
