import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { formatActivityLine, formatLineTime } from "../emulator/start/activity-lines.ts";
import { describeRejection, type ListenedDelivery } from "../webhooks/listened-delivery.ts";
import { formatPostResult, isSuccessfulPost } from "../webhooks/post.ts";
import type { SessionEvent } from "./follow-emulator.ts";

type RequestEvent = Extract<SessionEvent, { event: "request" }>["request"];
type DeliveryEvent = Extract<SessionEvent, { event: "delivery" }>["delivery"];

/** Formats one request as svc emulator start does. */
export const formatRequestLine = ({ findings, ...request }: RequestEvent, columns: number | undefined): StyledLine =>
  formatActivityLine({ event: "request", ...request, findings: findings.map(({ code }) => code) }, columns);

export function formatAttemptLine(at: string, delivery: DeliveryEvent, columns: number | undefined): StyledLine {
  const { id, webhook_id, activity, contract_id, composite_id, attempt, outcome, next_attempt_at } = delivery;
  return formatActivityLine(
    {
      event: "delivery",
      at,
      delivery_id: id,
      webhook_id,
      activity,
      contract_id,
      composite_id,
      attempt: attempt?.number ?? null,
      status: attempt?.status ?? null,
      error: attempt?.error?.code ?? null,
      duration_ms: attempt?.duration_ms ?? null,
      outcome,
      next_attempt_at,
      webhook_disabled: delivery.webhook_status !== "ACTIVE",
    },
    columns,
  );
}

/** Formats `03:04:05  webhook  CONTRACT_SIGNED T-1  verified  200 in 12 ms`. */
export function formatDeliveryLine(
  { at, activity, composite_id, verified, reason, forwarded }: ListenedDelivery,
  columns: number | undefined,
): StyledLine {
  const about = [activity ?? "not a webhook", ...(composite_id === undefined ? [] : [composite_id])].join(" ");
  const verdict = verified ? green("verified") : red(describeRejection(reason));
  // The address was printed at the start.
  const text = forwarded && formatPostResult(forwarded).replace(/^Failed to reach \S+: /, "no response: ");
  const answer = forwarded && (isSuccessfulPost(forwarded) ? green : red)(text ?? "");
  return [dim(formatLineTime(at, columns)), `  webhook  ${about}  `, verdict, ...(answer ? ["  ", answer] : [])];
}

export const toRequestEvent = ({
  id,
  at,
  method,
  target,
  status,
  operation,
  failure,
  findings,
  duration_ms,
}: RequestEvent) => ({
  type: "request",
  id,
  at,
  method,
  target,
  status,
  operation,
  failure,
  findings: findings.map(({ code }) => code),
  duration_ms,
});

export const toAttemptEvent = (at: string, delivery: DeliveryEvent) => ({
  type: "attempt",
  at,
  delivery_id: delivery.id,
  webhook_id: delivery.webhook_id,
  activity: delivery.activity,
  composite_id: delivery.composite_id,
  attempt: delivery.attempt?.number ?? null,
  status: delivery.attempt?.status ?? null,
  error: delivery.attempt?.error?.code ?? null,
  outcome: delivery.outcome,
  next_attempt_at: delivery.next_attempt_at,
});

export function createDeliveryEvent({
  at,
  activity,
  composite_id,
  verified,
  reason,
  bytes,
  forwarded,
}: ListenedDelivery) {
  const answer =
    forwarded === undefined
      ? null
      : "status" in forwarded
        ? { status: forwarded.status, duration_ms: forwarded.duration_ms }
        : { error: forwarded.error, duration_ms: forwarded.duration_ms };
  return {
    type: "delivery",
    at,
    activity: activity ?? null,
    composite_id: composite_id ?? null,
    verified,
    reason: reason ?? null,
    bytes,
    forwarded: answer,
  };
}
