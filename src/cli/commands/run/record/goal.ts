import { UsageError } from "../../../process/failure.ts";
import { listAnswers, type ObservedDelivery } from "../observations.ts";
import type { LoggedDelivery, RecordedAction, RequestHistory } from "./history.ts";

/** Failure that a shortened story must reproduce. */
export type RecordingGoal =
  | { readonly kind: "request"; readonly action: RecordedAction }
  | {
      readonly kind: "delivery";
      readonly webhook: RecordedAction;
      readonly delivery: LoggedDelivery;
      readonly virtualTimeMs: number;
    };

/**
 * Finds the last rejected request or undelivered delivery. `about` selects a specific one, such as `request:12` or
 * `delivery:3`.
 */
export function findGoal({ actions, deliveries }: RequestHistory, eventId: string | undefined): RecordingGoal {
  const goals = [
    ...actions.map((action) => {
      const goal: RecordingGoal = { kind: "request", action };
      return { at: action.at, id: `request:${action.id}`, goal };
    }),
    ...deliveries.flatMap((delivery) => {
      const webhook = actions.find((action) => action.webhook?.id === delivery.webhook_id);
      const last = delivery.attempts.at(-1);
      if (!webhook || !last) return [];
      const goal: RecordingGoal = { kind: "delivery", webhook, delivery, virtualTimeMs: Date.parse(last.at) };
      return [{ at: goal.virtualTimeMs, id: `delivery:${delivery.id}`, goal }];
    }),
  ];
  if (eventId !== undefined) {
    const match = goals.find(({ id }) => id === eventId);
    if (match) return match.goal;
    throw new UsageError(`--about: ${eventId} is not in the request log`, {
      hint: "The value is request:12 (see svc emulator requests) or delivery:3 (see svc emulator deliveries).",
    });
  }
  const failures = goals.filter(({ goal }) => isFailure(goal)).sort((a, b) => a.at - b.at);
  const last = failures.at(-1) ?? goals.filter(({ goal }) => goal.kind === "request").at(-1);
  if (!last) {
    throw new UsageError("The request log of the emulator has no request that a scenario can repeat", {
      hint: "Use the emulator first: svc emulator requests shows the log.",
    });
  }
  return last.goal;
}

const isFailure = (goal: RecordingGoal): boolean =>
  goal.kind === "request" ? goal.action.status >= 400 : goal.delivery.outcome !== "delivered";

/** Formats the expected delivery without the name of its contract. */
export const toExpectedDelivery = ({ activity, outcome, attempts }: LoggedDelivery) => ({
  activity,
  outcome,
  answers: listAnswers(attempts),
});

/** Reports whether one of the deliveries to this receiver equals the expected delivery. */
export function isExpectedDeliverySeen(
  delivery: LoggedDelivery,
  to: string,
  deliveries: readonly ObservedDelivery[],
): boolean {
  const expected = JSON.stringify(toExpectedDelivery(delivery));
  return deliveries.some(
    ({ to: name, activity, outcome, answers: responses }) =>
      name === to && JSON.stringify({ activity, outcome, answers: responses }) === expected,
  );
}
