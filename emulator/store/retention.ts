import type { Rows, Transaction } from "./port.ts";

/** The longest retention, in virtual time, of records that are dropped by age (DECISIONS.md, C21). */
export const maxRetentionMs = 90 * 24 * 60 * 60_000;

/** Limits for data that unauthenticated clients can create at any rate. */
export const maxUnauthenticatedRows = 10_000;

/**
 * Drops the oldest rows of a collection, except those for which `stays` returns true, until at most `most` are left.
 */
export async function evictOldest<Row extends object>(
  tx: Transaction,
  collection: Rows<Row>,
  { max = maxUnauthenticatedRows, stays = () => false }: { max?: number; stays?: (row: Row) => boolean } = {},
): Promise<void> {
  const excess = (await tx.count(collection)) - max;
  if (excess <= 0) return;
  for (const row of await tx.list(collection, { limit: excess })) {
    if (!stays(row)) tx.delete(collection, collection.key(row));
  }
}
