import type { ScheduledEntry } from "./schedule.ts";

/**
 * The share of the slots that is reserved for keys without a running entry, so that hanging receivers cannot use them
 * all.
 */
const reservedShare = 1 / 4;
/** The share of extra slots for workspaces without a running entry, so that no workspace can use them all. */
const extraShare = 1 / 8;

interface KeyQueue {
  readonly name: string;
  readonly kind: string;
  readonly workspace: string | number;
  readonly waiting: ScheduledEntry[];
  running: number;
  /** The number of entries that may run, as read after the last outcome. It is at least one. */
  capacity: number;
}

/**
 * Decides which due entry runs next. Workspaces take turns, so that one with a thousand entries delays no other. Within
 * a workspace the order is (due, id), within the capacities of the concurrency keys.
 */
export class Rotation {
  readonly #maxConcurrent: number;
  readonly #unreservedSlots: number;
  readonly #keys = new Map<string, KeyQueue>();
  /**
   * The keys with waiting entries of each workspace, ordered by their first entry. The first workspace is the next one
   * to run.
   */
  readonly #keysByWorkspace = new Map<string | number, KeyQueue[]>();
  readonly running = new Map<ScheduledEntry, KeyQueue>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#unreservedSlots = Math.ceil(maxConcurrent * (1 - reservedShare));
  }

  /** Lists the keys with running and waiting entries if their capacities decide how many more may run. */
  listContendedKeys(): readonly KeyQueue[] {
    if (this.running.size >= this.#unreservedSlots) return [];
    return [...new Set(this.running.values())].filter(({ waiting }) => waiting.length > 0);
  }

  add(entry: ScheduledEntry): void {
    this.#change(entry, (waiting) => insert(entry, waiting, isBefore));
  }

  /** Removes and returns the entry that runs next. Returns undefined if no entry may run. */
  next(): ScheduledEntry | undefined {
    const { size } = this.running;
    if (size >= this.#maxConcurrent * (1 + extraShare)) return undefined;
    const busyWorkspaces =
      size < this.#maxConcurrent ? undefined : new Set([...this.running.values()].map((key) => key.workspace));
    for (const [workspace, keys] of this.#keysByWorkspace) {
      if (busyWorkspaces?.has(workspace)) continue;
      // This skips only keys with a running entry, and there are no more of them than slots.
      const entry = keys.find((key) => this.#isOpen(key))?.waiting[0];
      if (entry === undefined) continue;
      // The cost does not depend on the length of the list.
      this.#change(entry, (waiting) => waiting.shift());
      this.#start(entry);
      if (this.#keysByWorkspace.delete(workspace) && keys.length > 0) this.#keysByWorkspace.set(workspace, keys);
      return entry;
    }
    return undefined;
  }

  /** Gives a waiting entry a slot, regardless of its turn. Returns false if it is not waiting. */
  startBeforeOthers(entry: ScheduledEntry): boolean {
    if (!this.#keys.get(entry.concurrency_key)?.waiting.includes(entry)) return false;
    this.#change(entry, (waiting) => waiting.splice(waiting.indexOf(entry), 1));
    this.#start(entry);
    return true;
  }

  #start(entry: ScheduledEntry): void {
    const key = this.#getKey(entry);
    key.running += 1;
    this.running.set(entry, key);
  }

  /** Frees the slot of an entry. Does nothing if the entry has no slot. */
  finish(entry: ScheduledEntry): void {
    const key = this.running.get(entry);
    if (key === undefined) return;
    this.running.delete(entry);
    key.running -= 1;
    key.capacity = 1;
    if (key.running + key.waiting.length === 0) this.#keys.delete(key.name);
  }

  #isOpen({ running, capacity }: KeyQueue): boolean {
    if (running === 0) return true;
    return running < capacity && this.running.size < this.#unreservedSlots;
  }

  #getKey({ concurrency_key: name, kind, workspace_id }: ScheduledEntry): KeyQueue {
    const existing = this.#keys.get(name);
    if (existing !== undefined) return existing;
    // With a single slot, there is one global order by (due, id).
    const workspace = this.#maxConcurrent === 1 ? "" : (workspace_id ?? kind);
    const key = { name, kind, workspace, waiting: [], running: 0, capacity: 1 };
    this.#keys.set(name, key);
    return key;
  }

  /** Changes the waiting entries of a key and moves the key to the position of its first entry. */
  #change(entry: ScheduledEntry, edit: (waiting: ScheduledEntry[]) => void): void {
    const key = this.#getKey(entry);
    const keys = this.#keysByWorkspace.get(key.workspace) ?? [];
    const first = key.waiting[0];
    edit(key.waiting);
    if (first === key.waiting[0]) return;
    if (first !== undefined) keys.splice(keys.indexOf(key), 1);
    if (key.waiting.length > 0) insert(key, keys, (a, b) => isBefore(a.waiting[0]!, b.waiting[0]!));
    if (keys.length > 0) this.#keysByWorkspace.set(key.workspace, keys);
    else this.#keysByWorkspace.delete(key.workspace);
  }
}

const isBefore = (a: ScheduledEntry, b: ScheduledEntry): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);

/** Inserts an item into a sorted list, usually at the end. */
function insert<T>(item: T, list: T[], precedes: (a: T, b: T) => boolean): void {
  list.splice(list.findLastIndex((other) => precedes(other, item)) + 1, 0, item);
}
