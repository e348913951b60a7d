/** Longer lines are forwarded in parts: they are hardly read, and memory has an end. */
const maxLineLength = 64 * 1024;

/** The text of a stream of bytes, cut after line breaks, so that no line comes in two parts unless it is very long. */
export async function* readTextLines(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const end = rest.lastIndexOf("\n") + 1;
    // The last characters may be the beginning of something: a command, an emoji.
    const until = end > 0 ? end : rest.length > maxLineLength ? rest.length - 16 : 0;
    if (until === 0) continue;
    yield rest.slice(0, until);
    rest = rest.slice(until);
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
