import type { rewind } from "../../src/api/emulator/snapshots.ts";
import type { InputOf, ResultOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { causes, parseCauseNumber } from "../store/causes.ts";
import type { CauseRow, Commit, History, HistoryStart, Store, View } from "../store/port.ts";
import { findContractOfCauses } from "../trace/gather.ts";

export type RewindRequest = InputOf<typeof rewind>["body"];

export type RewindTarget =
  /** Rewinds to this virtual time, in milliseconds. */
  | { readonly to: number }
  /** Rewinds to the state before this cause, such as `request:12`. */
  | { readonly before: string }
  /** Rewinds this many of the last external requests and clock advances that changed the state. */
  | { readonly steps: number };

/** The schema ensures that exactly one of the fields is set. */
export function toRewindTarget({ to, before, steps = 0 }: RewindRequest): RewindTarget {
  if (to !== undefined) return { to: Date.parse(to) };
  return before === undefined ? { steps } : { before };
}

export type CauseMap = ReadonlyMap<string, CauseRow>;

interface RewindPoint {
  /** The first commit to undo. Undefined if there is none. */
  readonly first: Commit | undefined;
  /** The causes to undo, each with its own causes, innermost first. */
  readonly chains: readonly CauseChain[];
  /** The cause before which the point lies. Undefined if the target is a time. */
  readonly before: string | undefined;
  readonly ids: unknown;
  /** Start of the history. Undefined if the history was not read completely. */
  readonly reach: HistoryStart | undefined;
}

type CauseChain = readonly [cause: string, ...string[]];

/** Thrown if the stored history does not go back far enough. */
export class RewindOutOfRangeError extends Error {
  override readonly name = "RewindOutOfRangeError";
  readonly reach: HistoryStart;
  /** Number of requests and clock advances in the history, if the target is a number of steps. */
  readonly steps: number | undefined;

  constructor(reach: HistoryStart, steps: number | undefined) {
    const begins = reach.at === undefined ? "" : `. It begins at ${toIsoMillis(reach.at)}`;
    const countNote = steps === undefined ? "" : `. It has ${steps} requests and clock advances`;
    super(`The history does not reach back that far${begins}${countNote}`);
    this.reach = reach;
    this.steps = steps;
  }
}

/** Thrown if the history of the current state is not stored. */
export class HistoryUnavailableError extends Error {
  override readonly name = "HistoryUnavailableError";

  constructor() {
    super("The emulator has no history. Start it with a file or a store, and with historyBytes above 0");
  }
}

/** Thrown if the target is not in the past. */
export class RewindTargetInFutureError extends Error {
  override readonly name = "RewindTargetInFutureError";
  readonly now: number;

  constructor(now: number) {
    super(`Cannot rewind to the future: virtual time is ${toIsoMillis(now)}`);
    this.now = now;
  }
}

/** Returns the first stored cause, which is a request or a clock advance. */
export const findOrigin = (chain: CauseChain): string => chain.at(-1)!;

/** Finds the point of a target. Fails with RewindOutOfRangeError. */
export async function findRewindPoint(
  history: History,
  target: RewindTarget,
  present: { readonly causes: CauseMap; readonly line: number },
): Promise<RewindPoint> {
  const search = new RewindSearch(target, present.causes);
  // Concurrent commits are undone too. Their causes are unknown.
  const reach = await history.visit((commit) => commit.number > present.line || search.visit(commit));
  const found = search.findPoint(reach);
  if (!found) throw new RewindOutOfRangeError(reach ?? { number: 0 }, search.stepsHint);
  return found;
}

/** A request or a clock advance that a rewind undid, in the form of the control plane. */
export type UndoneStep = ResultOf<typeof rewind>["steps"][number];

export const maxDescribedSteps = 100;

/** Describes the newest of these steps, newest first. `view` and `rows` are of the state that a rewind is to undo. */
export function describeSteps(
  view: View,
  ids: readonly string[],
  chains: readonly CauseChain[],
  rows: CauseMap,
): UndoneStep[] {
  const newest = ids.toSorted((a, b) => parseCauseNumber(b)! - parseCauseNumber(a)!).slice(0, maxDescribedSteps);
  const causesByStep = new Map(newest.map((id) => [id, new Set([id])]));
  for (const chain of chains) for (const cause of chain) causesByStep.get(findOrigin(chain))?.add(cause);
  return [...causesByStep].map(([id, causeIds]) => {
    const causeRows = [...causeIds].flatMap((causeId) => rows.get(causeId) ?? []);
    const { at = 0, what = "" } = rows.get(id) ?? {};
    return { id, at: toIsoMillis(at), what, contract: findContractOfCauses(view, causeRows) };
  });
}

/** Collects the requests and clock advances that change the state until it is replaced. */
export function watchSteps(store: Store): { readonly steps: CauseMap; end(): void } {
  const steps = new Map<string, CauseRow>();
  const end = store.watch([causes], (changes) => {
    if (changes === "replaced") end();
    if (typeof changes === "string") return;
    const rows = changes.flatMap(({ after }) => (after === undefined ? [] : [after as CauseRow]));
    for (const row of rows) if (row.before === null && parseCauseNumber(row.id) !== undefined) steps.set(row.id, row);
  });
  return { steps, end };
}

class RewindSearch {
  readonly #target: RewindTarget;
  readonly #causes: CauseMap;
  /** Newest first. */
  readonly #commits: Commit[] = [];
  /** The newest commit before the target. */
  #older: Commit | undefined;
  readonly #chainsByCause = new Map<string, CauseChain>();
  /** Requests and clock advances, which users count as steps, with the highest number first. */
  readonly #steps: { readonly cause: string; readonly number: number }[] = [];

  constructor(target: RewindTarget, causes: CauseMap) {
    this.#target = target;
    this.#causes = causes;
  }

  get stepsHint(): number | undefined {
    return "steps" in this.#target ? this.#steps.length : undefined;
  }

  /** The cause before which the point lies. Undefined until enough steps are found. */
  get #before(): string | undefined {
    if ("steps" in this.#target) return this.#steps[this.#target.steps - 1]?.cause;
    return "before" in this.#target ? this.#target.before : undefined;
  }

  /** Returns false if older commits are not needed. */
  visit(commit: Commit): boolean {
    if (this.#isTooOld(commit)) {
      this.#older = commit;
      return false;
    }
    this.#commits.push(commit);
    const { cause } = commit;
    if (cause === undefined || this.#chainsByCause.has(cause)) return true;
    const chain = this.#findChain(cause);
    this.#chainsByCause.set(cause, chain);
    this.#addStep(findOrigin(chain));
    return true;
  }

  /** Undefined if it is beyond the history. `reach` is the start of the history, if all of it was read. */
  findPoint(reach: HistoryStart | undefined): RewindPoint | undefined {
    const target = this.#target;
    if ("to" in target) {
      const startsAt = (this.#older ?? reach)?.at;
      if (startsAt === undefined || startsAt > target.to) return undefined;
      return this.#buildPoint(
        this.#commits.findLastIndex(({ at }) => at !== undefined),
        undefined,
        reach,
      );
    }
    const before = this.#before;
    if (before === undefined) return undefined;
    const index = this.#commits.findLastIndex(({ cause }) => cause !== undefined && this.#isOf(cause, before));
    return index === -1 ? undefined : this.#buildPoint(index, before, reach);
  }

  /** Virtual time never decreases along the history, because a cause changes nothing before it occurs. */
  #isTooOld({ at }: Commit): boolean {
    if (at === undefined) return false;
    if ("to" in this.#target) return at <= this.#target.to;
    const row = this.#causes.get(this.#before ?? "");
    return row !== undefined && at < row.at;
  }

  #addStep(cause: string): void {
    const number = parseCauseNumber(cause);
    if (number === undefined) return;
    const place = 1 + this.#steps.findLastIndex((step) => step.number >= number);
    if (this.#steps[place - 1]?.number !== number) this.#steps.splice(place, 0, { cause, number });
  }

  #findChain(cause: string): CauseChain {
    const chain: [string, ...string[]] = [cause];
    for (let row = this.#causes.get(cause); row?.before; row = this.#causes.get(row.before)) chain.push(row.before);
    return chain;
  }

  #isOf(cause: string, before: string): boolean {
    const chain = this.#chainsByCause.get(cause)!;
    if (!("steps" in this.#target)) return chain.includes(before);
    const number = parseCauseNumber(findOrigin(chain));
    return number !== undefined && number >= parseCauseNumber(before)!;
  }

  /** Builds the point before the commit at that index. There is nothing to undo if the index is -1. */
  #buildPoint(index: number, before: string | undefined, reach: HistoryStart | undefined): RewindPoint {
    const undone = this.#commits.slice(0, index + 1);
    const undoneCauses = new Set(undone.flatMap(({ cause }) => cause ?? []));
    const chains = [...undoneCauses].map((cause) => this.#chainsByCause.get(cause)!);
    const first = undone.at(-1);
    const previous = this.#commits[index + 1] ?? this.#older ?? reach;
    return { first, chains, before, ids: first && previous?.ids, reach };
  }
}
