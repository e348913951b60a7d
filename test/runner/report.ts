import { Readable } from "node:stream";
import { spec, type TestEvent } from "node:test/reporters";
import { type Position, partlyInSources, textInSources } from "./in-sources.ts";

/**
 * The reporter of Node that is for people, with places in the sources. Node's own `--enable-source-maps` would take a
 * tenth of the time of all tests: each process would read the maps of all that it loads to say where its tests stand.
 */
// biome-ignore lint/style/noDefaultExport: the runner asks for it.
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(told(events)).compose(new spec()) as AsyncIterable<string>;
}

async function* told(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) yield { ...event, data: dataInSources({ ...event.data } as Data) } as TestEvent;
}

interface Data extends Partial<Position> {
  readonly message?: string;
  readonly details?: { readonly error?: unknown };
}

function dataInSources(data: Data): Data {
  const { message, details } = data;
  errorInSources(details?.error);
  return { ...data, ...partlyInSources(data), ...(message !== undefined && { message: textInSources(message) }) };
}

/** Errors come from other processes: nobody else has them. From Node 22 on their stack is not to be assigned to. */
function errorInSources(error: unknown): void {
  if (!(error instanceof Error)) return;
  if (typeof error.stack === "string") Object.defineProperty(error, "stack", { value: textInSources(error.stack) });
  errorInSources(error.cause);
}
