import type { Row } from "./rows.ts";
import type { BulkTable } from "./tables.ts";

/** One call: identifiers of rows that follow each other. */
export interface Batch {
  /** From 0. */
  readonly index: number;
  readonly identifiers: readonly string[];
  /** Numbers of its first and last row. */
  readonly first: number;
  readonly last: number;
}

/** A row that is no identifier. */
export interface InvalidRow {
  readonly row: number;
  readonly input: string;
  readonly message: string;
}

/** Groups rows to batches of `size`; rows that are no identifiers go to `onInvalid`, which may throw to stop. */
export async function* batchesOf(
  rows: AsyncIterable<readonly Row[]>,
  size: number,
  identifier: BulkTable["identifier"],
  onInvalid: (row: InvalidRow) => Promise<void> | void,
): AsyncGenerator<Batch> {
  let identifiers: string[] = [];
  let first = 0;
  let last = 0;
  let index = 0;
  for await (const group of rows) {
    for (const { number, text } of group) {
      const judged = identifier(text);
      if ("problem" in judged) {
        await onInvalid({ row: number, input: text, message: judged.problem });
        continue;
      }
      if (identifiers.length === 0) first = number;
      last = number;
      identifiers.push(judged.value);
      if (identifiers.length === size) {
        yield { index, identifiers, first, last };
        index += 1;
        identifiers = [];
      }
    }
  }
  if (identifiers.length > 0) yield { index, identifiers, first, last };
}
