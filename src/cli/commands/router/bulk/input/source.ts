import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { splitAtLineEnds } from "../../../../../files/read-log.ts";
import { openInput, requireFile } from "../../../../parse/body.ts";
import { defaultOtherEncoding, guessOtherEncoding } from "../../../../parse/encoding.ts";
import type { Host } from "../../../../process/host.ts";
import { InputError, InvalidUtf8Error, OtherFormatError } from "./format.ts";

/** Larger pieces need fewer turns of the event loop but more memory. */
export const maxPieceBytes = 64 * 1_024;

/** Reads a file, or its first `length` bytes. */
export const readFileBytes = (path: string, length = Number.POSITIVE_INFINITY): AsyncIterable<Uint8Array> =>
  length === 0 ? Readable.from([]) : createReadStream(path, { highWaterMark: maxPieceBytes, end: length - 1 });

export interface InputSource {
  /** Absolute path. `-` for input that can be read only once: standard input, named pipe, process substitution. */
  readonly path: string;
  /** `standard input`, or the path as typed. */
  readonly name: string;
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** Names of open file descriptors, whose rows will not be available later. */
const processFilePattern = /^\/(dev\/(stdin$|fd\/)|proc\/[^/]+\/fd\/)/;

/** Opens the rows that a command line names. Throws UsageError if there is nothing to read. */
export async function openInputSource(host: Host, name: string, flag: string): Promise<InputSource> {
  if (name === "-") {
    const open = async function* () {
      yield* await openInput(host, name, flag);
    };
    return { path: "-", name: "standard input", open };
  }
  const path = await requireFile(host, name, flag);
  const isRereadable = (await stat(path)).isFile() && !processFilePattern.test(path);
  return { path: isRereadable ? path : "-", name, open: () => readFileBytes(path) };
}

/** Computes the size and the SHA-256 of a stream while it is read. `getFingerprint` must be called once, at the end. */
export function trackFingerprint(source: AsyncIterable<Uint8Array>) {
  const sum = createHash("sha256");
  let bytes = 0;
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const piece of source) {
      sum.update(piece);
      bytes += piece.byteLength;
      yield piece;
    }
  }
  return { read, getFingerprint: () => ({ bytes, sha256: sum.digest("hex") }) };
}

export async function readFingerprint(source: InputSource) {
  const { read, getFingerprint } = trackFingerprint(source.open());
  for await (const _ of read());
  return getFingerprint();
}

/** Signatures of binary files that users mistake for text tables. */
const binaries: ReadonlyMap<string, Buffer> = new Map([
  ["an Excel workbook (.xlsx) or another ZIP archive", Buffer.from("PK\x03\x04")],
  ["an Excel workbook (.xls) or another Office document", Buffer.from([0xd0, 0xcf, 0x11, 0xe0])],
]);

/** Decompresses gzip, recognized by its first two bytes. */
async function* unzip(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = input[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.byteLength < 4) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const content = (async function* () {
    if (head.byteLength > 0) yield head;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  const [kind] = [...binaries].find(([, magic]) => head.subarray(0, 4).equals(magic)) ?? [];
  if (kind !== undefined) {
    throw new OtherFormatError(`The input is ${kind}, not text.`, "Save it as “CSV UTF-8” and use that file.");
  }
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* content;
    return;
  }
  const gunzip = createGunzip({ chunkSize: maxPieceBytes });
  pipeline(Readable.from(content), gunzip, () => {});
  try {
    yield* gunzip;
  } catch (cause) {
    throw new InputError("unreadable_input", "The gzip file is damaged or truncated", { cause });
  }
}

/**
 * Yields the text of an input, in groups of complete lines. If it is not UTF-8, fails after the last valid line.
 * Decoding it anyway would merge different identifiers, whose hashes would match no user.
 */
export async function* readTextLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let encoding: string | undefined;
  for await (const lines of splitAtLineEnds(unzip(input))) {
    encoding ??= guessOtherEncoding(lines);
    const isUtf16 = encoding !== defaultOtherEncoding;
    if (isUtf16 || !isUtf8(lines)) {
      const validLines = getLinesBeforeError(lines);
      if (!isUtf16 && validLines.byteLength > 0) yield validLines;
      throw new InvalidUtf8Error(encoding);
    }
    yield lines;
  }
}

function getLinesBeforeError(bytes: Buffer): Buffer {
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\n", at) + 1;
    if (end === 0 || !isUtf8(bytes.subarray(at, end))) return bytes.subarray(0, at);
    at = end;
  }
}
