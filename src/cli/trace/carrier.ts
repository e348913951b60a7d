import { namesCollector, type Variables } from "../../base/tracing/otel-settings.ts";
import { readTraceparent } from "../../base/tracing/trace-context.ts";

/** Tells a program in whose trace it runs (OpenTelemetry: "Environment Variables as Context Propagation Carriers"). */
export const traceparentVariable = "TRACEPARENT";

/** What requests are sent with, where spans are: the trace that they belong to. */
export const carried = (env: Variables): string | undefined =>
  namesCollector(env) && readTraceparent(env[traceparentVariable]) ? env[traceparentVariable] : undefined;
