import { isUtf8 } from "node:buffer";
import type { RequestBody } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { lookupTable } from "../../../src/base/object.ts";
import type { FindingReporter } from "../handler.ts";
import {
  findRepeatedField,
  getMediaType,
  isFormType,
  isMultipartType,
  parseFields,
  parseOrderedFields,
  pickLastValues,
  type RequestFields,
} from "./fields.ts";
import { bodyLimits, type DecodedBody, exceedsFieldLimit, parseJson, UnreadableBodyError } from "./json.ts";
import { parseMultipart } from "./multipart.ts";

/** Decodes the bytes of a body to a value. Throws UnreadableBodyError. */
export type BodyDecoder = (body: Buffer, contentType: string | undefined, finding: FindingReporter) => DecodedBody;

const emptyBody: DecodedBody = { value: undefined, getSource: () => null, length: 0 };

/** The value contains the last field of each name, and errors quote all fields. */
function createFormBody(
  fields: () => readonly (readonly [string, unknown])[],
  value: object,
  length: number,
): DecodedBody {
  const getSource = () => {
    const valuesByName = new Map<string, unknown[]>();
    for (const [name, fieldValue] of fields()) valuesByName.set(name, [...(valuesByName.get(name) ?? []), fieldValue]);
    return new Map([...valuesByName].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
  };
  return { value, getSource, length, isForm: true };
}

/** Creates the decoder for a kind of body. Undefined if the handler receives the bytes or nothing. */
export function createDecoder(
  body: RequestBody | undefined,
  dialect: Service["dialect"],
  strictBodies: boolean,
): BodyDecoder | undefined {
  if (body === undefined || body.kind === "raw" || body.kind === "stream") return undefined;
  // Clients that can send longer documents can also send more complex documents.
  const allowsLargeDocuments = body.kind === "json" && body.maxBytes !== undefined;
  const json = dialect === "fastapi" ? decodeJsonOrText : createJsonDecoder(allowsLargeDocuments);
  if (body.kind === "json") return json;
  if (body.kind === "form") return decodeForm;
  const { formIsStandard } = body;
  if (strictBodies && !formIsStandard) return json;
  return (bytes, type, finding) => {
    if (!isFormType(type)) return json(bytes, type, finding);
    if (!formIsStandard) finding("form-body", "the specification declares only JSON");
    const fields = parseFormFields(bytes.toString("utf8"));
    const name = findRepeatedField(fields);
    if (name !== undefined) throw new UnreadableBodyError({ reason: "repeated", name });
    return createFormBody(() => parseOrderedFields(bytes.toString("utf8")), pickLastValues(fields), bytes.length);
  };
}

/** FastAPI validates a body that is not sent as JSON as a single string (DECISIONS.md, P13). */
const decodeJsonOrText: BodyDecoder = (bytes, type) => {
  if (bytes.length === 0) return emptyBody;
  if (isJsonType(type)) return parseJson(decodeJsonBytes(bytes));
  const value = decodeUtf8(bytes);
  return { value, getSource: () => value, length: bytes.length };
};

/** The other services reject a body that is not sent as JSON. */
const createJsonDecoder =
  (allowsLargeDocuments: boolean): BodyDecoder =>
  (bytes, type) => {
    if (bytes.length === 0) return emptyBody;
    if (!isJsonType(type)) throw new UnreadableBodyError({ reason: "media-type", type: type ?? "" });
    return parseJson(decodeUtf8(bytes), allowsLargeDocuments);
  };

/** A request without a form is validated as an empty form. */
const decodeForm: BodyDecoder = (bytes, type) => {
  if (isFormType(type)) {
    // Starlette reads unescaped characters byte by byte.
    const text = bytes.toString("latin1");
    return createFormBody(() => parseOrderedFields(text), pickLastValues(parseFormFields(text)), bytes.length);
  }
  const parts = isMultipartType(type) ? parseMultipart(bytes, type ?? "") : [];
  return createFormBody(() => parts, lookupTable(Object.fromEntries(parts)), bytes.length);
};

function parseFormFields(text: string): RequestFields {
  if (exceedsFieldLimit(text)) {
    throw new UnreadableBodyError({ reason: "limit", message: `of more than ${bodyLimits.fields} fields` });
  }
  return parseFields(text);
}

const createEncodingError = () => new UnreadableBodyError({ reason: "encoding" });

/** Encodings by the first four bytes in hex, in the order of `detect_encoding` in Python's json/__init__.py. */
const encodingPatterns = [
  [/^0000feff/, "utf-32be"],
  [/^fffe0000/, "utf-32le"],
  [/^feff/, "utf-16be"],
  [/^fffe/, "utf-16le"],
  [/^efbbbf/, "utf-8"],
  [/^(?=0000.{4}$)/, "utf-32be"],
  [/^(?=00..(?:.{4})?$)/, "utf-16be"],
  [/^(?=..000000$)/, "utf-32le"],
  [/^(?=..00(?:.{4})?$)/, "utf-16le"],
] as const;

/** Decodes JSON bytes as Python's json.loads does. The encoding is UTF-8, UTF-16 or UTF-32. */
function decodeJsonBytes(bytes: Buffer): string {
  // All other encodings have a zero or a byte above 0xEE among the first two bytes.
  const [first = 0x20, second = 0x20] = bytes;
  if (first !== 0 && second !== 0 && first < 0xef) return decodeUtf8(bytes);
  const head = bytes.toString("hex", 0, 4);
  const [pattern, encoding] = encodingPatterns.find(([pattern]) => pattern.test(head)) ?? [/^/, "utf-8"];
  const text = bytes.subarray(pattern.exec(head)![0].length / 2);
  if (encoding === "utf-8") return decodeUtf8(text);
  return encoding.startsWith("utf-32") ? decodeUtf32(text, encoding === "utf-32le") : decodeUtf16(text, encoding);
}

/** The decoder is strict, because Buffer.toString would replace invalid bytes with U+FFFD. */
function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw createEncodingError();
  return bytes.toString("utf8");
}

function decodeUtf16(bytes: Buffer, encoding: string): string {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw createEncodingError();
  }
}

function decodeUtf32(bytes: Buffer, littleEndian: boolean): string {
  if (bytes.length % 4 !== 0) throw createEncodingError();
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    const point = littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    if (point > 0x10ffff) throw createEncodingError();
    text += String.fromCodePoint(point);
  }
  return text;
}

/** Returns whether FastAPI reads a body of this type as JSON: `application/json` and `application/*+json`. */
const isJsonType = (header: string | undefined): boolean =>
  header === "application/json" || /^application\/(?:[^/]*\+)?json$/.test(getMediaType(header));

/** The body is larger than the limit. */
export class BodyTooLargeError extends Error {}

/** Concatenates pieces. Rejects with BodyTooLargeError, without reading on, if they exceed `maxBytes`. */
export async function concatBody(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new BodyTooLargeError(`More than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks);
}
