import { hasCollector, type OtelEnvironment } from "../../base/otel-settings.ts";
import { readTraceparent, readTracestate, type TraceContext } from "../../base/trace-context.ts";

/** Tell a program in whose trace it runs (OpenTelemetry: "Environment Variables as Context Propagation Carriers"). */
const variables = { traceparent: "TRACEPARENT", tracestate: "TRACESTATE" } as const;

/** Where a program is called from, as its environment has it. */
export const readParentContext = (env: OtelEnvironment): TraceContext | undefined =>
  readTraceparent(env[variables.traceparent]);

/** Without the one that it belongs to, the other means nothing (W3C Trace Context, 3.3). */
const readTraceState = (env: OtelEnvironment): string | undefined =>
  readParentContext(env) && readTracestate(env[variables.tracestate]);

/** The variables for what a program starts, instead of its own. */
export const buildChildVariables = (env: OtelEnvironment, traceparent: string): OtelEnvironment => ({
  [variables.traceparent]: traceparent,
  [variables.tracestate]: readTraceState(env),
});

/** The headers that requests are sent with, where spans are: the trace that they belong to. */
export function traceHeaders(env: OtelEnvironment): Readonly<Record<string, string>> | undefined {
  const traceparent = env[variables.traceparent];
  if (traceparent === undefined || !hasCollector(env) || !readParentContext(env)) return undefined;
  const tracestate = readTraceState(env);
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
