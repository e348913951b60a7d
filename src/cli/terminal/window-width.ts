import type { Host, OutputStream } from "../host.ts";

/** What a terminal is taken for that does not know its width. */
export const defaultColumns = 80;

/** How wide its window is: what a terminal says, else the variable COLUMNS; undefined: nobody knows. */
export function readWindowWidth(
  { columns }: Pick<OutputStream, "columns">,
  { COLUMNS = "" }: Host["env"],
): number | undefined {
  return columns || (/^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined);
}

/**
 * The same stream, never 0 columns wide: libraries divide by the width to know how many lines to clear, and would go
 * on for ever. A window may lose its width while something turns in it.
 */
export const withNonZeroWidth = <Stream extends OutputStream>(stream: Stream): Stream =>
  new Proxy(stream, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "columns") return value || defaultColumns;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
