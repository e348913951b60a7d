import type { TestContext } from "node:test";
import type * as z from "zod";
import type { Emulator } from "../../emulator/index.ts";
import { followEvents } from "../../src/api/emulator/console.ts";

const declared = followEvents.responses[200].schema;
export type ToldEvent = z.output<typeof declared>;

/** A stream of events, read as the standard has it; what its declaration does not allow fails the test. */
export interface EventStream {
  readonly status: number;
  /** All from the next one on, up to one that is wanted. */
  until(wanted: (event: ToldEvent) => boolean): Promise<readonly ToldEvent[]>;
  /** The next one. */
  next(): Promise<ToldEvent>;
  close(): Promise<void>;
}

interface Where {
  readonly after?: string;
  readonly lastEventId?: string;
}

export async function eventStream(
  t: Pick<TestContext, "after">,
  { controlUrl, token }: Pick<Emulator, "controlUrl" | "token">,
  { after, lastEventId }: Where = {},
): Promise<EventStream> {
  const ended = new AbortController();
  const url = `${controlUrl}/events${after === undefined ? "" : `?after=${encodeURIComponent(after)}`}`;
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
  };
  const answer = await fetch(url, { headers, signal: ended.signal });
  const events = eventsIn(answer.body!);
  t.after(() => ended.abort());
  const next = async () => {
    const { done, value } = await events.next();
    if (done) throw new Error("The stream has ended");
    return value;
  };
  return {
    status: answer.status,
    next,
    async until(wanted) {
      for (const all: ToldEvent[] = []; ; ) {
        all.push(await next());
        if (wanted(all.at(-1)!)) return all;
      }
    },
    async close() {
      ended.abort();
      await events.return(undefined).catch(() => {});
    },
  };
}

export async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<ToldEvent> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const frames = rest.split("\n\n");
    rest = frames.pop()!;
    for (const frame of frames) {
      const lines = frame.split("\n").filter((line) => !line.startsWith(":"));
      if (lines.length === 0) continue;
      const [id, data, ...others] = lines;
      const event = declared.parse(JSON.parse(data!.slice("data: ".length)));
      if (id !== `id: ${event.id}` || others.length > 0) throw new Error(`No event of this stream: ${frame}`);
      yield event;
    }
  }
}
