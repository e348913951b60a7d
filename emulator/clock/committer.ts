import { onNextTurn } from "../../src/base/next-turn.ts";
import type { Cause } from "../store/cause.ts";
import type { Store, Transaction } from "../store/port.ts";
import type { Commit } from "./job-handler.ts";

/** A run that has ended and is to be committed. */
export interface Uncommitted {
  readonly commit: Commit;
  readonly cause: Cause | undefined;
}

/** What becomes of those that are committed together. */
export interface CommitObserver<One extends Uncommitted> {
  /** Their outcomes are in the state. */
  inState(batch: readonly One[]): void;
  /** Their outcomes, in a word each, are durable. */
  durable(batch: readonly One[], outcomes: readonly string[]): void;
  /** Nothing of its outcome stays. */
  failed(one: One, cause: unknown): void;
}

/**
 * Commits outcomes, those of one turn of the event loop in one transaction. The next transaction begins while the
 * last one is on its way to the disk.
 */
export class Committer<One extends Uncommitted> {
  readonly #store: Store;
  readonly #closing: AbortSignal;
  readonly #observer: CommitObserver<One>;
  /** What moves time just now. */
  readonly #movedBy: () => Cause | undefined;
  readonly #waiting: One[] = [];

  /** Nothing is committed any more once `closing` is aborted. */
  constructor(store: Store, movedBy: () => Cause | undefined, closing: AbortSignal, observer: CommitObserver<One>) {
    this.#store = store;
    this.#movedBy = movedBy;
    this.#closing = closing;
    this.#observer = observer;
  }

  add(one: One): void {
    this.#waiting.push(one);
    if (this.#waiting.length === 1) onNextTurn(() => void this.#write(this.#waiting.splice(0)));
  }

  async #write(batch: readonly One[]): Promise<void> {
    let outcomes: readonly string[];
    try {
      const commitAll = async (tx: Transaction) => {
        this.#closing.throwIfAborted();
        const outcomes: string[] = [];
        for (const { cause, commits } of byCause(batch)) {
          await tx.because(cause, async () => {
            for (const commit of commits) {
              const outcome = commit(tx);
              outcomes.push(typeof outcome === "string" ? outcome : await outcome);
            }
          });
        }
        this.#observer.inState(batch);
        return outcomes;
      };
      outcomes = await this.#store.transaction("schedule.record", commitAll, this.#movedBy());
    } catch (cause) {
      const [first, ...others] = batch;
      if (first && others.length === 0) return this.#observer.failed(first, cause);
      // One of them spoils it for the others, which must not be lost.
      for (const one of batch) await this.#write([one]);
      return;
    }
    this.#observer.durable(batch, outcomes);
  }
}

/**
 * In order, those together that follow each other and have the same cause, whose row is there: the deliveries of one event
 * go on with what it happened by.
 */
function byCause(batch: readonly Uncommitted[]): readonly { readonly cause: Cause | undefined; commits: Commit[] }[] {
  const parts: { readonly cause: Cause | undefined; readonly commits: Commit[] }[] = [];
  let last: (typeof parts)[number] | undefined;
  for (const { commit, cause } of batch) {
    if (last === undefined || cause?.row || last.cause?.row || cause?.id !== last.cause?.id) {
      last = { cause, commits: [] };
      parts.push(last);
    }
    last.commits.push(commit);
  }
  return parts;
}
