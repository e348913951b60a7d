import type { TestContext } from "node:test";
import { receiver } from "./receiver.ts";

/** A span as OTLP/HTTP carries it in JSON. */
export interface SentSpan {
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
}

interface Document {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SentSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** Takes spans as an OpenTelemetry collector does, and keeps them. */
export async function collector(t: Pick<TestContext, "after">) {
  const sink = await receiver(t);
  const documents = () => sink.received.map(({ body }) => JSON.parse(body.toString("utf8")) as Document);
  return {
    ...sink,
    /** All spans that came, in their order. */
    spans: (): SentSpan[] =>
      documents().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    /** What the last document says of its sender. */
    resource: (): Record<string, string | undefined> =>
      Object.fromEntries(
        (documents().at(-1)?.resourceSpans[0]?.resource.attributes ?? []).map(({ key, value }) => [
          key,
          value.stringValue,
        ]),
      ),
  };
}
