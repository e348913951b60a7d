import { createHash } from "node:crypto";
import { UsageError } from "../../../../process/failure.ts";
import type { FinishedBatches } from "../log/log-file.ts";
import type { IdentifierCounter, RowGroup } from "./distinct.ts";
import type { IdentifierKind } from "./identifiers.ts";

export interface InputRow {
  readonly number: number;
  readonly text: string;
}

export interface InvalidRow extends InputRow {
  readonly problem: string;
}

/** Rows of one request: consecutive rows of the input, up to the size of a batch. */
export interface RowBatch {
  /** Index from 0. A batch index always refers to the same rows, regardless of how many are valid. */
  readonly index: number;
  readonly count: number;
  readonly getRows: () => InputRow[];
  /** Returns the values of the request body. They are created on demand so that they are collected early. */
  readonly getValues: () => string[];
  readonly invalid: readonly InvalidRow[];
  readonly digest: string | undefined;
}

export interface BatchOptions {
  readonly size: number;
  readonly kind: IdentifierKind;
  readonly counter?: IdentifierCounter | undefined;
  readonly finished: FinishedBatches;
  /** Whether each batch has a rolling digest, which is compared with a stored one. A pipe has no other identity. */
  readonly hasRollingDigest: boolean;
}

/**
 * Groups rows into batches. Throws a UsageError if the rows of finished batches are changed or incomplete, because
 * later rows would be lost.
 */
export async function* groupIntoBatches(
  groups: AsyncIterable<RowGroup>,
  batching: BatchOptions,
): AsyncGenerator<RowBatch> {
  const { size } = batching;
  let digest = "";
  let index = 0;
  let pending = new RawBatch();
  const finish = (): RowBatch | undefined => {
    if (batching.hasRollingDigest)
      digest = createHash("sha256").update(digest).update(pending.texts.join("\n")).digest("hex");
    const batch = batching.finished.has(index)
      ? undefined
      : pending.validateBatch(index, digest || undefined, batching);
    const knownDigest = batching.finished.getDigest(index);
    if (batch === undefined && knownDigest !== undefined && knownDigest !== digest)
      throw createRowsChangedError("finished rows have changed");
    index += 1;
    pending = new RawBatch();
    return batch;
  };
  for await (const { first, texts, problems } of groups) {
    for (let i = 0; i < texts.length; i += 1) {
      if (texts[i] === "") continue;
      pending.add(first + i, texts[i]!, problems?.get(i));
      if (pending.texts.length < size) continue;
      const batch = finish();
      if (batch) yield batch;
    }
  }
  const last = pending.texts.length > 0 ? finish() : undefined;
  if (last) yield last;
  if (index < batching.finished.end) throw createRowsChangedError("the input ends before those rows");
}

const createRowsChangedError = (difference: string): Error =>
  new UsageError(`The rows differ from those that this job started with: ${difference}.`, {
    hint: "Pipe the same rows again from the beginning. Finished rows are skipped.",
  });

class RawBatch {
  readonly texts: string[] = [];
  readonly #numbers: number[] = [];
  readonly #problems = new Map<number, string>();

  add(number: number, text: string, problem: string | undefined): void {
    if (problem !== undefined) this.#problems.set(this.texts.length, problem);
    this.#numbers.push(number);
    this.texts.push(text);
  }

  validateBatch(index: number, digest: string | undefined, { kind, counter }: BatchOptions): RowBatch {
    const { findProblem, toValue } = kind;
    const { texts } = this;
    const invalid: InvalidRow[] = [];
    for (let i = 0; i < texts.length; i += 1) {
      const text = texts[i]!;
      const problem = (this.#problems.size > 0 ? this.#problems.get(i) : undefined) ?? findProblem(text);
      if (problem !== undefined) invalid.push({ number: this.#numbers[i]!, text, problem });
      else counter?.add(text);
    }
    return {
      index,
      count: texts.length - invalid.length,
      getRows: () => this.#excludeRows(invalid),
      getValues: () => (invalid.length === 0 ? texts : this.#excludeRows(invalid).map(({ text }) => text)).map(toValue),
      invalid,
      digest,
    };
  }

  #excludeRows(invalid: readonly InvalidRow[]): InputRow[] {
    const invalidNumbers = new Set(invalid.map(({ number }) => number));
    return this.texts
      .map((text, i) => ({ number: this.#numbers[i]!, text }))
      .filter(({ number }) => !invalidNumbers.has(number));
  }
}
