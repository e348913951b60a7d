import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

const around = 8;

/** Of a row, in pixels: where the page is narrow its end stands below the rest. */
const heights = { wide: 57, narrow: 96 };

const narrow = globalThis.matchMedia?.("(max-width: 760px)");
const isNarrow = signal(narrow?.matches ?? false);
narrow?.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});

/**
 * Rows of one height of which only those in sight are drawn, however many there are. The page itself scrolls; for those
 * who hear it, each row says its place.
 */
export function Windowed<Row>(props: {
  readonly rows: readonly Row[];
  readonly label: string;
  readonly draw: (row: Row) => ComponentChildren;
  readonly keyOf: (row: Row) => string | number;
}) {
  const { rows, label, draw, keyOf } = props;
  const height = isNarrow.value ? heights.narrow : heights.wide;
  const list = useRef<HTMLUListElement>(null);
  const seen = useSignal({ first: 0, count: 60 });
  useEffect(() => {
    const look = () => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - around);
      const count = Math.ceil(innerHeight / height) + 2 * around;
      if (first !== seen.value.first || count !== seen.value.count) seen.value = { first, count };
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [height, seen]);
  const first = Math.min(seen.value.first, Math.max(0, rows.length - seen.value.count));
  const drawn = rows.slice(first, first + seen.value.count);
  return (
    <ul class="rows" ref={list} aria-label={label} style={{ height: `${rows.length * height}px` }}>
      {drawn.map((row, at) => (
        <li
          key={keyOf(row)}
          aria-setsize={rows.length}
          aria-posinset={first + at + 1}
          style={{ height: `${height}px`, transform: `translateY(${(first + at) * height}px)` }}
        >
          {draw(row)}
        </li>
      ))}
    </ul>
  );
}
