import type { IndexQuery, Rows, Transaction } from "./port.ts";

/** The longest retention, in virtual time, of records that are deleted by age (DECISIONS.md, C21). */
export const maxRetentionMs = 90 * 24 * 60 * 60_000;

/** Limits for data that unauthenticated clients can create at any rate. */
export const maxUnauthenticatedRows = 10_000;

interface EvictionOptions<Row, Index extends string> {
  readonly max?: number;
  readonly slice?: IndexQuery<Index>;
  readonly stays?: (row: Row) => boolean;
}

/** Deletes the oldest rows of a slice until at most `max` are left, except rows for which `stays` returns true. */
export async function evictOldest<Row extends object, Index extends string>(
  tx: Transaction,
  collection: Rows<Row, Index>,
  { max = maxUnauthenticatedRows, slice, stays }: EvictionOptions<NoInfer<Row>, NoInfer<Index>> = {},
): Promise<void> {
  const excess = (await tx.count(collection, slice)) - max;
  if (excess <= 0) return;
  for (const row of await tx.list(collection, { ...slice, limit: excess } as IndexQuery<Index>)) {
    if (!stays?.(row)) tx.delete(collection, collection.key(row));
  }
}
