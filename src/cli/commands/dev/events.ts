import { followEvents } from "../../../api/emulator/console.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Context } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { formatActivityLine, formatLineTime } from "../emulator/start/banner.ts";
import {
  formatPostResult,
  formatVerdict,
  type HandledDelivery,
  isSuccessfulPost,
  summarizePost,
} from "../webhooks/forwarding.ts";

export type SessionEvent = EventOf<typeof followEvents>;

/** Interval of checks for a restarted emulator. */
const defaultRetryIntervalMs = 500;

export type EventStream = AsyncIterable<SessionEvent>;

/** Resolves once the emulator of this folder sends every later event. Undefined if it does not respond. */
export async function openEvents(context: Context): Promise<EventStream | undefined> {
  try {
    const client = await context.client("emulator", { connections: 1 });
    const options = { signal: context.signal, silenceMs: 0, retries: 0 };
    const { value } = await client.send(CheckedCall.check(followEvents), options);
    return value as EventStream;
  } catch {
    // The webhook watch reports the end of the emulator.
    return undefined;
  }
}

/** Emits the events of an open stream and, across restarts, of those after it, until the run ends. */
export async function followEmulator(
  context: Context,
  openStream: EventStream | undefined,
  onEvent: (event: SessionEvent) => void,
): Promise<void> {
  const { signal, host } = context;
  for (let stream = openStream; !signal.aborted; stream = await openEvents(context)) {
    if (stream) await emitEvents(stream, onEvent).catch(() => {});
    await host.wall.sleep(defaultRetryIntervalMs, signal);
  }
}

async function emitEvents(stream: EventStream, onEvent: (event: SessionEvent) => void): Promise<void> {
  for await (const event of stream) onEvent(event);
}

type RequestEvent = Extract<SessionEvent, { event: "request" }>["request"];
type DeliveryEvent = Extract<SessionEvent, { event: "delivery" }>["delivery"];

export const formatRequestLine = ({ findings, ...request }: RequestEvent, columns: number | undefined): StyledLine =>
  formatActivityLine({ event: "request", ...request, findings: findings.map(({ code }) => code) }, columns);

export function formatAttemptLine(at: string, delivery: DeliveryEvent, columns: number | undefined): StyledLine {
  const { type: _, ...fields } = toAttemptEvent(at, delivery);
  const { contract_id, attempt, webhook_status } = delivery;
  return formatActivityLine(
    {
      event: "delivery",
      ...fields,
      contract_id,
      duration_ms: attempt?.duration_ms ?? null,
      resend: attempt?.resend ?? false,
      webhook_disabled: webhook_status !== "ACTIVE",
    },
    columns,
  );
}

/** Formats a delivery as `03:04:05  webhook  CONTRACT_SIGNED T-1  verified  200 in 12 ms`. */
export function formatDeliveryLine(delivery: HandledDelivery, columns: number | undefined): StyledLine {
  const { at, activity, composite_id, forwardResult } = delivery;
  const description = [activity ?? "not a webhook", ...(composite_id === null ? [] : [composite_id])].join(" ");
  const start = [dim(formatLineTime(at, columns)), `  webhook  ${description}  `, formatVerdict(delivery)];
  if (!forwardResult) return start;
  // The start of the session printed the URL.
  const text =
    "error" in forwardResult
      ? forwardResult.error
          .replace(/^(?:Failed to reach \S+|Request to \S+ failed): /, "no response: ")
          .replace(/\.$/, "")
      : formatPostResult(forwardResult);
  return [...start, "  ", (isSuccessfulPost(forwardResult) ? green : red)(text)];
}

export function toRequestEvent(request: RequestEvent) {
  const { id, at, method, target, status, operation, failure, findings, duration_ms } = request;
  const codes = findings.map(({ code }) => code);
  return { type: "request", id, at, method, target, status, operation, failure, findings: codes, duration_ms };
}

export const toAttemptEvent = (at: string, delivery: DeliveryEvent) => ({
  type: "attempt",
  at,
  delivery_id: delivery.id,
  webhook_id: delivery.webhook_id,
  activity: delivery.activity,
  composite_id: delivery.composite_id,
  attempt: delivery.attempt?.number ?? null,
  scheduled_number: delivery.attempt?.scheduled_number ?? null,
  status: delivery.attempt?.status ?? null,
  error: delivery.attempt?.error?.code ?? null,
  outcome: delivery.outcome,
  next_attempt_at: delivery.next_attempt_at,
});

export function toDeliveryEvent(delivery: HandledDelivery) {
  const { at, activity, composite_id, verified, reason, bytes, forwardResult } = delivery;
  const forwarded = summarizePost(forwardResult);
  return { type: "delivery", at, activity, composite_id, verified, reason, bytes, forwarded };
}
