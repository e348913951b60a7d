import type { TestContext } from "node:test";
import { startReceiver } from "./receiver.ts";

/** A span in OTLP/HTTP JSON. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  /** Only of a failed span. */
  readonly status?: { readonly code: number; readonly message: string };
}

interface Document {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: ExportedSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

/** Starts an OpenTelemetry collector that stores the received spans. */
export async function startCollector(t: Pick<TestContext, "after">) {
  const sink = await startReceiver(t);
  const documents = () => sink.received.map(({ body }) => JSON.parse(body.toString("utf8")) as Document);
  return {
    ...sink,
    /** All received spans, in order of arrival. */
    spans: (): ExportedSpan[] =>
      documents().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    /** Resource attributes of the last document. */
    resource: (): Record<string, string | undefined> =>
      Object.fromEntries(
        (documents().at(-1)?.resourceSpans[0]?.resource.attributes ?? []).map(({ key, value }) => [
          key,
          value.stringValue,
        ]),
      ),
  };
}
