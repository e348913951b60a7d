import type { showTrace } from "../../src/api/emulator/traces.ts";
import type { ResultOf } from "../../src/api/operation.ts";
import type { TraceNode } from "../../src/api/trace-span.ts";
import { filterScheduled } from "../../src/api/webhook-health/attempts.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { groupBy } from "../../src/base/object.ts";
import { deriveSpanId } from "../../src/base/otel.ts";
import type { ScheduledEntry } from "../clock/schedule.ts";
import { redactReceiverUrl } from "../http/request-log/redact.ts";
import type { CauseRow } from "../store/port.ts";
import {
  type Delivery,
  type DeliveryAttempt,
  getEventTrace,
  getStatusText,
  toAttemptName,
  toAttemptSpanName,
  toDeliveryName,
  toEventName,
  type WebhookEvent,
} from "../webhooks/deliveries.ts";
import {
  explainAttempt,
  explainCause,
  explainDelivery,
  explainEvent,
  explainPlannedAttempt,
  formatAttemptResult,
  formatFault,
  type TraceRows,
} from "./gather.ts";
import type { RequestOutcome } from "./pending-responses.ts";

interface TreeOptions {
  readonly traceId?: string | undefined;
  readonly describeJob: (kind: string) => string | undefined;
  /**
   * Returns the response to the request of a cause, or undefined if it is unknown (default). Causes do not contain the
   * response, because they are written before it is sent. A second write for each cause would be too slow.
   */
  readonly findOutcome?: (cause: string) => RequestOutcome | undefined;
}

type PlannedEntry = ResultOf<typeof showTrace>["planned"][number];

/** Builds the tree of events and causes from rows. The same rows give the same tree, also after a restart. */
export function buildTrace(rows: TraceRows, { traceId, describeJob, findOutcome }: TreeOptions) {
  const builder = createNodeBuilder(rows, findOutcome);
  const allNodes = [
    ...[...rows.causes.values()].map(builder.createCauseNode),
    ...[...rows.events.values()].map(builder.createEventNode),
    ...[...rows.deliveries.values()].map(builder.createDeliveryNode),
    ...rows.attempts.map(builder.createAttemptNode),
  ];
  const nodes = sortInTreeOrder(traceId === undefined ? allNodes : allNodes.filter(({ trace }) => trace === traceId));
  const ids = new Set(nodes.map(({ id }) => id));
  const planned = [
    ...[...rows.deliveries.values()].flatMap((row) => builder.findNextAttempt(row) ?? []),
    ...rows.scheduledEntries.map((entry) => toPlannedEntry(entry, describeJob)),
  ];
  return {
    nodes,
    planned: planned.filter(({ parent }) => ids.has(parent)).sort((a, b) => Date.parse(a.due) - Date.parse(b.due)),
  };
}

/** Returns functions that create nodes, in which missing fields are null. */
function createNodeBuilder(rows: TraceRows, findOutcome: TreeOptions["findOutcome"]) {
  /** Scheduled and requested attempts are counted separately, although they share one sequence of numbers. */
  function countAttempts({ delivery_id, number, resend }: DeliveryAttempt): number {
    const attempts = rows.attemptsByDelivery.get(delivery_id) ?? [];
    return attempts.filter((attempt) => attempt.resend === resend && attempt.number <= number).length;
  }

  function findCause(id: string | null | undefined): CauseRow | undefined {
    return id ? rows.causes.get(id) : undefined;
  }

  return {
    createCauseNode(row: CauseRow): TraceNode {
      const outcome = findOutcome?.(row.id);
      return {
        ...emptyNode,
        ...toPosition(row.id, row.trace, findCause(row.before)),
        kind: row.id.slice(0, row.id.indexOf(":")) as TraceNode["kind"],
        ...(row.parent_span !== null && { parent_span: row.parent_span }),
        at: toIsoMillis(row.at),
        wall_at: toIsoMillis(row.wall_at),
        what: row.what,
        because: explainCause(row),
        moved_by: row.moved_by,
        ...(outcome && { duration_ms: outcome.durationMs, status: outcome.status }),
      };
    },

    createEventNode(row: WebhookEvent): TraceNode {
      const cause = findCause(row.cause);
      const contract = rows.contracts.get(row.id) ?? null;
      return {
        ...emptyNode,
        ...toPosition(toEventName(row.id), getEventTrace(row, cause), cause),
        kind: "event",
        at: toIsoMillis(row.at),
        wall_at: cause ? toIsoMillis(cause.wall_at) : null,
        what: contract === null ? row.activity : `${row.activity} ${contract}`,
        because: explainEvent(row.cause),
        contract,
      };
    },

    createDeliveryNode(row: Delivery): TraceNode {
      const event = rows.events.get(row.event_id);
      const webhook = rows.webhooks.get(row.webhook_id);
      const cause = findCause(event?.cause);
      const trace = getEventTrace(event, cause);
      return {
        ...emptyNode,
        ...toPosition(toDeliveryName(row.id), trace, event && { id: toEventName(event.id), trace }),
        kind: "delivery",
        at: toIsoMillis(row.created_at),
        wall_at: cause ? toIsoMillis(cause.wall_at) : null,
        what: `${row.activity} to webhook ${row.webhook_id}${webhook ? ` ${redactReceiverUrl(webhook.url)}` : " (deleted)"}`,
        because: explainDelivery(row, webhook),
        contract: rows.contracts.get(row.event_id) ?? null,
        webhook_id: row.webhook_id,
        outcome: row.outcome,
        status_text: getStatusText(row, webhook),
        disabled_by: row.outcome === "skipped_disabled" ? (webhook?.disabled?.by ?? null) : null,
      };
    },

    /** A resend follows from its request. Other attempts follow from their delivery. */
    createAttemptNode(row: DeliveryAttempt): TraceNode {
      const delivery = rows.deliveries.get(row.delivery_id);
      const event = delivery && rows.events.get(delivery.event_id);
      const requestCause = row.resend ? findCause(row.cause) : undefined;
      const trace = getEventTrace(event, findCause(event?.cause));
      const parent = requestCause ?? { id: toDeliveryName(row.delivery_id), trace };
      const position = countAttempts(row);
      const spanName = toAttemptSpanName(row.delivery_id, row.scheduled_number, row.cause);
      return {
        ...emptyNode,
        ...toPosition(toAttemptName(row.delivery_id, row.number), parent.trace, parent, spanName),
        kind: "attempt",
        at: toIsoMillis(row.at),
        wall_at: toIsoMillis(row.wall_at),
        duration_ms: row.duration_ms,
        what: `${row.resend ? "resend" : "attempt"} ${position}${requestCause ? ` of ${toDeliveryName(row.delivery_id)}` : ""}: ${formatAttemptResult(row)}`,
        because: explainAttempt(row, rows.attemptsByDelivery.get(row.delivery_id) ?? []),
        moved_by: row.moved_by,
        fault: row.fault && formatFault(row.fault),
        contract: (delivery && rows.contracts.get(delivery.event_id)) ?? null,
        webhook_id: delivery?.webhook_id ?? null,
        status: row.status,
        error: row.error?.code ?? null,
      };
    },

    findNextAttempt(row: Delivery): PlannedEntry | undefined {
      if (row.next_attempt_at === null) return undefined;
      const attempts = rows.attemptsByDelivery.get(row.id) ?? [];
      const webhook = rows.webhooks.get(row.webhook_id);
      return {
        parent: toDeliveryName(row.id),
        due: toIsoMillis(row.next_attempt_at),
        what: `attempt ${filterScheduled(attempts).length + 1}`,
        because: explainPlannedAttempt(row.next_attempt_at, row, attempts, webhook),
      };
    },
  };
}

type Position = Pick<TraceNode, "id" | "parent" | "trace" | "span" | "parent_span">;

/** Returns the position of a node, from its name and its cause, which can belong to another trace. */
const toPosition = (
  id: string,
  trace: string,
  parent: Pick<CauseRow, "id" | "trace"> | undefined,
  spanName = id,
): Position => ({
  id,
  parent: parent?.id ?? null,
  trace,
  span: deriveSpanId(trace, spanName),
  parent_span: parent ? deriveSpanId(parent.trace, parent.id) : null,
});

const emptyNode = {
  wall_at: null,
  duration_ms: null,
  moved_by: null,
  fault: null,
  contract: null,
  webhook_id: null,
  outcome: null,
  status_text: null,
  disabled_by: null,
  status: null,
  error: null,
} as const;

const toPlannedEntry = (
  { kind, due, cause }: ScheduledEntry,
  describeJob: TreeOptions["describeJob"],
): PlannedEntry => ({
  parent: cause ?? "",
  due: toIsoMillis(due),
  what: describeJob(kind) ?? kind,
  because: `scheduled by ${cause ?? "a cause that is not retained"}`,
});

function sortInTreeOrder(nodes: readonly TraceNode[]): TraceNode[] {
  const ids = new Set(nodes.map(({ id }) => id));
  const rootedNodes = nodes.map((node) =>
    node.parent !== null && !ids.has(node.parent) ? { ...node, parent: null } : node,
  );
  const children = groupBy(rootedNodes, ({ parent }) => parent);
  const sortedNodes: TraceNode[] = [];
  const stack: TraceNode[] = (children.get(null) ?? []).sort(compareByTime).reverse();
  for (let node = stack.pop(); node; node = stack.pop()) {
    sortedNodes.push(node);
    stack.push(...(children.get(node.id) ?? []).sort(compareByTime).reverse());
  }
  return sortedNodes;
}

/** `attempt:1.8` comes before `attempt:2.1`, and `attempt:3.2` before `attempt:3.10`. */
const compareByTime = (a: TraceNode, b: TraceNode): number =>
  Date.parse(a.at) - Date.parse(b.at) ||
  parseFirstNumber(a.id) - parseFirstNumber(b.id) ||
  parseNumber(a.id) - parseNumber(b.id);

const parseFirstNumber = (id: string): number => Number.parseInt(id.slice(id.indexOf(":") + 1), 10);

const parseNumber = (id: string): number => Number(id.slice(id.search(/[:.]\d+$/) + 1));
