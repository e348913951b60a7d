import type { Rows, Transaction } from "./port.ts";

/** The longest retention, in virtual time, of records that are deleted by age (DECISIONS.md, C21). */
export const maxRetentionMs = 90 * 24 * 60 * 60_000;

/** Limits for data that unauthenticated clients can create at any rate. */
export const maxUnauthenticatedRows = 10_000;

/**
 * Deletes the oldest rows of a collection, except rows for which `isRetained` returns true, until at most `max` rows
 * are left.
 */
export async function evictOldest<Row extends object>(
  tx: Transaction,
  collection: Rows<Row>,
  {
    max = maxUnauthenticatedRows,
    stays: isRetained = () => false,
  }: { max?: number; stays?: (row: Row) => boolean } = {},
): Promise<void> {
  const excess = (await tx.count(collection)) - max;
  if (excess <= 0) return;
  for (const row of await tx.list(collection, { limit: excess })) {
    if (!isRetained(row)) tx.delete(collection, collection.key(row));
  }
}
