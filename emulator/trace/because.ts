import { hostIn } from "../../src/base/host-name.ts";
import type { CauseRow } from "../store/cause.ts";
import type { Attempt, Delivery, Fault } from "../webhooks/deliveries.ts";
import type { Subscription } from "../webhooks/subscriptions.ts";

const minute = 60_000;

/** `20 min`, `90 s`. */
const span = (ms: number): string => (ms % minute === 0 ? `${ms / minute} min` : `${ms / 1_000} s`);

/** What an attempt brought, in a word: `503`, `connection_refused`. */
export const answerOf = ({ status, error }: Attempt): string => error?.code ?? String(status);

const moved = (by: string | null): string => (by === null ? "" : `; ${by} moved time`);

/** `tamper`, as the request that scripted it asked for. */
const interfered = (fault: Fault | null): string => (fault === null ? "" : `; scripted: ${faultText(fault)}`);
export const faultText = ({ effect, cause }: Fault): string => (cause === null ? effect : `${effect} (${cause})`);

export function whyCause({ id, before, parent_span, moved_by }: CauseRow): string {
  if (id.startsWith("timer:")) return `${before ?? "something not kept"} put it into the queue${moved(moved_by)}`;
  if (before !== null) return `${before} led to it`;
  return parent_span === null ? "somebody called" : "somebody called, in a trace of their own";
}

export const whyEvent = (cause: string | null): string =>
  cause === null ? "what led to it is not kept" : `${cause} did it`;

/** Why there is a delivery; and where its address is the reason that nothing was sent, what to do. */
export function whyDelivery({ webhook_id, activity, outcome }: Delivery, receiver: Subscription | undefined): string {
  const wants = `webhook ${webhook_id} wants ${activity}`;
  if (outcome !== "skipped_not_allowed") return wants;
  const how = receiver ? `; svc emulator start --webhook-allow ${hostIn(receiver.url)} allows it` : "";
  return `${wants}, and its address is not among those that may be delivered to${how}`;
}

/** `retry 3, 20 min after 503`. `made`: the attempts of its delivery that are known, in order. */
export function whyAttempt(attempt: Attempt, made: readonly Attempt[]): string {
  const { resend, cause, moved_by, fault } = attempt;
  const more = `${moved(moved_by)}${interfered(fault)}`;
  if (resend) return `${cause ?? "somebody"} asked to send it once more${interfered(fault)}`;
  const scheduled = made.filter((one) => !one.resend && one.number <= attempt.number);
  return `${turn(attempt.planned_at, scheduled.length - 1, scheduled.at(-2))}${more}`;
}

/** Why an attempt is planned. */
export function whyPlanned(
  due: number,
  { put_off }: Delivery,
  made: readonly Attempt[],
  receiver: Subscription | undefined,
): string {
  const scheduled = made.filter(({ resend }) => !resend);
  const skipped =
    receiver === undefined
      ? "; it will be skipped: the webhook is deleted"
      : receiver.status === "ACTIVE"
        ? ""
        : `; it will be skipped, unless webhook ${receiver.id} is enabled before: ${receiver.status}`;
  return `${turn(due, scheduled.length, scheduled.at(-1))}${interfered(put_off)}${skipped}`;
}

const turn = (due: number, retry: number, last: Attempt | undefined): string =>
  last === undefined ? "the first attempt" : `retry ${retry}, ${span(due - last.at)} after ${answerOf(last)}`;
