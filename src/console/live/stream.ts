import type { followEvents } from "../../api/emulator/console.ts";
import type { ResultOf } from "../../api/operation.ts";
import { getOutline } from "../api/operations.ts";
import { CallError } from "../api/problem.ts";
import { forgetSession, getSessionHeaders } from "../api/session.ts";

export type EmulatorEvent = ResultOf<typeof followEvents> extends AsyncIterable<infer Event> ? Event : never;

/**
 * Yields the events of the emulator after a given one, in batches as they arrive. Ends with the connection or the
 * signal.
 */
export async function* streamEvents(
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<readonly EmulatorEvent[]> {
  const path = getOutline("events.watch").path.replace("/_emulator/", "../");
  const query = after === undefined ? "" : `?${new URLSearchParams({ after })}`;
  const response = await fetch(path + query, {
    headers: { accept: "text/event-stream", ...getSessionHeaders() },
    signal,
  });
  if (response.status === 401) forgetSession();
  if (!response.ok || !response.body) throw CallError.fromResponse(response.status, undefined);
  // The empty batch reports that the stream is open. If no event was missed, the next chunk may be a heartbeat many
  // seconds later.
  yield [];
  const lines = new EventStreamParser();
  const text = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = lines.push(text.decode(value, { stream: true })) as EmulatorEvent[];
    yield events;
  }
}

/** Extracts the data from chunks of a stream of server-sent events. */
export class EventStreamParser {
  #rest = "";
  #data: string[] = [];

  /** Returns the events that this chunk completes. */
  push(piece: string): unknown[] {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    const events: unknown[] = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("data:")) this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      if (line !== "" || this.#data.length === 0) continue;
      events.push(JSON.parse(this.#data.join("\n")));
      this.#data = [];
    }
    return events;
  }
}
