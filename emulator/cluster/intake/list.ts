import type { listIntakes } from "../../../src/api/contracts/intake.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { InputOf, ResultOf } from "../../../src/api/operation.ts";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { View } from "../../store/port.ts";
import type { Workspace } from "../../world/workspaces.ts";
import { pageOfList, pageOfSlice } from "../paging.ts";
import { type Intake, intakeRecord, intakeReference, intakes } from "./rows.ts";

type Query = InputOf<typeof listIntakes>["query"];
type Order = (a: Intake, b: Intake) => number;

const urgency = { LOW: 0, MEDIUM: 1, HIGH: 2 } as const;
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const orders = lookupTable<Order>({
  created_at: (a, b) => a.created_at - b.created_at || a.id - b.id,
  priority: (a, b) => urgency[a.priority] - urgency[b.priority],
  status: (a, b) => byText(a.status, b.status),
  title: (a, b) => byText(a.title.toLowerCase(), b.title.toLowerCase()),
});

/** A page of the workspace's intakes, newest first unless sorted (DECISIONS.md, F8). */
export async function intakeList(
  view: View,
  workspace: Workspace,
  query: Query,
  fail: Fail<"invalid-sort">,
): Promise<ResultOf<typeof listIntakes>> {
  const order = orderOf(query.sort, fail);
  const newestFirst = { by: "workspace", equals: workspace.id, reverse: true } as const;
  const isFiltered = Object.keys(query).some((name) => name.startsWith("filter__") || name === "query");
  const page =
    order || isFiltered
      ? pageOfList(
          sorted(
            (await view.list(intakes, newestFirst)).filter((row) => matches(row, query)),
            order,
          ),
          query,
        )
      : await pageOfSlice(view, intakes, newestFirst, query);
  const pages = Math.max(1, Math.ceil(page.total_results / page.limit));
  return {
    intakes: await Promise.all(page.results.map((row) => intakeRecord(view, row))),
    total_count: page.total_results,
    page: page.page,
    limit: page.limit,
    total_pages: pages,
    has_next: page.page < pages,
    has_previous: page.page > 1,
  };
}

const sorted = (rows: Intake[], order: Order | undefined): Intake[] => (order ? rows.sort(order) : rows);

function orderOf(sort: string | undefined, fail: Fail<"invalid-sort">): Order | undefined {
  if (sort === undefined) return undefined;
  // A plus in a query string is a blank, so an unescaped leading + arrives as one.
  const [, sign, name] = /^([-+ ]?)(.*)$/.exec(sort)!;
  const order = (Object.hasOwn(orders, name!) ? orders[name!] : undefined) ?? fail("invalid-sort");
  return sign === "-" ? (a, b) => order(b, a) : order;
}

function matches(row: Intake, query: Query): boolean {
  const text = query.query?.toLowerCase();
  const inText = [row.title, row.description ?? "", intakeReference(row)].some(
    (value) => text === undefined || value.toLowerCase().includes(text),
  );
  return inText && passes(row.priority, query, "filter__priority") && passes(row.status, query, "filter__status");
}

/** The four spellings of a filter; all that are given must hold. */
function passes(value: string, query: Query, field: "filter__priority" | "filter__status"): boolean {
  const wanted = query[field] ?? value;
  const equals = query[`${field}[$eq]`] ?? value;
  const among = query[`${field}[$in]`];
  return (
    value === wanted &&
    value === equals &&
    value !== query[`${field}[$ne]`] &&
    (among === undefined || splitList(among).includes(value))
  );
}

/** `a,b\,c` → `a`, `b,c` */
const splitList = (text: string): string[] =>
  [...text.matchAll(/(?:^|,)((?:\\.|[^,\\])*)/g)].map(([, item]) => item!.replace(/\\(.)/g, "$1"));
