import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { findStringEnd } from "../base/json.ts";
import { lookupTable } from "../base/object.ts";
import { hasNoBody } from "../base/response-quirks.ts";
import { createSizeLimitError } from "./limits.ts";
import type { HttpResponse } from "./request.ts";

const decoders = lookupTable<() => NodeJS.ReadWriteStream>({
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
});

/**
 * Decodes the content codings of a response (RFC 9110, 8.4). Requests do not accept any coding, but proxies and stored
 * objects use them. A response with an unknown coding stays unchanged.
 */
export function decodeResponse(response: HttpResponse, method: string, maxBytes: number): HttpResponse {
  const { "content-encoding": encoding = "", "content-length": length, ...headers } = response.headers;
  const codings = encoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  const isKnown = codings.every((coding) => decoders[coding] !== undefined);
  if (codings.length === 0 || !isKnown || length === "0" || hasNoBody(response.status) || method === "HEAD")
    return response;
  return { ...response, headers, body: decodeBody(response.body, codings, maxBytes) };
}

async function* decodeBody(
  body: AsyncIterable<Uint8Array>,
  codings: readonly string[],
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const encodedChunks = body[Symbol.asyncIterator]();
  const first = await encodedChunks.next();
  if (first.done) return;
  const streams = codings.toReversed().map((coding) => decoders[coding]!());
  const decodedStream = streams.at(-1)!;
  pipeline([Readable.from(prependChunk(first.value, encodedChunks), { objectMode: false }), ...streams]).catch(
    () => {},
  );
  let bytes = 0;
  for await (const chunk of decodedStream as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    // A small response can decode to an endless one.
    if (bytes > maxBytes) throw createSizeLimitError(maxBytes);
    yield chunk;
  }
}

async function* prependChunk(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Real responses do not nest this deeply. Recursive code would overflow the stack. */
const maxDepth = 1_000;

/** Parses JSON. Throws a SyntaxError if the text is invalid or nests too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`nested more than ${maxDepth} levels`);
  return JSON.parse(text);
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i];
    if (character === '"') i = findStringEnd(text, i);
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}
