import { createHash } from "node:crypto";
import { UsageError } from "../../../../process/failure.ts";
import type { FinishedBatches } from "../log/log-file.ts";
import type { IdentifierCounter } from "./distinct.ts";
import type { IdentifierKind } from "./identifiers.ts";
import type { InputRow } from "./records.ts";

export type InvalidRow = Required<InputRow>;

/** Rows of one request: consecutive rows of the input, up to the size of a batch. */
export interface RowBatch {
  /** Index from 0. A batch index always refers to the same rows, regardless of how many are valid. */
  readonly index: number;
  /** Valid rows. */
  readonly rows: readonly InputRow[];
  readonly invalid: readonly InvalidRow[];
  /** Returns the values of the request body. They are created on demand so that they are collected early. */
  readonly getValues: () => string[];
  readonly digest: string | undefined;
}

interface BatchOptions {
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
  groups: AsyncIterable<readonly InputRow[]>,
  { size, kind, counter, finished, hasRollingDigest }: BatchOptions,
): AsyncGenerator<RowBatch> {
  let digest: string | undefined;
  let index = 0;
  for await (const rows of divideRows(groups, size)) {
    if (hasRollingDigest) {
      const texts = rows.map(({ text }) => text).join("\n");
      digest = createHash("sha256")
        .update(digest ?? "")
        .update(texts)
        .digest("hex");
    }
    const knownDigest = finished.getDigest(index);
    if (knownDigest !== undefined && knownDigest !== digest) throw createRowsChangedError("finished rows have changed");
    if (!finished.has(index)) {
      const batch = validateRows(rows, kind);
      if (counter) for (const { text } of batch.rows) counter.add(text);
      yield { ...batch, index, digest };
    }
    index += 1;
  }
  if (index < finished.end) throw createRowsChangedError("the input ends before those rows");
}

const createRowsChangedError = (difference: string): Error =>
  new UsageError(`The rows differ from those that this job started with: ${difference}.`, {
    hint: "Pipe the same rows again from the beginning. Finished rows are skipped.",
  });

async function* divideRows(
  groups: AsyncIterable<readonly InputRow[]>,
  size: number,
): AsyncGenerator<readonly InputRow[]> {
  let part: InputRow[] = [];
  for await (const rows of groups) {
    for (const row of rows) {
      part.push(row);
      if (part.length < size) continue;
      yield part;
      part = [];
    }
  }
  if (part.length > 0) yield part;
}

function validateRows(all: readonly InputRow[], { findProblem, toValue }: IdentifierKind) {
  const rows: InputRow[] = [];
  const invalid: InvalidRow[] = [];
  for (const row of all) {
    const problem = row.problem ?? findProblem(row.text);
    if (problem === undefined) rows.push(row);
    else invalid.push({ ...row, problem });
  }
  return { rows, invalid, getValues: () => rows.map(({ text }) => toValue(text)) };
}
