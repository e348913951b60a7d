import type { Commit, Reach } from "../store/history.ts";
import type { History } from "../store/port.ts";

/** How far to go back. */
export type RewindTarget =
  /** To this virtual time, in milliseconds. */
  | { readonly to: number }
  /** To where nothing of this cause had come yet, such as `request:12`. */
  | { readonly before: string }
  /** To before so many of the last requests and moves of time that changed something. */
  | { readonly steps: number };

/** A place in the history to go back to. */
export interface Found {
  /** The number of the line after which the state is wanted; undefined: the present one, only time is another. */
  readonly line: number | undefined;
  /** What is taken back first; undefined where nothing is. */
  readonly first: Commit | undefined;
  /** How many commits are taken back. */
  readonly undone: number;
  /** Where the sequence of ids stood, as far as it is known. */
  readonly ids: unknown;
  /** The number that the last request had then; undefined where none has come since. */
  readonly requests: number | undefined;
}

/** The history that is kept does not reach so far. */
export class BeyondHistory extends Error {
  override readonly name = "BeyondHistory";
  readonly reach: Reach;
  /** How many requests and moves of time it has, where those are counted. */
  readonly steps: number | undefined;

  constructor(reach: Reach, steps: number | undefined) {
    super("The history that is kept does not reach so far");
    this.reach = reach;
    this.steps = steps;
  }
}

/** Nothing is kept of what led to the present state. */
export class NoHistory extends Error {
  override readonly name = "NoHistory";
}

/** The time that is meant does not lie behind the present one. */
export class NotBehind extends Error {
  override readonly name = "NotBehind";
  /** Virtual milliseconds. */
  readonly now: number;

  constructor(now: number) {
    super("The time to go back to lies ahead");
    this.now = now;
  }
}

/** What comes from outside, with its number: what somebody who counts steps has in mind. */
const fromOutside = /^(?:request|advance):(\d+)$/;

/** Looks for the place that is meant. Fails with BeyondHistory. */
export async function findIn(history: History, target: RewindTarget): Promise<Found> {
  const search = new Search(target);
  const reach = await history.visit((commit) => search.visit(commit));
  if (reach) search.end(reach);
  if (!search.isFound) throw new BeyondHistory(reach ?? { number: 0 }, search.counted);
  return search.found;
}

/** Is shown commits, the newest first, and knows which of them are to be taken back. */
class Search {
  readonly #target: RewindTarget;
  /** Seen so far, and how many of them are taken back. */
  #seen = 0;
  #undone = 0;
  #first: Commit | undefined;
  /** The one before the first. */
  #stays: Commit | Reach | undefined;
  #oldestRequest: number | undefined;
  #requests: number | undefined;
  readonly #steps = new Set<string>();
  isFound = false;

  constructor(target: RewindTarget) {
    this.#target = target;
  }

  get found(): Found {
    const line = this.#first && this.#first.number - 1;
    const ids = this.#first && this.#stays?.ids;
    return { line, first: this.#first, undone: this.#undone, ids, requests: this.#requests };
  }

  /** How many steps there are; undefined where none are counted. */
  get counted(): number | undefined {
    return "steps" in this.#target ? this.#steps.size : undefined;
  }

  /** False: it is found, and what is older is of no interest. */
  visit(commit: Commit): boolean {
    this.#seen += 1;
    const number = fromOutside.exec(commit.cause ?? "")?.[1];
    if (number !== undefined) this.#oldestRequest = Number(number);
    if (this.#isTakenBack(commit)) {
      this.#first = commit;
      this.#undone = this.#seen;
      this.#requests = this.#oldestRequest === undefined ? undefined : this.#oldestRequest - 1;
      this.#stays = undefined;
    } else {
      this.#stays ??= commit;
    }
    return !this.isFound;
  }

  /** Nothing older is kept than a state. */
  end(reach: Reach): void {
    this.#stays ??= reach;
    const target = this.#target;
    if ("to" in target) this.isFound ||= reach.at !== undefined && reach.at <= target.to;
    else if ("before" in target) this.isFound = this.#first !== undefined;
    else this.isFound ||= this.#steps.size === target.steps;
  }

  #isTakenBack({ at, cause }: Commit): boolean {
    const target = this.#target;
    if ("to" in target) {
      if (at !== undefined && at <= target.to) this.isFound = true;
      return at !== undefined && at > target.to;
    }
    // All of them are looked at: what one request changed may lie far apart.
    if ("before" in target) return cause === target.before;
    if (cause === undefined || !fromOutside.test(cause)) return false;
    if (this.#steps.size === target.steps && !this.#steps.has(cause)) {
      this.isFound = true;
      return false;
    }
    this.#steps.add(cause);
    return true;
  }
}
