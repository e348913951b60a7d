import type { Rows, Transaction } from "./port.ts";

/** Longest retention in virtual time of records that are dropped by their age (DECISIONS.md, C21). */
export const maxRetentionMs = 90 * 24 * 60 * 60_000;

/** Limits for data that any unauthenticated caller can create, as often as they like. */
export const maxUnauthenticatedRows = 10_000;

/** Drops the oldest rows of a collection, those aside that `stays` names, until at most `most` are left. */
export async function evictOldest<Row extends object>(
  tx: Transaction,
  collection: Rows<Row>,
  { most = maxUnauthenticatedRows, stays = () => false }: { most?: number; stays?: (row: Row) => boolean } = {},
): Promise<void> {
  const excess = (await tx.count(collection)) - most;
  if (excess <= 0) return;
  for (const row of await tx.list(collection, { limit: excess })) {
    if (!stays(row)) tx.delete(collection, collection.key(row));
  }
}
