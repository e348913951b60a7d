import type { Mark } from "./tracks.ts";

/** Where a key leads from a mark: right and left in time, down and up among those of one moment. */
export function destination(key: string, at: number, marks: readonly Pick<Mark, "x" | "slot">[]): number | undefined {
  const { x, slot } = marks[at]!;
  switch (key) {
    case "ArrowDown":
      return marks[at + 1]?.x === x ? at + 1 : at;
    case "ArrowUp":
      return marks[at - 1]?.x === x ? at - 1 : at;
    case "ArrowRight": {
      const next = marks.findIndex((mark) => mark.x > x);
      return next < 0 ? at : inStack(marks, next, slot);
    }
    case "ArrowLeft": {
      const before = marks.findLastIndex((mark) => mark.x < x);
      return before < 0
        ? at
        : inStack(
            marks,
            marks.findIndex((mark) => mark.x === marks[before]!.x),
            slot,
          );
    }
    case "Home":
      return 0;
    case "End":
      return marks.length - 1;
    default:
      return undefined;
  }
}

/** In the stack that begins there the mark of that height, or the lowest. */
function inStack(marks: readonly Pick<Mark, "x" | "slot">[], first: number, slot: number): number {
  let at = first;
  while (marks[at]!.slot < slot && marks[at + 1]?.x === marks[first]!.x) at += 1;
  return at;
}
