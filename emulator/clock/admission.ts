import type { Store, View } from "../store/port.ts";
import { BatchedRead } from "./batched-read.ts";
import { byKind, type JobHandlers } from "./job-handler.ts";
import type { Entry } from "./schedule.ts";

/** It is there for as long as something of it is admitted or waits. */
interface Lane {
  readonly name: string;
  readonly kind: string;
  readonly waiting: Entry[];
  /** Let through, and their outcome is not recorded yet. */
  admitted: number;
  /** Its room is being asked for. */
  asked: boolean;
}

/**
 * Entries that are due, lane by lane. Those admitted count against their lane's room from the moment they are let
 * through until their outcome is recorded; the others wait in order.
 */
export class Admission {
  readonly #kinds: JobHandlers;
  readonly #lanes = new Map<string, Lane>();
  readonly #questions: BatchedRead<Lane, Entry[]>;

  /** `admit` is told which are let through after they had to wait. */
  constructor(store: Store, kinds: JobHandlers, admit: (entries: readonly Entry[]) => void) {
    this.#kinds = kinds;
    this.#questions = new BatchedRead(
      store,
      async (view, lanes) => {
        const rooms = await this.#roomsOf(view, lanes);
        // Still inside: no outcome can be recorded between the answer and the count.
        return lanes.flatMap((lane, i) => release(lane, rooms[i]!));
      },
      (through) => {
        if (through.length > 0) admit(through);
      },
    );
  }

  /** True: it may start at once. False: it waits, and `admit` tells when it is let through. */
  offer(entry: Entry): boolean {
    const { lane: name, kind } = entry;
    const lane = this.#lanes.get(name);
    if (lane === undefined) {
      // One at a time is always allowed, so a lane with a single entry needs no question.
      this.#lanes.set(name, { name, kind, waiting: [], admitted: 1, asked: false });
      return true;
    }
    lane.waiting.push(entry);
    this.#ask(lane);
    return false;
  }

  /** The outcome of an admitted entry is in the state. */
  finished({ lane: name }: Entry): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return;
    lane.admitted -= 1;
    if (lane.waiting.length > 0) this.#ask(lane);
    else if (lane.admitted === 0) this.#lanes.delete(name);
  }

  #ask(lane: Lane): void {
    if (lane.asked) return;
    lane.asked = true;
    this.#questions.add(lane);
  }

  #roomsOf(view: View, lanes: readonly Lane[]): Promise<readonly number[]> {
    return byKind(lanes, async (kind, alike) => {
      const names = alike.map(({ name }) => name);
      // A kind that cannot tell must not stop its lanes: one at a time is always allowed.
      const rooms = await this.#kinds[kind]?.capacity?.(view, names).catch(() => undefined);
      return rooms ?? names.map(() => 1);
    });
  }
}

function release(lane: Lane, room: number): Entry[] {
  lane.asked = false;
  const through = lane.waiting.splice(0, Math.max(0, Math.max(1, room) - lane.admitted));
  lane.admitted += through.length;
  return through;
}
