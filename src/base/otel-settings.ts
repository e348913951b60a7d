/** Destination of spans, configured by the environment variables of the OpenTelemetry standard. */
export interface OtelSettings {
  /** URL that accepts POST requests with OTLP in JSON. */
  readonly url: string;
  /** Headers with lower-case names. The values can be secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly resource: SpanAttributes;
}

export type OtelEnvironment = Readonly<Record<string, string | undefined>>;

/** Supported variables (OpenTelemetry: "Environment Variable Specification" and "OTLP Exporter Configuration"). */
export const otelVariables = {
  endpoint: "OTEL_EXPORTER_OTLP_ENDPOINT",
  tracesEndpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  headers: "OTEL_EXPORTER_OTLP_HEADERS",
  tracesHeaders: "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  timeout: "OTEL_EXPORTER_OTLP_TIMEOUT",
  tracesTimeout: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
  protocol: "OTEL_EXPORTER_OTLP_PROTOCOL",
  tracesProtocol: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
  tracesExporter: "OTEL_TRACES_EXPORTER",
  serviceName: "OTEL_SERVICE_NAME",
  resource: "OTEL_RESOURCE_ATTRIBUTES",
  disabled: "OTEL_SDK_DISABLED",
} as const;

/** Reports whether spans can be exported. The exporter is only loaded in that case. */
export const hasCollector = (env: OtelEnvironment): boolean =>
  Boolean(env[otelVariables.endpoint] || env[otelVariables.tracesEndpoint]);

const defaultTimeoutMs = 10_000;
const maxTimeoutMs = 600_000;

/**
 * Reads the variables. Returns undefined if spans are not exported. Invalid values are ignored and noted, as the
 * standard requires, because telemetry must not prevent work. Notes omit the values, which can be secret.
 */
export function readOtelSettings(
  env: OtelEnvironment,
  service: string,
): { readonly read: OtelSettings | undefined; readonly notes: readonly string[] } {
  const notes: string[] = [];
  const reading = new VariableReader(env, notes);
  return { read: reading.read(service), notes };
}

class VariableReader {
  readonly #env: OtelEnvironment;
  readonly #notes: string[];

  constructor(env: OtelEnvironment, notes: string[]) {
    this.#env = env;
    this.#notes = notes;
  }

  read(service: string): OtelSettings | undefined {
    if (!hasCollector(this.#env) || this.#isOff()) return undefined;
    const url = this.#readUrl();
    if (url === undefined || !this.#usesHttp()) return undefined;
    return {
      url,
      headers: this.#readHeaders(),
      timeoutMs: this.#readTimeoutMs(),
      resource: this.#readResource(service),
    };
  }

  /** The standard treats an empty variable as unset. */
  #findFirst(...names: readonly string[]): readonly [name: string, value: string] | undefined {
    for (const name of names) {
      const value = this.#env[name]?.trim();
      if (value) return [name, value];
    }
    return undefined;
  }

  #isOff(): boolean {
    const exporters = this.#findFirst(otelVariables.tracesExporter)?.[1].split(",") ?? ["otlp"];
    const isDisabled = this.#findFirst(otelVariables.disabled)?.[1].toLowerCase() === "true";
    return isDisabled || !exporters.some((one) => one.trim() === "otlp");
  }

  /** The variable for traces is a complete URL. The common variable is a base to which the path is appended. */
  #readUrl(): string | undefined {
    const [name, value] = this.#findFirst(otelVariables.tracesEndpoint, otelVariables.endpoint) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) {
      this.#notes.push(`${name} must be an http or https URL. No spans are exported`);
      return undefined;
    }
    if (url.username || url.password) {
      this.#notes.push(
        `${name} must not contain a user name or password. Use ${otelVariables.headers}. No spans are exported`,
      );
      return undefined;
    }
    if (name === otelVariables.endpoint) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
    return url.href;
  }

  /**
   * Servers that accept protocol buffers over HTTP also accept JSON at the same URL (OTLP, "OTLP/HTTP"). gRPC needs a
   * different server.
   */
  #usesHttp(): boolean {
    const [name, value] = this.#findFirst(otelVariables.tracesProtocol, otelVariables.protocol) ?? [];
    if (name === undefined || value === "http/json") return true;
    if (value === "http/protobuf") {
      this.#notes.push(
        `${name} is http/protobuf. Spans are exported as http/json, which collectors accept at the same URL`,
      );
      return true;
    }
    this.#notes.push(`${name} must be http/json, the only supported protocol. No spans are exported`);
    return false;
  }

  #readHeaders(): Record<string, string> {
    const [name, value] = this.#findFirst(otelVariables.tracesHeaders, otelVariables.headers) ?? [];
    const allowed = this.#parsePairs(name, value).filter(([key, text]) => {
      const isAllowed = /^[\w!#$%&'*+.^`|~-]+$/.test(key) && /^[\t\x20-\x7e]*$/.test(text);
      if (!isAllowed) this.#notes.push(`${name} has a header that HTTP does not allow. It is ignored`);
      return isAllowed;
    });
    return Object.fromEntries(allowed.map(([key, text]) => [key.toLowerCase(), text]));
  }

  #readTimeoutMs(): number {
    const [name, value] = this.#findFirst(otelVariables.tracesTimeout, otelVariables.timeout) ?? [];
    if (name === undefined) return defaultTimeoutMs;
    const ms = Number(value);
    if (Number.isInteger(ms) && ms > 0 && ms <= maxTimeoutMs) return ms;
    this.#notes.push(
      `${name} must be a number of milliseconds from 1 to ${maxTimeoutMs}. The default applies: ${defaultTimeoutMs}`,
    );
    return defaultTimeoutMs;
  }

  #readResource(service: string): SpanAttributes {
    const [name, value] = this.#findFirst(otelVariables.resource) ?? [];
    const named = this.#findFirst(otelVariables.serviceName)?.[1];
    return {
      "service.name": service,
      ...Object.fromEntries(this.#parsePairs(name, value)),
      ...(named !== undefined && { "service.name": named }),
    };
  }

  /** Parses `key=value,key=value` with percent-encoding (W3C Baggage). */
  #parsePairs(name: string | undefined, text = ""): [key: string, value: string][] {
    const pairs: [string, string][] = [];
    for (const part of text.split(",")) {
      const at = part.indexOf("=");
      const [key, value] = [part.slice(0, at).trim(), tryDecode(part.slice(at + 1).trim())];
      if (at > 0 && key !== "" && value !== undefined) pairs.push([key, value]);
      else if (part.trim() !== "") this.#notes.push(`${name} has a part that is not key=value. It is ignored`);
    }
    return pairs;
  }
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** One OpenTelemetry span. Times are wall-clock times in milliseconds. */
export interface Span {
  readonly trace: string;
  readonly span: string;
  readonly parent: string | null;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "producer";
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  /** Reason of the failure. Undefined for a success. */
  readonly failed?: string | undefined;
}

/** Attributes by name. Null values are omitted. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>;

const otlpSpanKinds = { internal: 1, server: 2, client: 3, producer: 4 } as const;
const otlpErrorStatus = 2;

/** Builds the body of an OTLP/HTTP export of spans in JSON (opentelemetry-proto, ExportTraceServiceRequest). */
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
  kind: otlpSpanKinds[kind],
  startTimeUnixNano: toNanoseconds(start),
  endTimeUnixNano: toNanoseconds(Math.max(start, end)),
  attributes: toKeyValues(attributes),
  ...(failed !== undefined && { status: { code: otlpErrorStatus, message: failed } }),
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
