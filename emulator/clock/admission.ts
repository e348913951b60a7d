import type { Store, View } from "../store/port.ts";
import { BatchedRead } from "./batched-read.ts";
import { byKind, type JobHandlers } from "./job-handler.ts";
import type { Entry } from "./schedule.ts";

/** The entries of one concurrency key: there for as long as one of them is admitted or waits. */
interface KeyQueue {
  readonly name: string;
  readonly kind: string;
  readonly owner: string;
  readonly waiting: Entry[];
  /** Admitted, and their outcome is not committed yet. */
  admitted: number;
  /** Its capacity is being asked for. */
  asking: boolean;
}

/**
 * Entries that are due, by their concurrency keys. Each counts against the capacity of its key from the moment it is
 * admitted until its outcome is committed; the others wait in order.
 */
export class Admission {
  readonly #handlers: JobHandlers;
  readonly #queues = new Map<string, KeyQueue>();
  readonly #capacityReads: BatchedRead<KeyQueue, Entry[]>;

  /** `admit` is called with those that are admitted after they had to wait. */
  constructor(store: Store, handlers: JobHandlers, admit: (entries: readonly Entry[]) => void) {
    this.#handlers = handlers;
    this.#capacityReads = new BatchedRead(
      store,
      async (view, queues) => {
        const capacities = await this.#capacitiesOf(view, queues);
        // Still inside: no outcome can be committed between the answer and the count.
        const admitted: Entry[] = [];
        for (const [i, queue] of queues.entries()) release(queue, capacities[i]!, admitted);
        return admitted;
      },
      (admitted) => {
        if (admitted.length > 0) admit(admitted);
      },
    );
  }

  /** Whose the entries of a key are that are admitted or wait. */
  ownerOf(key: string): string | undefined {
    return this.#queues.get(key)?.owner;
  }

  /** Asks whose entries are, of keys that are not known yet. */
  async ownersOf(view: View, entries: readonly Entry[]): Promise<ReadonlyMap<string, string>> {
    const fresh = new Map<string, { readonly kind: string; readonly name: string }>();
    for (const { kind, concurrency_key: name } of entries) if (!this.#queues.has(name)) fresh.set(name, { kind, name });
    if (fresh.size === 0) return nobody;
    const asked = [...fresh.values()];
    const owners = await byKind(asked, async (kind, alike) => {
      const names = alike.map(({ name }) => name);
      const found = await this.#handlers[kind]?.owners?.(view, names).catch(() => undefined);
      return names.map((_, i) => found?.[i] ?? kind);
    });
    return new Map(asked.map(({ name }, i) => [name, owners[i]!]));
  }

  /** True: it is admitted at once. False: it waits, and `admit` is called with it later. */
  offer(entry: Entry, owner: string): boolean {
    const { concurrency_key: name, kind } = entry;
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      // One at a time is always allowed, so the capacity of a key with a single entry is not asked for.
      this.#queues.set(name, { name, kind, owner, waiting: [], admitted: 1, asking: false });
      return true;
    }
    queue.waiting.push(entry);
    this.#ask(queue);
    return false;
  }

  /** The outcome of an admitted entry is committed. */
  finished({ concurrency_key: name }: Entry): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    queue.admitted -= 1;
    if (queue.waiting.length > 0) this.#ask(queue);
    else if (queue.admitted === 0) this.#queues.delete(name);
  }

  #ask(queue: KeyQueue): void {
    if (queue.asking) return;
    queue.asking = true;
    this.#capacityReads.add(queue);
  }

  #capacitiesOf(view: View, queues: readonly KeyQueue[]): Promise<readonly number[]> {
    return byKind(queues, async (kind, alike) => {
      const names = alike.map(({ name }) => name);
      // A handler that cannot tell must not stop its keys: one at a time is always allowed.
      const capacities = await this.#handlers[kind]?.capacity?.(view, names).catch(() => undefined);
      return capacities ?? names.map(() => 1);
    });
  }
}

const nobody: ReadonlyMap<string, string> = new Map();

/** Admits as many of a queue as its capacity allows, and adds them to a list. */
function release(queue: KeyQueue, capacity: number, admitted: Entry[]): void {
  queue.asking = false;
  const allowed = Math.max(1, capacity);
  // Shifting costs nothing however long the list is (see Ready).
  while (queue.admitted < allowed && queue.waiting.length > 0) {
    admitted.push(queue.waiting.shift()!);
    queue.admitted += 1;
  }
}
