import { hash } from "../../../../../base/hmac.ts";
import { UsageError } from "../../../../process/failure.ts";
import type { IdentifierKind } from "../identifiers.ts";
import type { JobPlan } from "../plan.ts";
import type { InputRow } from "./rows.ts";

export interface InvalidRow extends InputRow {
  readonly problem: string;
}

/** Rows of one request: consecutive rows of the input, up to the size of a batch. */
export interface RowBatch {
  /** Index from 0. A batch index always refers to the same rows, regardless of how many are valid. */
  readonly index: number;
  /** Valid rows. */
  readonly rows: readonly InputRow[];
  readonly invalid: readonly InvalidRow[];
  readonly digest: string | undefined;
}

interface BatchOptions {
  readonly plan: Pick<JobPlan, "batch_size" | "shard">;
  readonly kind: IdentifierKind;
  readonly counter?: IdentifierCounter | undefined;
  /** Batches that are skipped. Each batch then has a rolling digest, which is compared with the stored one. */
  readonly finished?: FinishedBatches;
}

/** Groups rows into batches. Throws a UsageError if rows of finished batches changed, as later rows would be lost. */
export async function* groupIntoBatches(
  groups: AsyncIterable<readonly InputRow[]>,
  { plan, kind, counter, finished }: BatchOptions,
): AsyncGenerator<RowBatch> {
  let digest: string | undefined;
  let index = 0;
  for await (const rows of divideRows(groups, plan)) {
    if (finished) {
      digest = hash("sha256", digest ?? "", rows.map(({ text }) => text).join("\n")).toString("hex");
    }
    const knownDigest = finished?.getDigest(index);
    if (knownDigest !== undefined && knownDigest !== digest) throw createRowsChangedError("finished rows have changed");
    if (!finished?.has(index)) {
      const batch = validateRows(rows, kind);
      if (counter) for (const { text } of batch.rows) counter.add(text);
      yield { ...batch, index, digest };
    }
    index += 1;
  }
  if (finished && index < finished.end) throw createRowsChangedError("the input ends before those rows");
}

const createRowsChangedError = (difference: string): Error =>
  new UsageError(`The rows differ from those that this job started with: ${difference}.`, {
    hint: "Pass the same rows again from the beginning; finished rows are skipped. Or start a new job.",
  });

/**
 * A share has every `of`-th row from the `index`-th on. Rows are distributed instead of batches, so that runs with
 * different batch sizes still cover every row once.
 */
async function* divideRows(
  groups: AsyncIterable<readonly InputRow[]>,
  { batch_size: size, shard }: BatchOptions["plan"],
): AsyncGenerator<readonly InputRow[]> {
  let part: InputRow[] = [];
  let ordinal = 0;
  for await (const rows of groups) {
    for (const row of rows) {
      ordinal += 1;
      if (shard && (ordinal - shard.index) % shard.of !== 0) continue;
      part.push(row);
      if (part.length < size) continue;
      yield part;
      part = [];
    }
  }
  if (part.length > 0) yield part;
}

function validateRows(all: readonly InputRow[], { findProblem }: IdentifierKind) {
  const rows: InputRow[] = [];
  const invalid: InvalidRow[] = [];
  for (const row of all) {
    const problem = row.problem ?? findProblem(row.text);
    if (problem === undefined) rows.push(row);
    else invalid.push({ ...row, problem });
  }
  return { rows, invalid };
}

/**
 * Finished batches of a job. Batches run concurrently, so the finished ones are not a prefix of the input. All batches
 * below the low-water mark are finished, and some above it (DECISIONS.md, L16).
 */
export class FinishedBatches {
  #low = 0;
  readonly #finishedAbove = new Set<number>();
  /** Rolling digests of the batch just below the mark and of those above it: enough to recognize the input. */
  readonly #digests = new Map<number, string>();

  get count(): number {
    return this.#low + this.#finishedAbove.size;
  }

  get end(): number {
    return Math.max(this.#low, ...[...this.#finishedAbove].map((index) => index + 1));
  }

  has(index: number): boolean {
    return index < this.#low || this.#finishedAbove.has(index);
  }

  getDigest(index: number): string | undefined {
    return this.#digests.get(index);
  }

  add(index: number, digest?: string): void {
    this.#finishedAbove.add(index);
    if (digest !== undefined) this.#digests.set(index, digest);
    while (this.#finishedAbove.delete(this.#low)) {
      this.#digests.delete(this.#low - 1);
      this.#low += 1;
    }
  }
}

/** Maximum of distinct identifiers that are counted, because a set of millions would use most of the memory. */
const maxCounted = 100_000;

export class IdentifierCounter {
  readonly #toValue: IdentifierKind["toValue"];
  readonly #values = new Set<string>();

  constructor({ toValue }: IdentifierKind) {
    this.#toValue = toValue;
  }

  /** Null if there were too many identifiers. */
  get count(): number | null {
    return this.#values.size > maxCounted ? null : this.#values.size;
  }

  add(text: string): void {
    if (this.#values.size <= maxCounted) this.#values.add(this.#toValue(text));
  }
}
