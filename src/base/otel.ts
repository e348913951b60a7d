import { randomBytes, randomUUID } from "node:crypto";
import { hash } from "./hmac.ts";
import { tryDecodeUrlPart } from "./urls.ts";

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

/** Reports whether spans can be exported. The exporter is only loaded in that case. */
export const hasCollector = (env: OtelEnvironment): boolean =>
  Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);

const defaultTimeoutMs = 10_000;
const maxTimeoutMs = 600_000;

/**
 * Reads the variables (OpenTelemetry: "Environment Variable Specification" and "OTLP Exporter Configuration"). Returns
 * undefined if spans are not exported. Invalid values are ignored and noted, as the standard requires, because
 * telemetry must not prevent work. Notes omit the values, which can be secret.
 */
export function readOtelSettings(
  env: OtelEnvironment,
  service: string,
): { readonly settings: OtelSettings | undefined; readonly notes: readonly string[] } {
  const notes: string[] = [];
  const note = (text: string): undefined => void notes.push(text);
  return { settings: read(), notes };

  function read(): OtelSettings | undefined {
    const { value: exporters } = find("OTEL_TRACES_EXPORTER", "otlp");
    const isExported = exporters.split(",").some((one) => one.trim() === "otlp");
    const isDisabled = find("OTEL_SDK_DISABLED").value.toLowerCase() === "true";
    if (!hasCollector(env) || isDisabled || !isExported) return undefined;
    const url = readUrl();
    if (url === undefined || !usesHttp()) return undefined;
    return { url, headers: readHeaders(), timeoutMs: readTimeoutMs(), resource: readResource() };
  }

  /**
   * Returns the first variable that is set or, if none is, the last name with the default value. The standard treats an
   * empty variable as unset.
   */
  function find(
    names: string | readonly string[],
    defaultValue = "",
  ): { readonly name: string; readonly value: string } {
    const all = [names].flat();
    const name = all.find((one) => env[one]?.trim()) ?? all.at(-1)!;
    return { name, value: env[name]?.trim() || defaultValue };
  }

  /** The variable for traces is a complete URL. The common variable is a base to which the path is appended. */
  function readUrl(): string | undefined {
    const { name, value } = find(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (!url || !/^https?:$/.test(url.protocol))
      return note(`${name} must be an http or https URL. No spans are exported`);
    if (url.username || url.password)
      return note(
        `${name} must not contain a user name or password. Use OTEL_EXPORTER_OTLP_HEADERS. No spans are exported`,
      );
    if (name === "OTEL_EXPORTER_OTLP_ENDPOINT") url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
    return url.href;
  }

  /**
   * Servers that accept protocol buffers over HTTP also accept JSON at the same URL (OTLP, "OTLP/HTTP"). gRPC needs a
   * different server.
   */
  function usesHttp(): boolean {
    const { name, value } = find(["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"], "http/json");
    if (value === "http/protobuf")
      note(`${name} is http/protobuf. Spans are exported as http/json, which collectors accept at the same URL`);
    else if (value !== "http/json")
      note(`${name} must be http/json, the only supported protocol. No spans are exported`);
    return value === "http/json" || value === "http/protobuf";
  }

  function readHeaders(): Record<string, string> {
    const { name, value } = find(["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"]);
    const allowedPairs = parsePairs(name, value).filter(([key, text]) => {
      const isAllowed = /^[\w!#$%&'*+.^`|~-]+$/.test(key) && /^[\t\x20-\x7e]*$/.test(text);
      if (!isAllowed) note(`${name} has a header that HTTP does not allow. It is ignored`);
      return isAllowed;
    });
    return Object.fromEntries(allowedPairs.map(([key, text]) => [key.toLowerCase(), text]));
  }

  function readTimeoutMs(): number {
    const { name, value } = find(
      ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"],
      String(defaultTimeoutMs),
    );
    const ms = Number(value);
    if (Number.isInteger(ms) && ms > 0 && ms <= maxTimeoutMs) return ms;
    note(
      `${name} must be a number of milliseconds from 1 to ${maxTimeoutMs}. The default applies: ${defaultTimeoutMs}`,
    );
    return defaultTimeoutMs;
  }

  function readResource(): SpanAttributes {
    const { name, value } = find("OTEL_RESOURCE_ATTRIBUTES");
    const { value: serviceName } = find("OTEL_SERVICE_NAME");
    return {
      "service.name": service,
      ...Object.fromEntries(parsePairs(name, value)),
      ...(serviceName !== "" && { "service.name": serviceName }),
    };
  }

  /** Parses `key=value,key=value` with percent-encoding (W3C Baggage). */
  function parsePairs(name: string, text: string): [key: string, value: string][] {
    return text.split(",").flatMap((part): [string, string][] => {
      const at = part.indexOf("=");
      const [key, value] = [part.slice(0, at).trim(), tryDecodeUrlPart(part.slice(at + 1).trim())];
      if (at > 0 && key !== "" && value !== undefined) return [[key, value]];
      if (part.trim() !== "")
        note(`${name} has a part that is not a name, =, and a percent-encoded value. It is ignored`);
      return [];
    });
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

/** Origin of a request, from the header `traceparent` (W3C Trace Context). */
export interface TraceContext {
  /** Trace ID of 32 hexadecimal digits, common to all spans of a trace. */
  readonly trace: string;
  /** Span ID of the caller, of 16 hexadecimal digits. */
  readonly span: string;
}

// A later version can add fields. The existing fields do not change their meaning (W3C Trace Context, 3.2.4).
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * Parses the header `traceparent`. Returns undefined for a missing or malformed header, which the standard treats
 * alike.
 */
export function readTraceparent(header: string | undefined): TraceContext | undefined {
  const [, version, trace, span, more] = (header && traceparent.exec(header)) || [];
  if (!trace || !span || (version === "00" && more !== undefined)) return undefined;
  return { trace, span };
}

/** Formats the header `traceparent`, with the flag for sampled spans. */
export const writeTraceparent = ({ trace, span }: TraceContext): string => `00-${trace}-${span}-01`;

const tracestateMember =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const maxTracestateMembers = 32;

/**
 * Returns the header `tracestate`, which contains vendor data and is forwarded unchanged (W3C Trace Context, 3.3).
 * Returns undefined if the header is missing or malformed.
 */
export function readTracestate(header: string | undefined): string | undefined {
  const members = (header ?? "").split(",", 1_000).map((member) => member.trim());
  const nonEmptyMembers = members.filter((member) => member !== "");
  const isWellFormed =
    nonEmptyMembers.length <= maxTracestateMembers && nonEmptyMembers.every((member) => tracestateMember.test(member));
  return isWellFormed && nonEmptyMembers.length > 0 ? header : undefined;
}
/** Creates a span as a child of another span or as the root of a trace. */
export const createSpan = (above?: TraceContext): TraceContext => ({
  trace: above?.trace ?? randomBytes(16).toString("hex"),
  span: randomBytes(8).toString("hex"),
});

/**
 * Returns a function that creates trace IDs for new traces. The same seed gives the same IDs. Without a seed the IDs
 * are random. Node draws the bytes of UUIDs in batches, which is measurably faster if every request starts a trace.
 */
export const deriveTraceIds = (seed?: string): ((beginning: string) => string) =>
  seed === undefined
    ? () => randomUUID().replaceAll("-", "")
    : (beginning) => hash("sha256", `${seed}\0${beginning}`).toString("hex", 0, 16);

/** Derives the ID of an object's span from the object's name, so that the ID does not have to be stored. */
export const deriveSpanId = (trace: string, name: string): string =>
  hash("sha256", `${trace}\0${name}`).toString("hex", 0, 8);
