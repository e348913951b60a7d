import { numberedLines } from "./lines.ts";
import type { InputRecord, Notation } from "./records.ts";

/** Cells with a tab between, a line each, as `--format tsv` writes them: with escapes and without quotes. */
export const createTsvNotation = (bytes: AsyncIterable<Buffer>): Notation => ({
  records: tsvRecords(bytes),
  text: withoutEscapes,
  trouble: (cause) => cause,
  other: () => undefined,
  isDirective: () => false,
});

async function* tsvRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRecord[]> {
  for await (const { lines } of numberedLines(bytes)) {
    yield lines.map((line) => {
      const raw = line.endsWith("\r") ? line.slice(0, -1) : line;
      return { record: raw.split("\t"), raw };
    });
  }
}

const escapes = /\\(?:([\\nrt])|x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]{1,6})\})/gi;
const named: Readonly<Record<string, string>> = Object.freeze({ "\\": "\\", n: "\n", r: "\r", t: "\t" });

/** What `tsvLine` of the output wrote, undone. */
function withoutEscapes(cell: string): string {
  if (!cell.includes("\\")) return cell;
  return cell.replace(escapes, (whole, name?: string, ...codes: (string | undefined)[]) => {
    if (name !== undefined) return named[name.toLowerCase()]!;
    const code = Number.parseInt(codes.slice(0, 3).find((digits) => digits !== undefined)!, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
