import { toIsoMillis } from "../../../src/base/clock.ts";
import { Emitter } from "../../../src/base/concurrency.ts";
import { waitForNextTurn } from "../../../src/base/timing.ts";
import { type BufferUsage, ByteBoundedLog } from "../../http/byte-bounded-log.ts";
import { heartbeat, streamItems } from "../../http/event-stream.ts";
import { EventFrames } from "../../http/reply.ts";
import type { ControlContext, FollowableEvents } from "../context.ts";
import { type ActivityItem, describeEvents, watchActivityItems } from "./describe-events.ts";

type FeedContext = Parameters<typeof describeEvents>[0] &
  Parameters<typeof watchActivityItems>[0] &
  Pick<ControlContext, "wall">;

const feedLimits = {
  /** Minimum interval between batches, in wall-clock milliseconds. */
  minIntervalMs: 50,
  /** Time for which events are still recorded after the last follower has disconnected, in case it reconnects. */
  maxIdleMs: 90_000,
  /** Maximum number of changes in a batch. A larger batch is dropped, and followers read everything again. */
  maxWeight: 4_000,
};

/**
 * Events of an emulator for all subscribers. Recording starts when the first follower connects. IDs are unique to a
 * run of the emulator: `5f3a9c1b-17` is its 17th event.
 */
export class EventFeed implements FollowableEvents {
  readonly #context: FeedContext;
  readonly #runId: string;
  readonly #ring = new EventRing();
  #items: ActivityItem[] = [];
  #weight = 0;
  #isPublishing = false;
  #unwatch: (() => void) | undefined;
  #streams = 0;
  #idleTimer = new AbortController();
  readonly #closed = new AbortController();
  readonly #published = new Emitter();

  constructor(context: FeedContext, instance: string) {
    this.#context = context;
    this.#runId = instance.slice(0, 8);
  }

  get amount() {
    return { streams: this.#streams, ...this.#ring.amount };
  }

  async *follow(after: string | undefined, signal: AbortSignal): AsyncGenerator<EventFrames> {
    this.#addStream();
    try {
      const resumed = after === undefined ? undefined : this.#parseNumber(after);
      const canResume = resumed !== undefined && this.#ring.listAfter(resumed) !== undefined;
      let position = canResume ? resumed : this.#ring.last;
      // The first frame proves to the client that the stream arrives, also behind a proxy.
      yield canResume ? heartbeat : this.#createMarker(after === undefined ? "begin" : "resync");
      yield* streamItems(signal, this.#published.watch, () => {
        const frames = this.#ring.listAfter(position);
        position = this.#ring.last;
        if (frames === undefined) return [this.#createMarker("resync")];
        return frames.length === 0 ? [] : [new EventFrames(frames.join(""))];
      });
    } finally {
      this.#removeStream();
    }
  }

  close(): void {
    this.#closed.abort();
    this.#idleTimer.abort();
    this.#stop();
  }

  #addStream(): void {
    this.#streams += 1;
    this.#idleTimer.abort();
    this.#unwatch ??= watchActivityItems(this.#context, (item) => this.#enqueue(item));
  }

  #removeStream(): void {
    this.#streams -= 1;
    if (this.#streams > 0 || this.#closed.signal.aborted) return;
    this.#idleTimer = new AbortController();
    const { signal } = this.#idleTimer;
    void this.#context.wall.sleep(feedLimits.maxIdleMs, signal).then(() => {
      if (!signal.aborted) this.#stop();
    });
  }

  #stop(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#items = [];
    this.#weight = 0;
    this.#ring.interrupt();
  }

  #enqueue(item: ActivityItem): void {
    this.#weight += typeof item === "object" && "rows" in item ? item.rows.length : 1;
    // A batch that is too large is dropped, so its data is not stored either.
    if (this.#weight <= feedLimits.maxWeight) this.#items.push(item);
    else this.#items = [];
    if (!this.#isPublishing) void this.#publish();
  }

  async #publish(): Promise<void> {
    this.#isPublishing = true;
    while (this.#weight > 0 && this.#unwatch) {
      // More items can be added while one is published.
      await waitForNextTurn();
      const [items, weight] = [this.#items, this.#weight];
      this.#items = [];
      this.#weight = 0;
      if (weight > feedLimits.maxWeight || !(await this.#add(items))) this.#ring.interrupt();
      this.#published.emit();
      await this.#context.wall.sleep(feedLimits.minIntervalMs, this.#closed.signal);
    }
    this.#isPublishing = false;
  }

  /** Returns false if the store is closed or cannot be written. Only durable changes are published. */
  async #add(items: readonly ActivityItem[]): Promise<boolean> {
    try {
      const events = await describeEvents(this.#context, items);
      await this.#context.store.waitUntilDurable();
      for (const event of events) {
        this.#ring.add((number) => formatFrame(`${this.#runId}-${number}`, event));
      }
      return true;
    } catch {
      return false;
    }
  }

  #parseNumber(id: string): number | undefined {
    const [, run, number] = /^([\w]{8})-(\d{1,15})$/.exec(id) ?? [];
    return run === this.#runId ? Number(number) : undefined;
  }

  #createMarker(event: "begin" | "resync"): EventFrames {
    const at = toIsoMillis(this.#context.clock.now());
    return new EventFrames(formatFrame(`${this.#runId}-${this.#ring.last}`, { at, event, ref: null }));
  }
}

/** The ID is repeated in the data for readers that ignore the field. */
const formatFrame = (id: string, event: object): string => `id: ${id}\ndata: ${JSON.stringify({ id, ...event })}\n\n`;

/** Maximum size of the retained events. Each event counts as at least 420 bytes, which limits their number to 5,000. */
const maxBytes = 2 * 1024 * 1024;
const minEventBytes = 420;

/** The newest events of an emulator, as numbered frames. */
class EventRing {
  readonly #frames = new ByteBoundedLog<string>(maxBytes);
  #last = 0;
  #droppedBeforeGap = 0;

  get last(): number {
    return this.#last;
  }

  get amount(): BufferUsage {
    const amount = this.#frames.amount;
    return { ...amount, dropped: this.#droppedBeforeGap + amount.dropped };
  }

  add(createFrame: (number: number) => string): void {
    this.#last += 1;
    const frame = createFrame(this.#last);
    this.#frames.add(frame, Math.max(frame.length, minEventBytes));
  }

  /** Returns the frames after a number, or undefined if a frame was dropped or never published. */
  listAfter(number: number): readonly string[] | undefined {
    const lastDropped = this.#last - this.#frames.amount.count;
    return number < lastDropped || number > this.#last ? undefined : this.#frames.list(number - lastDropped);
  }

  /** Marks a gap, which is reported to earlier followers. */
  interrupt(): void {
    const { count, dropped } = this.#frames.amount;
    this.#droppedBeforeGap += count + dropped;
    this.#frames.clear();
    this.#last += 1;
  }
}
