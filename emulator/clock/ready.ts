import type { Entry } from "./schedule.ts";
import type { Slots } from "./slots.ts";

/** What is ready of one owner, in order of (due, id). */
interface OwnerQueue {
  readonly owner: string;
  readonly entries: Entry[];
  /** How much it has had, as against the others that had something ready. */
  share: number;
}

const isBefore = (a: Entry, b: Entry): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);

/**
 * Entries that may begin, by their owners. The next one is of the owner that had least: whoever has a thousand ready keeps
 * nobody waiting who has one. Who had nothing ready for a while begins where the others are, and cannot save up (start-time
 * fair queueing).
 */
export class Ready {
  readonly #queues = new Map<string, OwnerQueue>();
  /** The share of whoever was last. */
  #now = 0;

  add(entry: Entry, owner: string): void {
    let queue = this.#queues.get(owner);
    if (queue === undefined) {
      queue = { owner, entries: [], share: this.#now };
      this.#queues.set(owner, queue);
    }
    const { entries } = queue;
    const last = entries.at(-1);
    if (last === undefined || isBefore(last, entry)) entries.push(entry);
    else entries.splice(positionOf(entry, entries), 0, entry);
  }

  /** Takes out the next one that a slot is open to; undefined where there is none. */
  take(slots: Slots): Entry | undefined {
    let first: OwnerQueue | undefined;
    let at = -1;
    for (const queue of this.#queues.values()) {
      if ((first !== undefined && !isAhead(queue, first)) || !slots.areOpenToOwner(queue.owner)) continue;
      // No more keys are busy than there are slots, each with few entries, so that the search is short.
      const found = queue.entries.findIndex(({ concurrency_key: key }) => slots.areOpenToKey(key));
      if (found < 0) continue;
      first = queue;
      at = found;
    }
    if (first === undefined) return undefined;
    this.#now = first.share;
    first.share += 1;
    return this.#cutOut(first, at);
  }

  /** Takes out the one of that id; false where it is not ready. */
  remove(id: number): boolean {
    for (const queue of this.#queues.values()) {
      const at = queue.entries.findIndex((entry) => entry.id === id);
      if (at < 0) continue;
      this.#cutOut(queue, at);
      return true;
    }
    return false;
  }

  #cutOut({ owner, entries }: OwnerQueue, at: number): Entry {
    // Shifting costs nothing however long the list is; cutting the first one out moves all the others.
    const entry = at === 0 ? entries.shift()! : entries.splice(at, 1)[0]!;
    if (entries.length === 0) this.#queues.delete(owner);
    return entry;
  }
}

/** Queues have something in them. */
const isAhead = (a: OwnerQueue, b: OwnerQueue): boolean =>
  a.share < b.share || (a.share === b.share && isBefore(a.entries[0]!, b.entries[0]!));

/** Where an entry belongs among others. */
function positionOf(entry: Entry, entries: readonly Entry[]): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(entries[middle]!, entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}
