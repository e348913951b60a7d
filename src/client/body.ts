import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { contentDecoders, parseContentCodings } from "../base/content-codings.ts";
import { findStringEnd } from "../base/json.ts";
import { isObject } from "../base/object.ts";
import { hasNoBody } from "../base/response-quirks.ts";
import { toNonEmptyString } from "../base/text.ts";
import { createSizeLimitError } from "./limits.ts";
import type { Problem } from "./published.d.ts";
import type { HttpResponse } from "./request.ts";

/** Each coding needs a decoder of its own. Services apply one, and proxies another one. */
const maxCodings = 4;

/**
 * Decodes the content codings of a response (RFC 9110, 8.4). Requests do not accept any coding, but proxies and stored
 * objects use them. A response with an unknown coding or too many stays unchanged.
 */
export function decodeResponse(response: HttpResponse, method: string, maxBytes: number): HttpResponse {
  const { "content-encoding": encoding = "", "content-length": length, ...headers } = response.headers;
  const codings = parseContentCodings(encoding);
  const isKnown = codings.length <= maxCodings && codings.every((coding) => contentDecoders[coding] !== undefined);
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
  const streams = codings.toReversed().map((coding) => contentDecoders[coding]!());
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

/** Parses any declared form of error body. `body` is parsed JSON or text. */
export function parseProblem(status: number, body: unknown): Problem {
  const createProblem = (message: string, rest: Partial<Problem> = {}): Problem => ({
    code: undefined,
    hint: undefined,
    fields: [],
    message,
    ...rest,
  });

  if (isObject(body)) {
    if (isObject(body.error)) {
      const { code, message, hint } = body.error;
      return createProblem(toNonEmptyString(message) ?? `status ${status}`, {
        code: toNonEmptyString(code),
        hint: toNonEmptyString(hint),
      });
    }
    if (typeof body.error === "string") {
      return createProblem(toNonEmptyString(body.error_description) ?? body.error, { code: body.error });
    }
    if (Array.isArray(body.detail)) {
      const fields = body.detail.map(formatValidationItem);
      return createProblem(fields.join("; "), { fields });
    }
    if (typeof body.detail === "string") return createProblem(body.detail, { code: toNonEmptyString(body.code) });
    const fields = listFieldMessages(body);
    if (fields.length > 0) return createProblem(fields.join("; "), { fields });
  }
  const xml = typeof body === "string" ? parseXmlError(body) : undefined;
  return xml
    ? createProblem(xml.message, { code: xml.code })
    : createProblem(`The service responded with status ${status}.`);
}

function formatValidationItem(item: unknown): string {
  if (!isObject(item)) return String(item);
  const path = Array.isArray(item.loc) ? item.loc.join(".") : "";
  return path ? `${path}: ${item.msg}` : String(item.msg);
}

/**
 * Lists the messages of `{"title": ["This field is required."], "files": {"0": {"filename": ["…"]}}}`, one line each.
 */
function listFieldMessages(body: unknown, path: readonly string[] = []): string[] {
  if (typeof body === "string") return [path.length ? `${path.join(".")}: ${body}` : body];
  if (Array.isArray(body)) return body.flatMap((item) => listFieldMessages(item, path));
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([key, value]) => listFieldMessages(value, [...path, key]));
}

/** Parses the storage provider's `<Error><Code>…</Code><Message>…</Message></Error>` (DECISIONS.md, P17). */
function parseXmlError(body: string): { code: string; message: string } | undefined {
  const code = /<Code>([^<]*)<\/Code>/.exec(body)?.[1];
  const message = /<Message>([^<]*)<\/Message>/.exec(body)?.[1];
  return code === undefined ? undefined : { code, message: message ?? code };
}
