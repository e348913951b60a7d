import type { ScheduledEntry } from "./schedule.ts";

/** This share of the slots is reserved for keys that hold none yet: hanging receivers leave capacity for others. */
const reservedShare = 1 / 4;
/** This many more may run, of workspaces that have nothing running: no workspace can take everything. */
const extraShare = 1 / 8;

/** The due entries of one concurrency key. */
interface KeyQueue {
  readonly name: string;
  readonly kind: string;
  readonly workspace: WorkspaceQueue;
  /** In order of (due, id). */
  readonly waiting: ScheduledEntry[];
  running: number;
  /** How many may run; undefined: not read since the last outcome. One may always run. */
  capacity: number | undefined;
}

interface WorkspaceQueue {
  readonly name: string | number;
  /** Keys with waiting entries, in order of their first entries. */
  readonly keys: KeyQueue[];
  running: number;
}

/**
 * The due entries, and which of them runs next: workspaces take turns, so that one with a thousand entries delays no other;
 * within a workspace the order is (due, id), as far as the capacities of its concurrency keys allow.
 */
export class Rotation {
  readonly #maxConcurrent: number;
  readonly #openToAll: number;
  readonly #max: number;
  readonly #keys = new Map<string, KeyQueue>();
  /** The workspace whose turn is next comes first. */
  readonly #workspaces = new Map<string | number, WorkspaceQueue>();
  readonly #running = new Set<ScheduledEntry>();
  readonly #unread = new Set<KeyQueue>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#openToAll = maxConcurrent - Math.floor(maxConcurrent * reservedShare);
    this.#max = maxConcurrent + Math.floor(maxConcurrent * extraShare);
  }

  get running(): readonly ScheduledEntry[] {
    return [...this.#running];
  }

  add(entry: ScheduledEntry): void {
    const key = this.#keyOf(entry);
    const first = key.waiting[0];
    insert(entry, key.waiting, isBefore);
    if (first === key.waiting[0]) return;
    const { keys } = key.workspace;
    if (first !== undefined) keys.splice(keys.indexOf(key), 1);
    insert(key, keys, hasEarlierEntry);
  }

  /** Removes a waiting entry; false if it is not waiting. */
  remove(entry: ScheduledEntry): boolean {
    const key = this.#keys.get(entry.concurrency_key);
    const at = key?.waiting.indexOf(entry) ?? -1;
    if (key === undefined || at < 0) return false;
    const { keys } = key.workspace;
    keys.splice(keys.indexOf(key), 1);
    key.waiting.splice(at, 1);
    if (key.waiting.length > 0) insert(key, keys, hasEarlierEntry);
    this.#dropIfEmpty(key);
    return true;
  }

  /** Takes the entry that runs next; undefined: none may. */
  next(): ScheduledEntry | undefined {
    if (this.#running.size >= this.#max) return undefined;
    for (const workspace of this.#workspaces.values()) {
      if (this.#running.size >= this.#maxConcurrent && workspace.running > 0) continue;
      // Only keys that have something running are passed, which are no more than there are slots.
      const at = workspace.keys.findIndex((key) => this.#isOpen(key));
      if (at < 0) continue;
      const [key] = workspace.keys.splice(at, 1);
      // Costs nothing, however long the list is.
      const entry = key!.waiting.shift()!;
      if (key!.waiting.length > 0) insert(key!, workspace.keys, hasEarlierEntry);
      this.start(entry);
      this.#workspaces.delete(workspace.name);
      this.#workspaces.set(workspace.name, workspace);
      return entry;
    }
    return undefined;
  }

  /** Counts an entry as running that was not waiting for its turn. */
  start(entry: ScheduledEntry): void {
    const key = this.#keyOf(entry);
    key.running += 1;
    key.workspace.running += 1;
    this.#running.add(entry);
  }

  /** Frees the slot of an entry; without effect if it has none. */
  finish(entry: ScheduledEntry): void {
    if (!this.#running.delete(entry)) return;
    const key = this.#keyOf(entry);
    key.running -= 1;
    key.workspace.running -= 1;
    key.capacity = undefined;
    this.#dropIfEmpty(key);
  }

  /** The keys whose capacities must be read before more of their entries may run. */
  takeUnread(): readonly KeyQueue[] {
    const unread = [...this.#unread];
    this.#unread.clear();
    return unread;
  }

  #isOpen(key: KeyQueue): boolean {
    if (key.running === 0) return true;
    if (this.#running.size >= this.#openToAll) return false;
    if (key.capacity === undefined) this.#unread.add(key);
    return key.running < (key.capacity ?? 1);
  }

  #keyOf({ concurrency_key: name, kind, workspace_id }: ScheduledEntry): KeyQueue {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    // One at a time means in order of (due, id) over everything.
    const workspace = this.#workspaceOf(this.#maxConcurrent === 1 ? "" : (workspace_id ?? kind));
    const key = { name, kind, workspace, waiting: [], running: 0, capacity: undefined };
    this.#keys.set(name, key);
    return key;
  }

  #workspaceOf(name: string | number): WorkspaceQueue {
    const known = this.#workspaces.get(name);
    if (known !== undefined) return known;
    const workspace = { name, keys: [], running: 0 };
    this.#workspaces.set(name, workspace);
    return workspace;
  }

  #dropIfEmpty({ name, workspace, waiting, running }: KeyQueue): void {
    if (waiting.length > 0 || running > 0) return;
    this.#keys.delete(name);
    if (workspace.keys.length === 0 && workspace.running === 0) this.#workspaces.delete(workspace.name);
  }
}

const isBefore = (a: ScheduledEntry, b: ScheduledEntry): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);
const hasEarlierEntry = (a: KeyQueue, b: KeyQueue): boolean => isBefore(a.waiting[0]!, b.waiting[0]!);

/** Puts something where it belongs in a sorted list; most often at its end. */
function insert<T>(one: T, list: T[], precedes: (a: T, b: T) => boolean): void {
  let low = 0;
  let high = list.length;
  if (high > 0 && precedes(list[high - 1]!, one)) low = high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (precedes(list[middle]!, one)) low = middle + 1;
    else high = middle;
  }
  if (low === list.length) list.push(one);
  else list.splice(low, 0, one);
}
