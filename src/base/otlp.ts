/** One span of OpenTelemetry. Times are in milliseconds of the wall clock. */
export interface Span {
  readonly trace: string;
  readonly span: string;
  readonly parent: string | null;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "producer";
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  /** Why it failed; undefined: it did not. */
  readonly failed?: string | undefined;
}

/** By name. Null values are omitted. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>;

const kinds = { internal: 1, server: 2, client: 3, producer: 4 } as const;
const failedCode = 2;

/** The body of an OTLP/HTTP export of spans in JSON (opentelemetry-proto, ExportTraceServiceRequest). */
export function buildOtlpDocument(
  spans: readonly Span[],
  resource: SpanAttributes,
  scope: { name: string; version: string },
) {
  return {
    resourceSpans: [
      { resource: { attributes: toKeyValues(resource) }, scopeSpans: [{ scope, spans: spans.map(toOtlpSpan) }] },
    ],
  };
}

const toOtlpSpan = ({ trace, span, parent, name, kind, start, end, attributes, failed }: Span) => ({
  traceId: trace,
  spanId: span,
  ...(parent !== null && { parentSpanId: parent }),
  name,
  kind: kinds[kind],
  startTimeUnixNano: toNanoseconds(start),
  endTimeUnixNano: toNanoseconds(Math.max(start, end)),
  attributes: toKeyValues(attributes),
  ...(failed !== undefined && { status: { code: failedCode, message: failed } }),
});

/** The JSON form of protocol buffers encodes 64-bit integers as strings. */
const toNanoseconds = (ms: number): string => `${BigInt(Math.round(ms * 1_000)) * 1_000n}`;

const toKeyValues = (attributes: SpanAttributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : [{ key, value: toAnyValue(value) }]));

function toAnyValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
