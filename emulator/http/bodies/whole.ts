/** More came than is read. */
export class TooLong extends Error {}

/** Bytes that may come in pieces, in one; rejects with TooLong, and reads no further, once they are more than `maxBytes`. */
export async function wholeBody(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new TooLong(`More than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks);
}
