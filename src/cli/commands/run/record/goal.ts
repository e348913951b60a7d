import { UsageError } from "../../../process/failure.ts";
import { listAnswers, type ObservedDelivery } from "../observations.ts";
import type { LoggedDelivery, RecordedAction, RequestHistory } from "./history.ts";

/** Failure that a shortened story must reproduce. */
export type RecordingGoal =
  | { readonly kind: "request"; readonly action: RecordedAction }
  | {
      readonly kind: "delivery";
      readonly webhook: RecordedAction;
      readonly seen: LoggedDelivery;
      readonly until: number;
    };

/**
 * Finds the last rejected request or undelivered delivery. `about` selects a specific one, such as `request:12` or
 * `delivery:3`.
 */
export function findGoal({ actions, deliveries }: RequestHistory, about: string | undefined): RecordingGoal {
  const goals = [
    ...actions.map((action) => {
      const goal: RecordingGoal = { kind: "request", action };
      return { at: action.at, id: `request:${action.id}`, goal };
    }),
    ...deliveries.flatMap((seen) => {
      const webhook = actions.find((one) => one.webhook?.id === seen.webhook_id);
      const last = seen.attempts.at(-1);
      if (!webhook || !last) return [];
      const goal: RecordingGoal = { kind: "delivery", webhook, seen, until: Date.parse(last.at) };
      return [{ at: goal.until, id: `delivery:${seen.id}`, goal }];
    }),
  ];
  if (about !== undefined) {
    const named = goals.find(({ id }) => id === about);
    if (named) return named.goal;
    throw new UsageError(`--about: ${about} is not in the request log`, {
      hint: "The value is request:12 (see svc emulator requests) or delivery:3 (see svc emulator deliveries).",
    });
  }
  const wrong = goals.filter(({ goal }) => isFailure(goal)).sort((one, other) => one.at - other.at);
  const last = wrong.at(-1) ?? goals.filter(({ goal }) => goal.kind === "request").at(-1);
  if (!last) {
    throw new UsageError("The request log of the emulator has no request that a scenario can repeat", {
      hint: "Use the emulator first: svc emulator requests shows the log.",
    });
  }
  return last.goal;
}

const isFailure = (goal: RecordingGoal): boolean =>
  goal.kind === "request" ? goal.action.status >= 400 : goal.seen.outcome !== "delivered";

/** Formats the expected delivery without the name of its contract. */
export const toExpectedDelivery = ({ activity, outcome, attempts }: LoggedDelivery) => ({
  activity,
  outcome,
  answers: listAnswers(attempts),
});

/** Reports whether one of the deliveries to this receiver equals the expected delivery. */
export function isExpectedDeliverySeen(
  seen: LoggedDelivery,
  to: string,
  deliveries: readonly ObservedDelivery[],
): boolean {
  const expected = JSON.stringify(toExpectedDelivery(seen));
  return deliveries.some(
    ({ to: name, activity, outcome, answers }) =>
      name === to && JSON.stringify({ activity, outcome, answers }) === expected,
  );
}
