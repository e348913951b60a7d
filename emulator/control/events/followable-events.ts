import type { BufferUsage } from "../../http/byte-bounded-log.ts";
import type { EventFrames } from "../../http/reply.ts";

/** Events of an emulator that handlers can follow. */
export interface FollowableEvents {
  /** All events after an id, until the signal is aborted. */
  follow(after: string | undefined, signal: AbortSignal): AsyncIterable<EventFrames>;
  /** The number of followers, and the events stored for those who reconnect. */
  readonly amount: BufferUsage & { readonly streams: number };
}
