import type { advanceClock } from "../../src/api/emulator/clock.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { parseDuration } from "../../src/base/quantities.ts";
import {
  AdvanceTargetInPastError,
  type AdvanceTargetMs,
  AdvanceTargetTooFarError,
  DeliveryUnderWayError,
  type FinishedEntry,
} from "../clock/advance.ts";
import { AdvanceUnderWayError, type Runner } from "../clock/runner.ts";
import type { View } from "../store/port.ts";
import { deliveries, getStatusText } from "../webhooks/deliveries.ts";
import { webhookRows } from "../webhooks/webhooks.ts";
import type { ControlHandlers } from "./context.ts";

export const clockHandlers = {
  "clock.show": (_, { runner, caller }) => toClockRecord(runner.readStatus(caller.token.workspace?.id)),

  "clock.set": async ({ body }, { runner, request, fail }) => {
    try {
      return toClockRecord(await runner.setClock(body, request.cause));
    } catch (error) {
      if (error instanceof AdvanceUnderWayError) fail("advance-in-progress");
      throw error;
    }
  },

  "clock.advance": async ({ body }, { store, runner, clock, request, fail }) => {
    try {
      const { from, to, ran, next_due, ...rest } = await runner.advance(toTarget(body), request.cause);
      return {
        from: toIsoMillis(from),
        to: toIsoMillis(to),
        ran: toRunRecords(store, ran),
        next_due: toIsoOrNull(next_due),
        ...rest,
      };
    } catch (error) {
      if (error instanceof AdvanceUnderWayError) fail("advance-in-progress");
      if (error instanceof DeliveryUnderWayError) fail("delivery-in-progress");
      if (error instanceof AdvanceTargetInPastError) fail("time-in-past", { now: toIsoMillis(clock.now()) });
      if (error instanceof AdvanceTargetTooFarError) fail("time-out-of-range");
      throw error;
    }
  },
} satisfies ControlHandlers;

/** Adds the status in words, which depends on the webhook after the last attempt (DECISIONS.md, C18). */
function toRunRecords(view: View, runs: readonly FinishedEntry[]) {
  const lastAttempts = new Map(runs.flatMap((run) => (run.kind === "deliver" ? [[run.ref, run] as const] : [])));
  return runs.map((run) => {
    const { at, kind, ref, outcome } = run;
    const delivery = lastAttempts.get(ref) === run ? view.get(deliveries, Number(ref)) : undefined;
    const status_text = delivery && getStatusText(delivery, view.get(webhookRows, delivery.webhook_id));
    return { at: toIsoMillis(at), kind, ref, outcome, status_text: status_text ?? outcome };
  });
}

function toTarget({ by, to, next }: InputOf<typeof advanceClock>["body"]): AdvanceTargetMs {
  if (by !== undefined) return { by: parseDuration(by) ?? 0 };
  if (to !== undefined) return { to: Date.parse(to) };
  return next ? { next } : { untilIdle: true };
}

export const toClockRecord = ({ now, next_due, ...rest }: Awaited<ReturnType<Runner["readStatus"]>>) => ({
  now: toIsoMillis(now),
  ...rest,
  next_due: toIsoOrNull(next_due),
});

const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIsoMillis(ms));
