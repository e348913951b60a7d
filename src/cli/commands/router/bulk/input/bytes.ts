import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { openInput, requireFile } from "../../../../parse/body.ts";
import type { Host } from "../../../../process/host.ts";
import { OtherFormatError } from "./format.ts";
import { createUnreadableInputError } from "./identifiers.ts";

/** Larger pieces need fewer turns of the event loop but more memory, up to 150 MB. */
const maxPieceBytes = 64 * 1_024;

export const readFileBytes = (path: string): AsyncIterable<Uint8Array> =>
  createReadStream(path, { highWaterMark: maxPieceBytes });

export interface Fingerprint {
  readonly bytes: number;
  readonly sha256: string;
}

/** Computes the fingerprint of a stream while it is read. `getFingerprint` must be called once, at the end. */
export function trackFingerprint(source: AsyncIterable<Uint8Array>) {
  const sum = createHash("sha256");
  let bytes = 0;
  async function* readPieces(): AsyncGenerator<Uint8Array> {
    for await (const piece of source) {
      sum.update(piece);
      bytes += piece.byteLength;
      yield piece;
    }
  }
  return { read: readPieces, getFingerprint: (): Fingerprint => ({ bytes, sha256: sum.digest("hex") }) };
}

/** Signatures of binary files that users mistake for text tables. */
const binaries: ReadonlyMap<string, Buffer> = new Map([
  ["an Excel workbook (.xlsx) or another ZIP archive", Buffer.from("PK\x03\x04")],
  ["an Excel workbook (.xls) or another Office document", Buffer.from([0xd0, 0xcf, 0x11, 0xe0])],
]);

const saveAsCsv = "Save it as “CSV UTF-8” and use that file.";

/** Decompresses gzip, recognized by its first two bytes. */
export async function* unzip(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
  if (kind !== undefined) throw new OtherFormatError(`The input is ${kind}, not text.`, { flags: [], hint: saveAsCsv });
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* content;
    return;
  }
  const gunzip = createGunzip({ chunkSize: maxPieceBytes });
  pipeline(Readable.from(content), gunzip, () => {});
  try {
    yield* gunzip;
  } catch (cause) {
    throw createUnreadableInputError("The gzip file is damaged or truncated", { cause });
  }
}

const newline = 0x0a;

/** Error for bytes that are not UTF-8. The row reader adds the encoding. */
class InvalidUtf8Error extends Error {
  readonly encoding: string;

  constructor(encoding: string) {
    super("not UTF-8");
    this.encoding = encoding;
  }
}

/**
 * Yields the same bytes, cut between characters. If they are not UTF-8, fails after the last complete line. Decoding
 * them anyway would merge different identifiers, whose hashes would match no user.
 */
export async function* splitUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Uint8Array = Buffer.alloc(0);
  let encoding: string | undefined;
  for await (const piece of input) {
    const bytes =
      rest.byteLength > 0
        ? Buffer.concat([rest, piece])
        : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    encoding ??= guessEncoding(bytes);
    const end = findCharacterEnd(bytes);
    const complete = bytes.subarray(0, end);
    if (!isUtf8(complete)) {
      const lines = getLinesBeforeError(complete);
      if (lines.byteLength > 0) yield lines;
      throw new InvalidUtf8Error(encoding);
    }
    rest = bytes.subarray(end);
    if (end > 0) yield complete;
  }
  if (rest.byteLength > 0) throw new InvalidUtf8Error(encoding!);
}

/** Guesses by the byte order mark, or else the most common non-UTF-8 encoding. */
const guessEncoding = (bytes: Buffer): string =>
  ["fffe", "feff"].includes(bytes.toString("hex", 0, 2)) ? "UTF-16" : "WINDOWS-1252";

function findCharacterEnd(bytes: Buffer): number {
  const { length } = bytes;
  for (let distance = 1; distance <= 3 && distance <= length; distance += 1) {
    const byte = bytes[length - distance]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const sequenceLength = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return sequenceLength > distance ? length - distance : length;
  }
  return length;
}

function getLinesBeforeError(bytes: Buffer): Buffer {
  for (let at = 0; ; ) {
    const end = bytes.indexOf(newline, at) + 1;
    if (end === 0 || !isUtf8(bytes.subarray(at, end))) return bytes.subarray(0, at);
    at = end;
  }
}

/** Converts the error to a message if it is in that row. Returns other errors unchanged. */
export function toUtf8Error(cause: unknown, row: number): unknown {
  if (!(cause instanceof InvalidUtf8Error)) return cause;
  const hint = `Convert it to UTF-8. From ${cause.encoding}: iconv -f ${cause.encoding} -t UTF-8 FILE`;
  return createUnreadableInputError(`Row ${row} is not UTF-8`, { hint, cause });
}

export interface InputSource {
  /**
   * Absolute path. `-` for an input that can be read only once: standard input, a named pipe or a process substitution.
   */
  readonly path: string;
  /** `standard input`, or the path as typed. */
  readonly name: string;
  readonly open: () => AsyncIterable<Uint8Array>;
}

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

/** Names of open file descriptors, whose rows will not be available later. */
const processFilePattern = /^\/(dev\/(stdin$|fd\/)|proc\/[^/]+\/fd\/)/;
