import { isUtf8 } from "node:buffer";
import { bodyLimits, UnreadableBodyError } from "./json.ts";

/** A file part as an error of pydantic quotes it, without Starlette's internals. */
interface FilePart {
  readonly filename: string;
  readonly size: number;
}

/** Creates the error for an invalid body, with Starlette's message. */
const createError = (message = "Invalid multipart data.") => new UnreadableBodyError({ reason: "multipart", message });

const crlf = "\r\n";

/** python-multipart has this limit. */
const maxBoundaryLength = 256;
const maxHeaders = 8;
const maxHeaderBytes = 4_096 + 128;
/** Starlette has this limit, in bytes. */
const maxFieldBytes = 1_024 * 1_024;

/** Returns the complete parts of a body as python-multipart and Starlette read them. Throws UnreadableBodyError. */
export function parseMultipart(body: Buffer, contentType: string): readonly (readonly [string, string | FilePart])[] {
  const boundary = findParameter(contentType, "boundary");
  if (boundary === undefined) throw createError("Missing boundary in multipart.");
  if (boundary.length > maxBoundaryLength) throw createError();
  const parts: (readonly [string, string | FilePart])[] = [];
  const counts = { fields: 0, files: 0 };
  let at = findFirstPart(body, `--${boundary}`);
  while (at !== undefined) {
    const head = parseHead(body, at);
    if (!head) break;
    const { name, filename } = head;
    const kind = filename === undefined ? "fields" : "files";
    counts[kind] += 1;
    if (counts[kind] > bodyLimits.parts) {
      throw createError(`Too many ${kind}. Maximum number of ${kind} is ${bodyLimits.parts}.`);
    }
    const end = findEndOfPart(body, head.end, `${crlf}--${boundary}`);
    const size = (end?.at ?? body.length) - head.end;
    if (filename === undefined && size > maxFieldBytes) {
      throw createError(`Part exceeded maximum size of ${maxFieldBytes / 1_024}KB.`);
    }
    if (!end) break;
    parts.push([name, filename === undefined ? decodeText(body.subarray(head.end, end.at)) : { filename, size }]);
    at = end.next;
  }
  return parts;
}

/** Returns the offset of the headers of the first part, or undefined if the body has no part. */
function findFirstPart(body: Buffer, delimiter: string): number | undefined {
  const start = body[0] === 0x0d || body[0] === 0x0a ? body.indexOf("-") : 0;
  const firstLine = start < 0 ? "" : body.toString("latin1", start, start + delimiter.length + 2);
  const suffix = firstLine.slice(delimiter.length);
  // A body can be truncated at any position.
  if (!firstLine.startsWith(delimiter) && !delimiter.startsWith(firstLine)) throw createError();
  if (suffix === crlf) return start + firstLine.length;
  if (suffix === "" || suffix === "\r" || suffix === "-" || suffix === "--") return undefined;
  throw createError();
}

/** Parses the headers of a part, which end at `end`. Returns undefined if the body ends within the headers. */
function parseHead(body: Buffer, begin: number) {
  let at = begin;
  let disposition = "";
  for (let count = 0; body.toString("latin1", at, at + 2) !== crlf; count += 1) {
    const colon = body.indexOf(":", at);
    const name = body.toString("latin1", at, Math.min(colon < 0 ? body.length : colon, at + maxHeaderBytes));
    const end = colon < 0 ? -1 : body.indexOf("\r", colon);
    const length = (end < 0 ? body.length : end) - at;
    const isMalformed = !/^[!#$%&'*+\-.^_`|~\w]*$/.test(name) || (name === "" && colon >= 0);
    if (isMalformed || count >= maxHeaders || length > maxHeaderBytes) throw createError();
    if (end < 0 || end + 1 === body.length) return undefined;
    if (body[end + 1] !== 0x0a) throw createError();
    if (name.toLowerCase() === "content-disposition") disposition = decodeText(body.subarray(colon + 1, end));
    at = end + 2;
  }
  const name = findParameter(disposition, "name");
  if (name === undefined) {
    throw createError('The Content-Disposition header field "name" must be provided.');
  }
  return { name, filename: findParameter(disposition, "filename"), end: at + 2 };
}

/** Returns the end of a part and the start of the next, if any. Undefined if the body ends before the part. */
function findEndOfPart(body: Buffer, from: number, delimiter: string) {
  for (let at = body.indexOf(delimiter, from, "latin1"); at >= 0; at = body.indexOf(delimiter, at + 1, "latin1")) {
    let next = at + delimiter.length;
    const isPadded = body[next] === 0x20 || body[next] === 0x09;
    while (body[next] === 0x20 || body[next] === 0x09) next += 1;
    const terminator = body.toString("latin1", next, next + 2);
    if (terminator === crlf) return { at, next: next + 2 };
    if (terminator === "--" && !isPadded) return { at, next: undefined };
    if (isPadded && terminator !== "" && terminator !== "\r") throw createError();
  }
  return undefined;
}

/** Returns the last parameter of that name in a header such as `form-data; name="a"`, if it has one. */
function findParameter(header: string, name: string): string | undefined {
  let lastValue: string | undefined;
  for (const field of splitFields(header)) {
    const at = field.indexOf("=");
    if (at < 0 || field.slice(0, at).trim().toLowerCase().replace(/\*$/, "") !== name) continue;
    const value = field.slice(at + 1).trim();
    const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    lastValue = isQuoted ? value.slice(1, -1).replace(/\\(["\\])/g, "$1") : value;
  }
  return lastValue;
}

/** Splits a header at semicolons outside quotes. */
function splitFields(header: string): string[] {
  const fields = [""];
  let isQuoted = false;
  let isEscaped = false;
  for (const character of header) {
    if (character === '"' && !isEscaped) isQuoted = !isQuoted;
    isEscaped = character === "\\" && !isEscaped;
    if (character === ";" && !isQuoted) fields.push("");
    else fields[fields.length - 1] += character;
  }
  return fields;
}

const decodeText = (bytes: Buffer): string => bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
