const newline = 0x0a;

/** The same bytes in blocks that end at the end of a line, but for the last of a text that does not. */
export async function* splitAtLineEnds(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece]);
    const end = bytes.lastIndexOf(newline) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield bytes.subarray(0, end);
  }
  if (rest.byteLength > 0) yield Buffer.from(rest);
}
