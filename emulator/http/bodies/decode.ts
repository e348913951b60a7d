import { isUtf8 } from "node:buffer";
import type { RequestBody } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { groupBy, lookupTable } from "../../../src/base/object.ts";
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
export type BodyDecoder = (
  body: Buffer,
  contentType: string | undefined,
  finding: FindingReporter,
) => DecodedBody | undefined;

/** The value contains the last field of each name, and errors quote all fields. */
function createFormBody(
  fields: () => readonly (readonly [string, unknown])[],
  value: object,
  length: number,
): DecodedBody {
  const getSource = () =>
    new Map(
      [...groupBy(fields(), ([name]) => name)].map(([name, group]) => {
        const values = group.map(([, fieldValue]) => fieldValue);
        return [name, values.length === 1 ? values[0] : values];
      }),
    );
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
  if (bytes.length === 0) return undefined;
  if (isJsonType(type)) return parseJson(decodeJsonBytes(bytes));
  // Only a validation error quotes the text, after the credentials are checked (DECISIONS.md, P12).
  return { value: bytes.toString("utf8"), getSource: () => decodeUtf8(bytes), length: bytes.length };
};

/** The other services reject a body that is not sent as JSON, and NaN, which is not JSON. */
const createJsonDecoder =
  (allowsLargeDocuments: boolean): BodyDecoder =>
  (bytes, type) => {
    if (bytes.length === 0) return undefined;
    if (!isJsonType(type)) throw new UnreadableBodyError({ reason: "media-type", type: type ?? "" });
    return parseJson(decodeUtf8(bytes), { allowsLargeDocuments, rejectsNaN: true });
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
    throw new UnreadableBodyError({ reason: "limit", message: `has more than ${bodyLimits.fields} fields` });
  }
  return parseFields(text);
}

const createEncodingError = () => new UnreadableBodyError({ reason: "encoding" });

/** Decodes JSON bytes as Python's json.loads does. The encoding is UTF-8 or UTF-16, with or without a mark. */
function decodeJsonBytes(bytes: Buffer): string {
  const encoding = findEncoding(bytes);
  if (encoding === undefined) return decodeUtf8(bytes);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw createEncodingError();
  }
}

/** Returns the encoding of bytes with a mark or with zeros. JSON text begins with an ASCII character. */
function findEncoding([first, second]: Buffer): string | undefined {
  if (first === 0 || (first === 0xfe && second === 0xff)) return "utf-16be";
  if (second === 0 || (first === 0xff && second === 0xfe)) return "utf-16le";
  return first === 0xef ? "utf-8" : undefined;
}

/** The decoder is strict, because Buffer.toString would replace invalid bytes with U+FFFD. */
function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw createEncodingError();
  return bytes.toString("utf8");
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
