import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { grouped } from "../format.ts";
import { Empty } from "./messages.tsx";
import { Windowed } from "./windowed.tsx";

export interface Filter<Row> {
  readonly name: string;
  readonly holds: (row: Row) => boolean;
  /** Said where it holds for none. */
  readonly none: string;
}

/** A long list, and chips that say how many rows each filter leaves of it; the first filter is chosen at first. */
export function FilteredRows<Row>(props: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly filters: readonly Filter<Row>[];
  /** False: there may be more. */
  readonly areRead: boolean;
  readonly keyOf: (row: Row) => string | number;
  readonly draw: (row: Row) => ComponentChildren;
}) {
  const { label, rows, filters, areRead, keyOf, draw } = props;
  const chosen = useSignal(0);
  const { holds, none } = filters[chosen.value]!;
  const left = rows.filter(holds);
  return (
    <>
      <fieldset class="filters" aria-label={`Which of the ${label.toLowerCase()}`}>
        {filters.map((filter, at) => (
          <button
            key={filter.name}
            type="button"
            class="chip"
            aria-pressed={chosen.value === at}
            onClick={() => {
              chosen.value = at;
            }}
          >
            {filter.name} <span class="number">{grouped(rows.filter(filter.holds).length)}</span>
          </button>
        ))}
      </fieldset>
      {areRead && left.length === 0 && <Empty title={none} />}
      <Windowed rows={left} label={label} keyOf={keyOf} draw={draw} />
    </>
  );
}
