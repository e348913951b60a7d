import type { Rows, Slice, View } from "../store/port.ts";

/** What a paged list is asked for, and how it is answered (DECISIONS.md, F18). */
export interface Paging {
  readonly page: number;
  readonly limit: number;
}

export interface Page<Row> extends Paging {
  readonly total_results: number;
  readonly results: Row[];
}

/** A page of rows that are at hand. */
export function pageOfList<Row>(rows: readonly Row[], { page, limit }: Paging): Page<Row> {
  const start = (page - 1) * limit;
  return { page, limit, total_results: rows.length, results: rows.slice(start, start + limit) };
}

/** A page of a slice of a collection, of which only that page is read. */
export async function pageOfSlice<Row extends object, Index extends string>(
  view: View,
  from: Rows<Row, Index>,
  slice: Omit<Slice<Index>, "offset" | "limit">,
  { page, limit }: Paging,
): Promise<Page<Row>> {
  return {
    page,
    limit,
    total_results: await view.count(from, slice),
    results: [...(await view.list(from, { ...slice, offset: (page - 1) * limit, limit }))],
  };
}
