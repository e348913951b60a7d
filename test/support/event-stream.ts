import type { TestContext } from "node:test";
import type * as z from "zod";
import type { Emulator } from "../../emulator/index.ts";
import { followEvents } from "../../src/api/emulator/console.ts";

const declared = followEvents.responses[200].schema;
export type StreamedEvent = z.output<typeof declared>;

/** An event stream, parsed by the standard. An undeclared event fails the test. */
export interface EventStream {
  readonly status: number;
  /** Returns all further events up to the first that matches. */
  waitFor(wanted: (event: StreamedEvent) => boolean): Promise<readonly StreamedEvent[]>;
  /** Returns the next event. */
  next(): Promise<StreamedEvent>;
  close(): Promise<void>;
}

interface Where {
  readonly after?: string;
  readonly lastEventId?: string;
}

export async function openEventStream(
  t: Pick<TestContext, "after">,
  { controlUrl, token }: Pick<Emulator, "controlUrl" | "token">,
  { after, lastEventId }: Where = {},
): Promise<EventStream> {
  const abort = new AbortController();
  const url = `${controlUrl}/events${after === undefined ? "" : `?after=${encodeURIComponent(after)}`}`;
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
  };
  const response = await fetch(url, { headers, signal: abort.signal });
  const events = readEvents(response.body!);
  t.after(() => abort.abort());
  const next = async () => {
    const { done, value } = await events.next();
    if (done) throw new Error("The stream has ended");
    return value;
  };
  return {
    status: response.status,
    next,
    async waitFor(wanted) {
      for (const all: StreamedEvent[] = []; ; ) {
        all.push(await next());
        if (wanted(all.at(-1)!)) return all;
      }
    },
    async close() {
      abort.abort();
      await events.return(undefined).catch(() => {});
    },
  };
}

export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const frames = rest.split("\n\n");
    rest = frames.pop()!;
    for (const frame of frames) {
      const lines = frame.split("\n").filter((line) => !line.startsWith(":"));
      if (lines.length === 0) continue;
      const [id, data, ...extraLines] = lines;
      const event = declared.parse(JSON.parse(data!.slice("data: ".length)));
      if (id !== `id: ${event.id}` || extraLines.length > 0) throw new Error(`No event of this stream: ${frame}`);
      yield event;
    }
  }
}
