import type { ScheduledEntry } from "./schedule.ts";

/** This share of the slots is reserved for keys that hold none yet: hanging receivers leave capacity for others. */
const reservedShare = 1 / 4;
/** This many more may run, of workspaces that have nothing running: no workspace can take everything. */
const extraShare = 1 / 8;

/** The due entries of one concurrency key. */
interface KeyQueue {
  readonly name: string;
  readonly kind: string;
  readonly workspace: string | number;
  /** In order of (due, id). */
  readonly waiting: ScheduledEntry[];
  running: number;
  /** How many may run, as read since the last outcome; one always may. */
  capacity: number;
}

/**
 * The due entries, and which of them runs next: workspaces take turns, so that one with a thousand entries delays no other;
 * within a workspace the order is (due, id), as far as the capacities of its concurrency keys allow.
 */
export class Rotation {
  readonly #maxConcurrent: number;
  readonly #keys = new Map<string, KeyQueue>();
  /** Of each workspace, the keys with waiting entries, in order of their first ones. The workspace whose turn is next comes first. */
  readonly #turns = new Map<string | number, KeyQueue[]>();
  readonly #running = new Map<ScheduledEntry, KeyQueue>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  running(): readonly ScheduledEntry[] {
    return [...this.#running.keys()];
  }

  /** Keys of which entries run and others wait: their capacities decide how many more may run. */
  contendedKeys(): readonly KeyQueue[] {
    return [...new Set(this.#running.values())].filter(({ waiting }) => waiting.length > 0);
  }

  add(entry: ScheduledEntry): void {
    this.#change(entry, (waiting) => insert(entry, waiting, isBefore));
  }

  /** Removes a waiting entry; false if it is not waiting. */
  remove(entry: ScheduledEntry): boolean {
    if (!this.#keys.get(entry.concurrency_key)?.waiting.includes(entry)) return false;
    this.#change(entry, (waiting) => waiting.splice(waiting.indexOf(entry), 1));
    return true;
  }

  /** Takes the entry that runs next; undefined: none may. */
  next(): ScheduledEntry | undefined {
    const { size } = this.#running;
    if (size >= this.#maxConcurrent * (1 + extraShare)) return undefined;
    const busy =
      size < this.#maxConcurrent ? undefined : new Set([...this.#running.values()].map((key) => key.workspace));
    for (const [workspace, keys] of this.#turns) {
      if (busy?.has(workspace)) continue;
      // Only keys that have something running are passed, which are no more than there are slots.
      const entry = keys.find((key) => this.#isOpen(key))?.waiting[0];
      if (entry === undefined) continue;
      // Costs nothing, however long the list is.
      this.#change(entry, (waiting) => waiting.shift());
      this.start(entry);
      if (this.#turns.delete(workspace) && keys.length > 0) this.#turns.set(workspace, keys);
      return entry;
    }
    return undefined;
  }

  /** Counts an entry as running that was not waiting for its turn. */
  start(entry: ScheduledEntry): void {
    const key = this.#keyOf(entry);
    key.running += 1;
    this.#running.set(entry, key);
  }

  /** Frees the slot of an entry; without effect if it has none. */
  finish(entry: ScheduledEntry): void {
    const key = this.#running.get(entry);
    if (key === undefined) return;
    this.#running.delete(entry);
    key.running -= 1;
    key.capacity = 1;
    if (key.running + key.waiting.length === 0) this.#keys.delete(key.name);
  }

  #isOpen({ running, capacity }: KeyQueue): boolean {
    if (running === 0) return true;
    return running < capacity && this.#running.size < Math.ceil(this.#maxConcurrent * (1 - reservedShare));
  }

  #keyOf({ concurrency_key: name, kind, workspace_id }: ScheduledEntry): KeyQueue {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    // One at a time means in order of (due, id) over everything.
    const workspace = this.#maxConcurrent === 1 ? "" : (workspace_id ?? kind);
    const key = { name, kind, workspace, waiting: [], running: 0, capacity: 1 };
    this.#keys.set(name, key);
    return key;
  }

  /** Changes which entries of a key wait, and lists the key where its first one belongs. */
  #change(entry: ScheduledEntry, edit: (waiting: ScheduledEntry[]) => void): void {
    const key = this.#keyOf(entry);
    const keys = this.#turns.get(key.workspace) ?? [];
    const first = key.waiting[0];
    edit(key.waiting);
    if (first === key.waiting[0]) return;
    if (first !== undefined) keys.splice(keys.indexOf(key), 1);
    if (key.waiting.length > 0) insert(key, keys, (a, b) => isBefore(a.waiting[0]!, b.waiting[0]!));
    if (keys.length > 0) this.#turns.set(key.workspace, keys);
    else this.#turns.delete(key.workspace);
  }
}

const isBefore = (a: ScheduledEntry, b: ScheduledEntry): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);

/** Inserts a thing where it belongs in a sorted list, which is most often its end. */
function insert<T>(one: T, list: T[], precedes: (a: T, b: T) => boolean): void {
  list.splice(list.findLastIndex((other) => precedes(other, one)) + 1, 0, one);
}
