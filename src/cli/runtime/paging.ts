import type { Paging } from "../../derive/command-spec.ts";
import type { Context } from "../command.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";

type Query = Readonly<Record<string, unknown>>;
type Part = Readonly<Record<string, unknown>>;

/** With `--all`, the first page is of maximum size, unless `limit` is set. Throws UsageError if a page is selected. */
export function buildFirstPageQuery<Q extends Query>(
  { by, maxPerPage }: Paging,
  query: Q,
  isAll: boolean,
): Q & { limit?: number } {
  if (!isAll) return query;
  if (by !== undefined && query[by] !== undefined) throw new UsageError(`--all cannot be used with --${by}`);
  return { limit: maxPerPage, ...query };
}

/** Fetches the remaining parts and combines all parts into one response. `fetch` receives the query of each part. */
export async function fetchAllPages<P extends Part, Q extends Query>(
  { by, rows, total }: Paging,
  first: P,
  query: Q,
  fetch: (query: Q & { page?: number; offset?: number }) => Promise<P>,
): Promise<P> {
  // Rows of one list can have the same ID: the numbers of requests are reused after a rewind.
  if (by === undefined) return first;
  const all = [...getRows(first, rows)];
  let last = first;
  let isChanged = false;
  for (let page = 2; all.length < Number(last[total]); page += 1) {
    const previous = getRows(last, rows);
    last = await fetch({ ...query, [by]: by === "page" ? page : all.length });
    const rowsOfPage = getRows(last, rows);
    if (rowsOfPage.length === 0) break;
    isChanged ||= last[total] !== first[total];
    if (!isChanged && haveSameIds(rowsOfPage, previous)) {
      const message = `The service responded to another ${by} with the same rows. The rest of the list is unknown.`;
      throw new CommandFailedError("failed", "repeated_rows", message, { hint: `It seems to ignore ${by}.` });
    }
    all.push(...rowsOfPage);
  }
  // A row that was created in the meantime moves others to the next page. Rows without an ID can also be equal in an
  // unchanged list, such as invitations whose tokens are hidden.
  const getKey = (row: unknown) => (row as Part | null)?.id ?? (isChanged ? JSON.stringify(row) : row);
  return { ...first, [rows]: [...new Map(all.map((row) => [getKey(row), row])).values()] };
}

/** The last page can be shorter, and its rows can be those before it if a row was created and another one deleted. */
function haveSameIds(page: readonly unknown[], previous: readonly unknown[]): boolean {
  const getId = (row: unknown) => (row as Part | null)?.id;
  const isSame = (row: unknown, at: number) => getId(row) !== undefined && getId(row) === getId(previous[at]);
  return page.length === previous.length && page.every(isSame);
}

export async function reportMoreRows(
  paging: Paging,
  part: Part,
  query: Query,
  { output, globals }: Context,
  isAll = false,
) {
  const shownCount = getRows(part, paging.rows).length;
  const count = Number(part[paging.total]);
  if (globals.quiet || !(shownCount < count) || describePastEnd(paging, part, query) !== undefined) return;
  const { by, maxPerPage } = paging;
  const isTooLong = by === undefined && count > maxPerPage;
  const rest = isTooLong ? "A response cannot contain more" : "The list has changed. For all, repeat the command";
  const wholeList = isTooLong ? `the first ${maxPerPage}` : "all";
  await output.warn(`${shownCount} of ${count} shown. ${isAll ? rest : `For ${wholeList}: --all`}`);
}

export function describePastEnd({ by, rows, total }: Paging, part: Part, query: Query): string | undefined {
  const count = Number(part[total]);
  const isLater = by !== undefined && Number(query[by] ?? 0) > (by === "page" ? 1 : 0);
  if (getRows(part, rows).length > 0 || !(count > 0) || !isLater) return undefined;
  return `Nothing from --${by} ${query[by]}; the total is ${count}. For all: --all`;
}

const getRows = (part: Part, name: string): readonly unknown[] => (Array.isArray(part[name]) ? part[name] : []);
