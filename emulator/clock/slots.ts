import type { Entry } from "./schedule.ts";

/** Of this share of the slots only keys that hold none yet may take one: hanging receivers leave capacity for others. */
const reservedShare = 1 / 4;
/** So many more may begin, of owners that have nothing under way: no owner can take everything. */
const ownersShare = 1 / 8;
/** So many entries for each slot may be begun and not yet durable: after a crash they are run again. */
const uncommittedPerSlot = 4;

/**
 * Who may begin. An entry takes a slot when it begins and leaves it when its outcome is in the state; it is under way until
 * that is durable. While many slots are free they are open to everybody, then to concurrency keys that hold none, and at
 * last, beyond `atOnce`, to owners that hold none.
 */
export class Slots {
  readonly #openToAll: number;
  readonly #atOnce: number;
  readonly #most: number;
  readonly #mostUnderWay: number;
  /** Who holds a slot, and whose it is. */
  readonly #holders = new Map<Entry, string>();
  /** How many slots a concurrency key holds, and how many an owner; none has no row. */
  readonly #byKey = new Map<string, number>();
  readonly #byOwner = new Map<string, number>();
  #underWay = 0;

  constructor(atOnce: number) {
    this.#openToAll = atOnce - Math.floor(atOnce * reservedShare);
    this.#atOnce = atOnce;
    this.#most = atOnce + Math.floor(atOnce * ownersShare);
    this.#mostUnderWay = atOnce * uncommittedPerSlot;
  }

  /** Whether somebody may begin. */
  get areLeft(): boolean {
    return this.#holders.size < this.#most && this.#underWay < this.#mostUnderWay;
  }

  /** Whether entries of an owner may begin. */
  areOpenToOwner(owner: string): boolean {
    return this.#holders.size < this.#atOnce || !this.#byOwner.has(owner);
  }

  /** Whether those of a concurrency key may, where their owner's may. */
  areOpenToKey(key: string): boolean {
    return this.#holders.size < this.#openToAll || !this.#byKey.has(key);
  }

  /** Whether entries are begun and not yet durable. */
  get areInUse(): boolean {
    return this.#underWay > 0;
  }

  /** Those that hold a slot. */
  get holders(): readonly Entry[] {
    return [...this.#holders.keys()];
  }

  isHeldBy(entry: Entry): boolean {
    return this.#holders.has(entry);
  }

  /** An entry begins. */
  take(entry: Entry, owner: string): void {
    this.#underWay += 1;
    this.#holders.set(entry, owner);
    count(this.#byKey, entry.concurrency_key, 1);
    count(this.#byOwner, owner, 1);
  }

  /** Its outcome is in the state. False: it had left before. */
  leave(entry: Entry): boolean {
    const owner = this.#holders.get(entry);
    if (owner === undefined) return false;
    this.#holders.delete(entry);
    count(this.#byKey, entry.concurrency_key, -1);
    count(this.#byOwner, owner, -1);
    return true;
  }

  /** So many that have left are durable, or never will be. */
  end(entries: number): void {
    this.#underWay -= entries;
  }
}

function count(all: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (all.get(name) ?? 0) + change;
  if (now === 0) all.delete(name);
  else all.set(name, now);
}
