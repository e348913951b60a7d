import type { EmulatorEvent } from "../../../../../emulator/index.ts";
import { cyan, dim, red, type StyledLine, styleState, styleStatus, yellow } from "../../../output/styled.ts";
import { truncateText } from "../../../output/text.ts";

type EventOfKind<Name extends EmulatorEvent["event"]> = Extract<EmulatorEvent, { event: Name }>;

/**
 * Formats an activity as one line. `columns` is the width of a terminal: the line then has only the time of day, and
 * long paths are cut.
 */
export function formatActivityLine(event: EmulatorEvent, columns?: number): StyledLine {
  switch (event.event) {
    case "request":
      return formatRequestLine(event, columns);
    case "delivery":
      return formatDeliveryLine(event, columns);
    case "clock":
      return [dim(formatLineTime(event.to, columns)), "  ", cyan("time"), `  ${event.from} → ${event.to}`];
    case "state":
      return [dim(formatLineTime(event.at, columns)), "  ", cyan("state"), "  replaced"];
    case "dropped":
      return [yellow(`… ${event.count} more`)];
  }
}

/** Formats the time of a line: on a terminal, the time of day. */
export const formatLineTime = (iso: string, columns: number | undefined): string =>
  columns === undefined ? iso : iso.slice(11, 19);

function formatRequestLine(
  { at, method, target, status, duration_ms: durationMs, ...event }: EventOfKind<"request">,
  columns?: number,
): StyledLine {
  const time = formatLineTime(at, columns);
  const noted = event.findings.length === 0 ? "" : ` (${event.findings.join(", ")})`;
  const about = `${event.failure ?? event.operation ?? "not declared"}${noted}`;
  const before = `  ${String(durationMs).padStart(4)} ms  ${method.padEnd(6)} `;
  const room = (columns ?? Number.POSITIVE_INFINITY) - time.length - 5 - before.length;
  const path = truncateText(target, Math.max(10, room - about.length - 2));
  const rest = Math.max(0, room - path.length - 2);
  return [
    dim(time),
    "  ",
    styleStatus(status, status === 0 ? "---" : String(status)),
    `${before}${path}`,
    dim(rest < 4 ? "" : `  ${truncateText(about, rest)}`),
  ];
}

function formatDeliveryLine(
  { at, attempt, status, error, outcome, ...event }: EventOfKind<"delivery">,
  columns?: number,
): StyledLine {
  const answer = error === null ? (status === null ? "" : styleStatus(status)) : red(error);
  const took = event.duration_ms === null ? "" : `  ${String(Math.round(event.duration_ms)).padStart(4)} ms`;
  const contract = event.composite_id === null ? "" : ` ${event.composite_id}`;
  const next = event.next_attempt_at === null ? "" : `, next ${formatLineTime(event.next_attempt_at, columns)}`;
  const skipped = next !== "" && event.webhook_disabled ? " is skipped: the webhook is disabled" : "";
  return [
    dim(formatLineTime(at, columns)),
    "  ",
    ...(attempt === null ? [] : [answer, took, "  "]),
    `webhook ${event.webhook_id}  ${event.activity}${contract}`,
    ...(attempt === null ? ["  "] : [`  attempt ${attempt}, `]),
    styleState(outcome),
    dim(`${next}${skipped}`),
  ];
}
