/** Longer lines are forwarded in parts, to limit memory. */
const maxLineLength = 64 * 1024;

/** Yields the text of a byte stream, cut after line breaks. Splits only very long lines. */
export async function* readTextLines(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const end = rest.lastIndexOf("\n") + 1;
    // The last characters can begin a sequence, such as a command or an emoji.
    const chunkEnd = end > 0 ? end : rest.length > maxLineLength ? rest.length - 16 : 0;
    if (chunkEnd === 0) continue;
    yield rest.slice(0, chunkEnd);
    rest = rest.slice(chunkEnd);
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
