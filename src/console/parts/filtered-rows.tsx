import type { ComponentChildren } from "preact";
import { grouped } from "../format.ts";
import { route, withPart } from "../state/route.ts";
import { Empty } from "./messages.tsx";
import { Windowed } from "./windowed.tsx";

export interface Filter<Row> {
  readonly name: string;
  readonly holds: (row: Row) => boolean;
  /** Said where it holds for none; and how that changes. */
  readonly none: string;
  readonly otherwise?: ComponentChildren;
}

/** What a filter is called in the address: `not-arrived`. */
const nameInAddress = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

/**
 * A long list, and chips that say how many rows each filter leaves of it. Which one is chosen stands in the address, by
 * its name; the first one needs none.
 */
export function FilteredRows<Row>(props: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly filters: readonly Filter<Row>[];
  /** False: there may be more. */
  readonly areRead: boolean;
  /** For how many the first filter holds, where those that are read may be the newest of them alone. */
  readonly total?: number | undefined;
  /** False: a filter may leave more than is read. */
  readonly isWhole: boolean;
  readonly keyOf: (row: Row) => string | number;
  readonly draw: (row: Row) => ComponentChildren;
}) {
  const { label, rows, filters, areRead, total, isWhole, keyOf, draw } = props;
  const wanted = route.value.query.get("show");
  const chosen = filters.find(({ name }) => nameInAddress(name) === wanted) ?? filters[0]!;
  const left = rows.filter(chosen.holds);
  const countOf = (filter: Filter<Row>, at: number) =>
    at === 0 && total !== undefined
      ? grouped(Math.max(total, rows.filter(filter.holds).length))
      : `${grouped(rows.filter(filter.holds).length)}${isWhole ? "" : "+"}`;
  return (
    <>
      <fieldset class="filters" aria-label={`Which of the ${label.toLowerCase()}`}>
        {filters.map((filter, at) => (
          <a
            key={filter.name}
            class="button chip"
            href={withPart({ show: at === 0 ? undefined : nameInAddress(filter.name) })}
            aria-current={filter === chosen ? "true" : undefined}
          >
            {filter.name} <span class="number">{countOf(filter, at)}</span>
          </a>
        ))}
      </fieldset>
      {areRead && left.length === 0 && <Empty title={chosen.none}>{chosen.otherwise}</Empty>}
      <Windowed rows={left} label={label} keyOf={keyOf} draw={draw} />
    </>
  );
}
