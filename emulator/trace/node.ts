import type { TraceNode as ShownNode } from "../../src/api/trace-span.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { Outcome } from "../webhooks/deliveries.ts";

/** One thing that happened, and why. Times are milliseconds. */
export interface TraceNode {
  readonly id: string;
  readonly kind: "request" | "advance" | "timer" | "event" | "delivery" | "attempt";
  /** Id of the node that it follows from; null: a beginning, or what led to it is not kept. */
  readonly parent: string | null;
  /** Its W3C trace, its span there, and the span that it follows from, which may be the caller's. */
  readonly trace: string;
  readonly span: string;
  readonly parent_span: string | null;
  /** Virtual. */
  readonly at: number;
  readonly wall_at: number | null;
  readonly duration_ms: number | null;
  readonly what: string;
  readonly because: string;
  readonly moved_by: string | null;
  readonly fault: string | null;
  readonly contract: string | null;
  readonly webhook_id: number | null;
  readonly outcome: Outcome | null;
  readonly status: number | null;
  readonly error: string | null;
}

/** Something still to come. */
export interface Planned {
  readonly parent: string;
  /** Virtual milliseconds. */
  readonly due: number;
  readonly what: string;
  readonly because: string;
}

export interface Trace {
  /** In the order of the tree: each after its parent. */
  readonly nodes: readonly TraceNode[];
  readonly planned: readonly Planned[];
}

/** A node as the control plane tells it. */
export const shown = ({ at, wall_at, ...node }: TraceNode): ShownNode => ({
  ...node,
  at: isoMillis(at),
  wall_at: wall_at === null ? null : isoMillis(wall_at),
});
