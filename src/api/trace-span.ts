import type { Span } from "../base/otel.ts";
import type { showTrace } from "./emulator/traces.ts";
import type { ResultOf } from "./operation.ts";

/** A node of a trace, as the control plane returns it. */
export type TraceNode = ResultOf<typeof showTrace>["nodes"][number];

const kinds = { request: "server", event: "producer", attempt: "client" } as const;

/** Converts a node to a span with wall-clock times. The virtual time and the reason are attributes. */
export function toSpan(node: TraceNode): Span {
  const start = Date.parse(node.wall_at ?? node.at);
  return {
    trace: node.trace,
    span: node.span,
    parent: node.parent_span,
    name: node.what,
    kind: node.kind in kinds ? kinds[node.kind as keyof typeof kinds] : "internal",
    start,
    end: start + (node.duration_ms ?? 0),
    attributes: {
      "svc.id": node.id,
      "svc.kind": node.kind,
      "svc.virtual_time": node.at,
      "svc.because": node.because,
      "svc.moved_by": node.moved_by,
      "svc.fault": node.fault,
      "svc.contract": node.contract,
      "svc.webhook_id": node.webhook_id,
      // Status 0 means that there was no response.
      "http.response.status_code": node.status || null,
      "error.type": node.error,
    },
    failed: node.error ?? (node.status !== null && isFailure(node.kind, node.status) ? String(node.status) : undefined),
  };
}

/**
 * Receivers must respond with 2xx. The emulator's responses to invalid requests are not failures (OpenTelemetry, "HTTP
 * server spans").
 */
const isFailure = (kind: TraceNode["kind"], status: number): boolean =>
  kind === "request" ? status === 0 || status >= 500 : status < 200 || status > 299;

/** Default resource attributes of the spans of a tree. */
export const emulatorResource = { "service.name": "svc-emulator" } as const;
