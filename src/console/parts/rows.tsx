import { computed, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { RemedyStep } from "../../api/webhook-health/causes.ts";
import { formatCount, pluralize } from "../format.ts";
import { replacePart, route } from "../state/route.ts";
import { Command } from "./action.tsx";
import { Empty } from "./messages.tsx";

export interface Filter<Row> {
  readonly name: string;
  readonly includes: (row: Row) => boolean;
  /** Shown if no row matches, with the way to change that. */
  readonly emptyText: string;
  readonly otherwise?: ComponentChildren;
}

/** Formats the name of a filter for the address: `not-arrived`. */
const toAddressName = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

/**
 * Renders a long list, with chips that show how many rows match each filter. The name of the chosen filter is in the
 * address; the first filter has none.
 */
export function FilteredRows<Row>({
  filters,
  areRead,
  total,
  isWhole,
  ...list
}: RowsProps<Row> & {
  readonly filters: readonly Filter<Row>[];
  /** False if there may be more rows. */
  readonly areRead: boolean;
  /** The number of rows that match the first filter, if only the newest rows were read. */
  readonly total?: number | undefined;
  /** False if a filter may match more rows than were read. */
  readonly isWhole: boolean;
}) {
  const { label, rows } = list;
  const filterName = route.value.query.get("show");
  const chosen = filters.find(({ name }) => toAddressName(name) === filterName) ?? filters[0]!;
  const filteredRows = rows.filter(chosen.includes);
  const countOf = (filter: Filter<Row>, at: number) =>
    at === 0 && total !== undefined
      ? formatCount(Math.max(total, rows.filter(filter.includes).length))
      : `${formatCount(rows.filter(filter.includes).length)}${isWhole ? "" : "+"}`;
  return (
    <>
      <fieldset class="filters" aria-label={`Filter ${label.toLowerCase()}`}>
        {filters.map((filter, at) => (
          <a
            key={filter.name}
            class="button chip"
            href={replacePart({ show: at === 0 ? undefined : toAddressName(filter.name) })}
            aria-current={filter === chosen ? "true" : undefined}
          >
            {filter.name} {areRead && <span class="number">{countOf(filter, at)}</span>}
          </a>
        ))}
      </fieldset>
      {areRead && filteredRows.length === 0 && (
        <Empty title={isWhole ? chosen.emptyText : "None of the newest rows"}>{isWhole && chosen.otherwise}</Empty>
      )}
      <WindowedRows {...list} rows={filteredRows} />
    </>
  );
}

interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly label: string;
  readonly draw: (row: Row) => ComponentChildren;
  readonly getKey: (row: Row) => string | number;
  /** Headings of the columns, shown if there is room for columns. */
  readonly headings: readonly [id: string, title: string, sub: string, state: string, last: string];
}

const overscanRows = 8;

/**
 * Row heights in pixels: in a table, with two lines, and on a narrow page, where the end of a row is below the rest.
 */
const heights = { table: 45, wide: 57, narrow: 96 };

const windowWidth = signal(globalThis.innerWidth);
globalThis.addEventListener?.("resize", () => {
  windowWidth.value = innerWidth;
});
const rowHeight = computed(() =>
  windowWidth.value > 1_000 ? heights.table : windowWidth.value > 760 ? heights.wide : heights.narrow,
);

/**
 * Renders rows of equal height, of which only the visible ones are in the document. The page itself scrolls. Each row
 * states its position for screen readers.
 */
export function WindowedRows<Row>({ rows, label, draw, getKey, headings }: RowsProps<Row>) {
  const height = rowHeight.value;
  const list = useRef<HTMLUListElement>(null);
  const visibleRange = useSignal({ first: 0, count: 60 });
  useEffect(() => {
    const look = () => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - overscanRows);
      const count = Math.ceil(innerHeight / height) + 2 * overscanRows;
      if (first !== visibleRange.value.first || count !== visibleRange.value.count)
        visibleRange.value = { first, count };
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [height, visibleRange]);
  const first = Math.min(visibleRange.value.first, Math.max(0, rows.length - visibleRange.value.count));
  const visibleRows = rows.slice(first, first + visibleRange.value.count);
  const drawn = useRef<{ readonly first: number; readonly key: string | number | undefined }>(undefined);
  useLayoutEffect(() => {
    // New rows above the window must not move the row that a user is about to press.
    const { first: previous, key } = drawn.current ?? {};
    const added = first === previous ? rows.findIndex((row) => getKey(row) === key) - first : 0;
    drawn.current = { first, key: rows[first] && getKey(rows[first]) };
    if (added <= 0 || list.current!.getBoundingClientRect().top >= 0) return;
    drawn.current = { first: first + added, key };
    visibleRange.value = { ...visibleRange.value, first: first + added };
    scrollBy(0, added * height);
  });
  return (
    <>
      {rows.length > 0 && (
        <p class="row headings">
          {headings.map((heading) => (
            <span key={heading}>{heading}</span>
          ))}
        </p>
      )}
      <ul class="rows" ref={list} aria-label={label} style={{ height: `${rows.length * height}px` }}>
        {visibleRows.map((row, at) => (
          <li
            key={getKey(row)}
            aria-setsize={rows.length}
            aria-posinset={first + at + 1}
            style={{ height: `${height}px`, transform: `translateY(${(first + at) * height}px)` }}
          >
            {draw(row)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Shown below a truncated list: the number of shown rows. */
export function TruncationNote(props: {
  readonly shown: number;
  readonly of: number | undefined;
  readonly what: string;
  readonly many?: string;
  readonly more?: string;
}) {
  const { shown, of: total = 0, what, many, more } = props;
  if (total <= shown) return null;
  return (
    <p class="muted">
      The newest {formatCount(shown)} of {pluralize(total, what, many)}.{more && ` ${more}`}
    </p>
  );
}

/** Renders one line of a row. If it is cut off, its tooltip shows the whole text. */
export function Line(props: {
  /** Class names, such as `title` or `muted sub`. */
  readonly of: string;
  /** The whole text, if it differs from the shown one. */
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  const { of, children } = props;
  return (
    <span class={of} title={props.title ?? (typeof children === "string" ? children : undefined)}>
      {children}
    </span>
  );
}

/** Lists possible actions, one per line, with the command if there is one. */
export const Steps = ({ steps }: { readonly steps: readonly RemedyStep[] }) => (
  <>
    {steps.map(({ words, command }) => (
      <div key={words} class="step">
        <p class="muted">{command ? `${words}:` : words}</p>
        {command && <Command text={command} />}
      </div>
    ))}
  </>
);
