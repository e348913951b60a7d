import { isUtf8 } from "node:buffer";
import { createUnreadableInputError } from "./input-error.ts";

const newline = 0x0a;

/** Bytes are no UTF-8. Whoever counts the rows says in which: `utf8Trouble`. */
class NotUtf8 extends Error {
  /** What `iconv` would call it, as far as one can tell. */
  readonly encoding: string;

  constructor(encoding: string) {
    super("not UTF-8");
    this.encoding = encoding;
  }
}

/**
 * The same bytes, cut between characters. Fails where they are no UTF-8, with the whole lines before that passed on:
 * decoded regardless, different identifiers would become the same one, and their hashes those of nobody.
 */
export async function* splitUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Uint8Array = Buffer.alloc(0);
  let encoding: string | undefined;
  for await (const piece of input) {
    const bytes =
      rest.byteLength > 0
        ? Buffer.concat([rest, piece])
        : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    encoding ??= encodingOf(bytes);
    const end = endOfCharacters(bytes);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) {
      const lines = linesBeforeTrouble(whole);
      if (lines.byteLength > 0) yield lines;
      throw new NotUtf8(encoding);
    }
    rest = bytes.subarray(end);
    if (end > 0) yield whole;
  }
  if (rest.byteLength > 0) throw new NotUtf8(encoding!);
}

/** By the mark of the byte order; else what most of those files are in that are no UTF-8. */
const encodingOf = (bytes: Buffer): string =>
  ["fffe", "feff"].includes(bytes.toString("hex", 0, 2)) ? "UTF-16" : "WINDOWS-1252";

/** Where the last character begins, if it goes on in the next piece. */
function endOfCharacters(bytes: Buffer): number {
  const { length } = bytes;
  for (let back = 1; back <= 3 && back <= length; back += 1) {
    const byte = bytes[length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? length - back : length;
  }
  return length;
}

function linesBeforeTrouble(bytes: Buffer): Buffer {
  for (let at = 0; ; ) {
    const end = bytes.indexOf(newline, at) + 1;
    if (end === 0 || !isUtf8(bytes.subarray(at, end))) return bytes.subarray(0, at);
    at = end;
  }
}

/** The same in words, where it stands in that row; any other trouble as it is. */
export function toUtf8Error(cause: unknown, row: number): unknown {
  if (!(cause instanceof NotUtf8)) return cause;
  const hint = `Convert it to UTF-8. From ${cause.encoding}: iconv -f ${cause.encoding} -t UTF-8 FILE`;
  return createUnreadableInputError(`Row ${row} is not UTF-8`, { hint, cause });
}
