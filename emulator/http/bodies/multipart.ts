import { isUtf8 } from "node:buffer";
import { StacklessError } from "../../../src/base/errors.ts";
import { bodyLimits } from "./json.ts";

/** A file part as an error of pydantic quotes it, without Starlette's internals. */
export interface FilePart {
  readonly filename: string;
  readonly size: number;
}

type NamedPart = readonly [name: string, value: string | FilePart];

/** An invalid multipart body, with Starlette's message. */
export class MultipartError extends StacklessError {
  override readonly name = "MultipartError";
}

const malformedMessage = "Invalid multipart data.";

/** python-multipart has this limit. */
const maxBoundaryLength = 256;
const maxHeaders = 8;
const maxHeaderLength = 4_096 + 128;
/** Starlette has this limit, in bytes. */
const maxFieldBytes = 1_024 * 1_024;

/**
 * Returns the parts of a `multipart/form-data` body, as python-multipart and Starlette read them. A part without an end
 * is ignored. Throws MultipartError.
 */
export function parseMultipart(body: Buffer, contentType: string): readonly NamedPart[] {
  const boundary = findParameter(contentType, "boundary");
  if (boundary === undefined) throw new MultipartError("Missing boundary in multipart.");
  if (boundary.length > maxBoundaryLength) throw new MultipartError(malformedMessage);
  // One character per byte, so that lengths are sizes. Line breaks before the first delimiter are ignored.
  const text = `\r\n${body.toString("latin1").replace(/^[\r\n]+/, "")}`;
  const opening = `\r\n--${boundary}`;
  const delimiter = new RegExp(`${opening.replace(/\W/g, "\\$&")}(?:[ \\t]*(\\r\\n)|(--)|[ \\t]+[^ \\t\\r])`, "g");
  const parts: NamedPart[] = [];
  const counts = { fields: 0, files: 0 };
  let start: number | undefined;
  for (const { 0: line, 1: lineEnd, 2: bodyEnd, index } of text.matchAll(delimiter)) {
    if (start === undefined ? index > 0 : !lineEnd && !bodyEnd) throw new MultipartError(malformedMessage);
    if (start !== undefined) parts.push(parsePart(text.slice(start, index), counts));
    if (!lineEnd) return parts;
    start = index + line.length - lineEnd.length;
  }
  // A body can be truncated at any position.
  if (start === undefined && ![opening, `${opening}\r`, `${opening}-`].some((line) => line.startsWith(text)))
    throw new MultipartError(malformedMessage);
  return parts;
}

/** Parses a part, which starts with the line break before its first header. */
function parsePart(text: string, counts: { fields: number; files: number }): NamedPart {
  const headEnd = text.indexOf("\r\n\r\n");
  const headers = text.slice(2, Math.max(2, headEnd)).split("\r\n");
  const isMalformed = (header: string) =>
    header.length > maxHeaderLength || !/^[!#$%&'*+\-.^_`|~\w]+:[^\r]*$/.test(header);
  if (headEnd < 0 || headers.length > maxHeaders || (headEnd > 0 && headers.some(isMalformed)))
    throw new MultipartError(malformedMessage);
  const disposition = decodeText(headers.findLast((header) => /^content-disposition:/i.test(header)) ?? "");
  const name = findParameter(disposition, "name");
  if (name === undefined) throw new MultipartError('The Content-Disposition header field "name" must be provided.');

  const filename = findParameter(disposition, "filename");
  const kind = filename === undefined ? "fields" : "files";
  counts[kind] += 1;
  if (counts[kind] > bodyLimits.parts)
    throw new MultipartError(`Too many ${kind}. Maximum number of ${kind} is ${bodyLimits.parts}.`);
  const content = text.slice(headEnd + 4);
  if (filename !== undefined) return [name, { filename, size: content.length }];
  if (content.length > maxFieldBytes)
    throw new MultipartError(`Part exceeded maximum size of ${maxFieldBytes / 1_024}KB.`);
  return [name, decodeText(content)];
}

/**
 * Returns the last parameter of that name in a header such as `form-data; name="a"`. Returns undefined if the header
 * lacks the parameter.
 */
function findParameter(header: string, name: string): string | undefined {
  const parameters = header.matchAll(/;\s*([^\s;="*]+)\*?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g);
  const values = [...parameters].flatMap(([, parameter, quoted, plain = ""]) =>
    parameter!.toLowerCase() === name ? [quoted?.replace(/\\(["\\])/g, "$1") ?? plain.trim()] : [],
  );
  return values.at(-1);
}

/** Decodes UTF-8 text. Other bytes are Latin-1. */
function decodeText(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : text;
}
