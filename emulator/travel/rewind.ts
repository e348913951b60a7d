import { isoMillis } from "../../src/base/clock.ts";
import type { CauseRow } from "../store/cause.ts";
import type { Commit, History, HistoryStart } from "../store/port.ts";

/** How far to go back. */
export type RewindTarget =
  /** To this virtual time, in milliseconds. */
  | { readonly to: number }
  /** To the state before this cause, such as `request:12`. */
  | { readonly before: string }
  /** To the state before this many of the last requests from outside and clock advances that changed the state. */
  | { readonly steps: number };

type Causes = ReadonlyMap<string, CauseRow>;

/** The present, as it is in one moment. */
interface PresentState {
  /** The causes that are stored, by id. */
  readonly causes: Causes;
  /** The number of the last line. */
  readonly line: number;
}

/** A place in the history to go back to. */
export interface RewindPoint {
  /** The first cause that is undone; undefined if there is none. */
  readonly first: Commit | undefined;
  /** The undone causes, each with its own causes, from the inside to the outside. */
  readonly chains: readonly Chain[];
  /** The cause before which it lies; undefined if a time was meant. */
  readonly before: string | undefined;
  /** Position of the sequence of ids, as far as it is known. */
  readonly ids: unknown;
  /** Beginning of the history; undefined if it was not read that far. */
  readonly reach: HistoryStart | undefined;
}

type Chain = readonly [cause: string, ...string[]];

/** The history that is stored does not reach so far. */
export class RewindOutOfRangeError extends Error {
  override readonly name = "RewindOutOfRangeError";
  readonly reach: HistoryStart;
  /** How many requests and clock advances it has, where those are counted. */
  readonly steps: number | undefined;

  constructor(reach: HistoryStart, steps: number | undefined) {
    const begins = reach.at === undefined ? "" : `. It begins at ${isoMillis(reach.at)}`;
    const counted = steps === undefined ? "" : `. It has ${steps} requests and clock advances`;
    super(`The history does not reach back that far${begins}${counted}`);
    this.reach = reach;
    this.steps = steps;
  }
}

/** The history of the present state is not stored. */
export class HistoryUnavailableError extends Error {
  override readonly name = "HistoryUnavailableError";

  constructor() {
    super("The emulator has no history. Start it with a file or a store, and with historyBytes " + "above 0");
  }
}

/** The time that is meant does not lie behind the present one. */
export class RewindTargetInFutureError extends Error {
  override readonly name = "RewindTargetInFutureError";
  /** Virtual milliseconds. */
  readonly now: number;

  constructor(now: number) {
    super(`Cannot rewind to the future: virtual time is ${isoMillis(now)}`);
    this.now = now;
  }
}

/** A request or a clock advance has a number: they are counted together, in the order in which they came. */
const numbered = /^(?:request|advance):(\d+)$/;

/** Undefined for what has no such number. */
export function parseCauseNumber(cause: string): number | undefined {
  const number = numbered.exec(cause)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** The first cause, as far as it is stored: a request, or a clock advance. */
export const findOrigin = (chain: Chain): string => chain.at(-1)!;

/** Looks for the place that is meant. Fails with RewindOutOfRangeError. */
export async function findRewindPoint(
  history: History,
  target: RewindTarget,
  present: PresentState,
): Promise<RewindPoint> {
  const search = new Search(target, present.causes);
  // Commits meanwhile are undone with the rest; their causes are not known.
  const reach = await history.visit((commit) => commit.number > present.line || search.visit(commit));
  const found = search.found(reach);
  if (!found) throw new RewindOutOfRangeError(reach ?? { number: 0 }, search.counted);
  return found;
}

/** A commit, and the one before it or where the history begins. */
interface Line {
  readonly commit: Commit;
  before: Commit | HistoryStart | undefined;
}

/** A cause of commits, which need not lie side by side. */
interface HistoryEnd {
  readonly chain: Chain;
  readonly newest: number;
  oldest: Line;
}

/** Is shown commits, the newest first, and knows which of them are to be taken back. */
class Search {
  readonly #target: RewindTarget;
  readonly #causes: Causes;
  readonly #seen = new Map<string, HistoryEnd>();
  /** For a number of steps. */
  readonly #steps: LastNumbers;
  #last: Line | undefined;
  /** For a time: the oldest cause after it. */
  #after: Line | undefined;
  #hasTime = false;

  constructor(target: RewindTarget, causes: Causes) {
    this.#target = target;
    this.#causes = causes;
    this.#steps = new LastNumbers("steps" in target ? target.steps : 0);
  }

  /** How many steps there are; undefined if none are counted. */
  get counted(): number | undefined {
    return "steps" in this.#target ? this.#steps.size : undefined;
  }

  /** False: older commits are of no interest. */
  visit(commit: Commit): boolean {
    const line: Line = { commit, before: undefined };
    if (this.#last) this.#last.before = commit;
    this.#last = line;
    if (this.#isTooOld(commit)) return false;
    if ("to" in this.#target && commit.at !== undefined) this.#after = line;
    if (commit.cause !== undefined) this.#see(commit.cause, line);
    return true;
  }

  /** Undefined: it is beyond the stored history. `reach`: beginning of the history, if all of it was read. */
  found(reach: HistoryStart | undefined): RewindPoint | undefined {
    if (this.#last) this.#last.before ??= reach;
    const target = this.#target;
    if ("to" in target) {
      this.#hasTime ||= reach?.at !== undefined && reach.at <= target.to;
      return this.#hasTime ? this.#upTo(this.#after, undefined, reach) : undefined;
    }
    const before = "before" in target ? target.before : this.#steps.first;
    if (before === undefined) return undefined;
    let first: Line | undefined;
    for (const { chain, oldest } of this.#seen.values()) {
      if (this.#isOf(chain, before) && !(first && first.commit.number < oldest.commit.number)) first = oldest;
    }
    return first && this.#upTo(first, before, reach);
  }

  /** Virtual time never goes back on the way: a cause changed nothing before it came. */
  #isTooOld({ at }: Commit): boolean {
    if (at === undefined) return false;
    const target = this.#target;
    if ("to" in target) {
      this.#hasTime = at <= target.to;
      return this.#hasTime;
    }
    const before = "before" in target ? target.before : this.#steps.first;
    const row = before === undefined ? undefined : this.#causes.get(before);
    return row !== undefined && at < row.at;
  }

  #see(cause: string, line: Line): void {
    const known = this.#seen.get(cause);
    if (known) known.oldest = line;
    else {
      const chain = this.#chainOf(cause);
      this.#seen.set(cause, { chain, newest: line.commit.number, oldest: line });
      this.#steps.add(findOrigin(chain));
    }
  }

  #chainOf(cause: string): Chain {
    const chain: [string, ...string[]] = [cause];
    for (let row = this.#causes.get(cause); row?.before; row = this.#causes.get(row.before)) chain.push(row.before);
    return chain;
  }

  /** Whether it belongs to the undone causes, or to one of the steps after it. */
  #isOf(chain: Chain, before: string): boolean {
    if (!("steps" in this.#target)) return chain.includes(before);
    const number = parseCauseNumber(findOrigin(chain));
    return number !== undefined && number >= parseCauseNumber(before)!;
  }

  #upTo(first: Line | undefined, before: string | undefined, reach: HistoryStart | undefined): RewindPoint {
    const all = first === undefined ? [] : [...this.#seen.values()];
    const chains = all.filter(({ newest }) => newest >= first!.commit.number).map(({ chain }) => chain);
    return { first: first?.commit, chains, before, ids: first?.before?.ids, reach };
  }
}

/** This many causes with the highest numbers: the ones that a user counts. */
class LastNumbers {
  readonly #count: number;
  #all: { readonly cause: string; readonly number: number }[] = [];
  readonly #known = new Set<string>();
  /** The earliest of them; undefined while there are fewer. */
  first: string | undefined;

  constructor(count: number) {
    this.#count = count;
  }

  /** How many causes have a number. */
  get size(): number {
    return this.#known.size;
  }

  add(cause: string): void {
    const number = parseCauseNumber(cause);
    if (this.#count === 0 || number === undefined || this.#known.has(cause)) return;
    this.#known.add(cause);
    // Most come with falling numbers.
    if (this.first !== undefined && number < parseCauseNumber(this.first)!) return;
    this.#all.push({ cause, number });
    if (this.#all.length < this.#count) return;
    this.#all.sort((a, b) => b.number - a.number);
    this.#all.length = this.#count;
    this.first = this.#all.at(-1)!.cause;
  }
}
