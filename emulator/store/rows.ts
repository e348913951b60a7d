import type { IndexQuery, Rows, Transaction, View } from "./port.ts";

/** Values that a row must have, by field. A field that is undefined matches every row. */
export type RowFilter<Row> = { readonly [Field in keyof Row]?: Row[Field] | undefined };

export const matchesFilter = <Row extends object>(row: Row, filter: RowFilter<NoInfer<Row>>): boolean =>
  Object.entries(filter).every(([field, value]) => value === undefined || row[field as keyof Row] === value);

/**
 * Returns one page of the rows that match a filter, newest first. Reads the index of the first of `indexedFields` in
 * the filter. The order of these fields is from the fewest to the most matching rows, as usually observed.
 */
export function listPage<Row extends object, Index extends string>(
  view: View,
  collection: Rows<Row, Index>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  filter: RowFilter<NoInfer<Row>> = {},
  indexedFields?: Readonly<Partial<Record<keyof NoInfer<Row>, NoInfer<Index>>>>,
): { readonly rows: readonly Row[]; readonly total: number } {
  const [field, by] =
    (Object.entries(indexedFields ?? {}) as [keyof Row, Index][]).find(([name]) => filter[name] !== undefined) ?? [];
  const slice = by === undefined ? {} : { by, equals: filter[field!] as string | number };
  const others = Object.entries(filter).filter(([name, value]) => name !== field && value !== undefined);
  if (others.length === 0) {
    const rows = view.list(collection, { ...slice, reverse: true, offset, limit });
    return { rows, total: view.count(collection, slice) };
  }
  const otherFilter = Object.fromEntries(others) as RowFilter<Row>;
  const matches = view.list(collection, { ...slice, reverse: true }).filter((row) => matchesFilter(row, otherFilter));
  return { rows: matches.slice(offset, offset + limit), total: matches.length };
}

/** The longest retention, in virtual time, of records that are deleted by age (DECISIONS.md, C21). */
export const maxRetentionMs = 90 * 24 * 60 * 60_000;

/** Limit for data that unauthenticated clients can create at any rate. It may never expire: virtual time can stop. */
export const maxUnauthenticatedRows = 10_000;

/** Deletes the oldest rows of a slice beyond the limit, except rows for which `stays` returns true. */
export function evictOldest<Row extends object, Index extends string>(
  tx: Transaction,
  collection: Rows<Row, Index>,
  {
    slice,
    stays,
  }: { readonly slice?: IndexQuery<NoInfer<Index>>; readonly stays?: (row: NoInfer<Row>) => boolean } = {},
): void {
  const excess = tx.count(collection, slice) - maxUnauthenticatedRows;
  if (excess <= 0) return;
  for (const row of tx.list(collection, { ...slice, limit: excess } as IndexQuery<Index>)) {
    if (!stays?.(row)) tx.delete(collection, collection.key(row));
  }
}
