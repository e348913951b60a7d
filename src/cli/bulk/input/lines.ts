import type { RowGroup } from "./row-group.ts";
import { toUtf8Error } from "./utf8.ts";

/** Rows that are lines, without the blanks around them; `checkTop` looks at the first of them. */
export async function* lineRows(
  bytes: AsyncIterable<Buffer>,
  checkTop?: (lines: readonly string[], top: number) => string | undefined,
): AsyncGenerator<RowGroup> {
  let isBegun = checkTop === undefined;
  for await (const { first, lines } of numberedLines(bytes)) {
    for (let i = 0; i < lines.length; i += 1) lines[i] = lines[i]!.trim();
    const top = isBegun ? -1 : lines.findIndex((line) => line !== "");
    isBegun ||= top >= 0;
    const problem = top < 0 ? undefined : checkTop!(lines, top);
    yield { first, texts: lines, ...(problem === undefined ? {} : { problems: new Map([[top, problem]]) }) };
  }
}

/** Whole lines, one group per piece of input, with the number of the first. */
export async function* numberedLines(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly first: number; readonly lines: string[] }> {
  let first = 1;
  try {
    for await (const lines of linesOf(bytes)) {
      yield { first, lines };
      first += lines.length;
    }
  } catch (cause) {
    throw toUtf8Error(cause, first);
  }
}

/** A mark of the byte order at the beginning is no part of the first. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: string | undefined;
  for await (const piece of bytes) {
    // TextDecoder would make two-byte strings of plain ASCII: slower to split and to hash.
    const text = piece.toString("utf8");
    const lines = (rest === undefined ? text.replace(/^\ufeff/, "") : rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  if (rest !== undefined && rest !== "") yield [rest];
}
