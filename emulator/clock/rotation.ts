import { SortedList } from "../store/live/sorted-list.ts";
import type { ScheduledEntry } from "./schedule.ts";

/**
 * The share of the slots that is reserved for keys without a running entry, so that hanging receivers cannot use them
 * all.
 */
const reservedShare = 1 / 4;
/** The share of extra slots for workspaces without a running entry, so that no workspace can use them all. */
const extraShare = 1 / 8;

interface Workspace {
  readonly id: string | number;
  /** The keys with waiting entries, ordered by their first entry. */
  readonly keys: SortedList<KeyQueue>;
  running: number;
}

interface KeyQueue {
  readonly workspace: Workspace;
  readonly waiting: SortedList<{ readonly ordinal: number; readonly entry: ScheduledEntry }>;
  first: ScheduledEntry | undefined;
  /** The ID of the first waiting entry, which orders keys of the same time. */
  readonly ordinal: number;
  running: number;
}

/**
 * Decides which due entry gets the next slot. Workspaces take turns, so that one with a thousand entries delays no
 * other. Within a workspace the order is (due, id), within the capacities of the concurrency keys.
 */
export class Rotation {
  readonly #maxConcurrent: number;
  readonly #keys = new Map<string, KeyQueue>();
  /** Workspaces with waiting or running entries. The first one has the next turn. */
  readonly #workspaces = new Map<string | number, Workspace>();
  /** The entries that have a slot. */
  readonly running = new Set<ScheduledEntry>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  add(entry: ScheduledEntry): void {
    const key = this.#getKey(entry);
    key.waiting.insert(entry.due, { ordinal: entry.id, entry });
    moveToPosition(key);
  }

  /** Gives a slot to the entry whose turn it is. Returns undefined if no entry may run. */
  startNext(readCapacity: (entry: ScheduledEntry) => number): ScheduledEntry | undefined {
    const usedSlots = this.running.size;
    if (usedSlots >= this.#maxConcurrent * (1 + extraShare)) return undefined;
    const isReserved = usedSlots >= this.#maxConcurrent * (1 - reservedShare);
    const isExtra = usedSlots >= this.#maxConcurrent;
    for (const workspace of this.#workspaces.values()) {
      if (isExtra && workspace.running > 0) continue;
      // This skips only keys with a running entry, and there are no more of them than running entries.
      const key = workspace.keys
        .slice(0, workspace.running + 1)
        .find(({ running, first }) => running === 0 || (!isReserved && running < readCapacity(first!)));
      if (key === undefined) continue;
      this.#workspaces.delete(workspace.id);
      this.#workspaces.set(workspace.id, workspace);
      const entry = key.first!;
      this.start(entry);
      return entry;
    }
    return undefined;
  }

  /** Gives a slot to a waiting entry, even before its turn. Returns false if it is not waiting. */
  start(entry: ScheduledEntry): boolean {
    const key = this.#keys.get(entry.concurrency_key);
    if (key === undefined || !key.waiting.remove(entry.due, entry.id)) return false;
    moveToPosition(key);
    key.running += 1;
    key.workspace.running += 1;
    this.running.add(entry);
    return true;
  }

  /** Frees the slot of an entry. Does nothing if the entry has no slot. */
  finish(entry: ScheduledEntry): void {
    if (!this.running.delete(entry)) return;
    const key = this.#getKey(entry);
    const { workspace } = key;
    key.running -= 1;
    workspace.running -= 1;
    if (key.running + key.waiting.length === 0) this.#keys.delete(entry.concurrency_key);
    if (workspace.running + workspace.keys.length === 0) this.#workspaces.delete(workspace.id);
  }

  #getKey({ concurrency_key: name, kind, workspace_id }: ScheduledEntry): KeyQueue {
    const existing = this.#keys.get(name);
    if (existing !== undefined) return existing;
    // With a single slot, there is one global order by (due, id).
    const id = this.#maxConcurrent === 1 ? "" : (workspace_id ?? kind);
    const workspace: Workspace = this.#workspaces.get(id) ?? { id, keys: new SortedList(), running: 0 };
    this.#workspaces.set(id, workspace);
    const key: KeyQueue = {
      workspace,
      waiting: new SortedList(),
      first: undefined,
      running: 0,
      get ordinal() {
        return this.first?.id ?? 0;
      },
    };
    this.#keys.set(name, key);
    return key;
  }
}

/** Moves a key to the position of its first waiting entry in its workspace. */
function moveToPosition(key: KeyQueue): void {
  const { keys } = key.workspace;
  const [next] = key.waiting.slice(0, 1);
  if (key.first === next?.entry) return;
  if (key.first) keys.remove(key.first.due, key.ordinal);
  key.first = next?.entry;
  if (key.first) keys.insert(key.first.due, key);
}
