import { hasCollector, type OtelEnvironment } from "../../base/otel-settings.ts";
import { readTraceparent, readTracestate, type TraceContext } from "../../base/trace-context.ts";

/** Inform a program about its trace (OpenTelemetry: "Environment Variables as Context Propagation Carriers"). */
const variables = { traceparent: "TRACEPARENT", tracestate: "TRACESTATE" } as const;

/** Reads the calling trace from the environment. */
export const readParentContext = (env: OtelEnvironment): TraceContext | undefined =>
  readTraceparent(env[variables.traceparent]);

/** The trace state has no meaning without its parent (W3C Trace Context, 3.3). */
const readTraceState = (env: OtelEnvironment): string | undefined =>
  readParentContext(env) && readTracestate(env[variables.tracestate]);

/** Creates the trace variables of a child process. */
export const buildChildVariables = (env: OtelEnvironment, traceparent: string): OtelEnvironment => ({
  [variables.traceparent]: traceparent,
  [variables.tracestate]: readTraceState(env),
});

/** Creates the headers of requests with their trace, if there is one. */
export function createTraceHeaders(env: OtelEnvironment): Readonly<Record<string, string>> | undefined {
  const traceparent = env[variables.traceparent];
  if (traceparent === undefined || !hasCollector(env) || !readParentContext(env)) return undefined;
  const tracestate = readTraceState(env);
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
