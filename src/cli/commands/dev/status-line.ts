import type { showClock } from "../../../api/emulator/clock.ts";
import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { describeDuration } from "../../../base/duration.ts";
import { pluralize } from "../../../base/pluralize.ts";

export type Clock = ResultOf<typeof showClock>;
export type Webhooks = ResultOf<typeof listControlWebhooks>;

/** The clock of an emulator, as it was seen at a moment of this machine. */
export interface SeenClock extends Clock {
  readonly seenAt: number;
}

/** Virtual milliseconds at a monotonic time of this machine. */
export function virtualNow({ now, mode, speed, seenAt }: SeenClock, at: number): number {
  return Date.parse(now) + (mode === "real" ? (at - seenAt) * speed : 0);
}

/** What the status line says, the most important first: a narrow window shows only that. */
export function statusParts(clock: SeenClock | undefined, webhooks: Webhooks, isAppDown: boolean, at: number) {
  if (clock === undefined) return ["emulator not running", "q quits"];
  const now = virtualNow(clock, at);
  const failing = webhooks.filter(({ status, failure_count }) => status !== "ACTIVE" || failure_count > 0).length;
  const dueMs = clock.next_due === null ? undefined : Math.max(0, Date.parse(clock.next_due) - now);
  const due = dueMs === undefined ? "nothing due" : `next due in ${describeDuration(Math.ceil(dueMs / 1_000) * 1_000)}`;
  return [
    new Date(now).toISOString().slice(11, 19),
    ...(failing > 0 ? [`${pluralize(failing, "webhook")} failing`] : []),
    due,
    ...(isAppDown ? ["app down"] : []),
    "? keys",
    "q quits",
    `virtual date ${new Date(now).toISOString().slice(0, 10)}`,
  ];
}
