import type { BufferUsage } from "../../http/byte-bounded-log.ts";
import type { EventFrames } from "../../http/reply.ts";

/** Events in an emulator, as handlers may follow it. */
export interface FollowableEvents {
  /** Everything after the event of an id, until the signal is aborted. */
  follow(after: string | undefined, signal: AbortSignal): AsyncIterable<EventFrames>;
  /** How many follow it, and what is stored for those who come back. */
  readonly amount: BufferUsage & { readonly streams: number };
}
