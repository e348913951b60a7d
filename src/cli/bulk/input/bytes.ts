import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { createUnreadableInputError } from "./input-error.ts";
import { OtherFormatError } from "./other-format.ts";

/** Larger pieces make fewer turns of the event loop, and leave more to collect: memory would reach 150 MB. */
const pieceBytes = 64 * 1_024;

export const fileBytes = (path: string): AsyncIterable<Uint8Array> =>
  createReadStream(path, { highWaterMark: pieceBytes });

/** What tells an input from a changed one. */
export interface Fingerprint {
  readonly bytes: number;
  readonly sha256: string;
}

/** Passes bytes on, and knows their fingerprint when they are at their end. */
export class FingerprintedBytes implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #sum: Hash = createHash("sha256");
  #bytes = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#source) {
      this.#sum.update(piece);
      this.#bytes += piece.byteLength;
      yield piece;
    }
  }

  /** Call it once, at the end. */
  fingerprint(): Fingerprint {
    return { bytes: this.#bytes, sha256: this.#sum.digest("hex") };
  }
}

/** What files begin with that people take for tables of text. */
const binaries: ReadonlyMap<string, Buffer> = new Map([
  ["an Excel workbook (.xlsx) or another ZIP archive", Buffer.from("PK\x03\x04")],
  ["an Excel workbook (.xls) or another Office document", Buffer.from([0xd0, 0xcf, 0x11, 0xe0])],
]);

const saveAsCsv = "Save it as “CSV UTF-8” and use that file.";

/** Plain bytes; gzip is recognised by its first two. */
export async function* unzip(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = input[Symbol.asyncIterator]();
  let begin = Buffer.alloc(0);
  while (begin.byteLength < 4) {
    const next = await iterator.next();
    if (next.done) break;
    begin = Buffer.concat([begin, next.value]);
  }
  const whole = (async function* () {
    if (begin.byteLength > 0) yield begin;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  const [kind] = [...binaries].find(([, magic]) => begin.subarray(0, 4).equals(magic)) ?? [];
  if (kind !== undefined) throw new OtherFormatError(`The input is ${kind}, not text.`, { flags: [], hint: saveAsCsv });
  if (begin[0] !== 0x1f || begin[1] !== 0x8b) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  pipeline(Readable.from(whole), gunzip, () => {});
  try {
    yield* gunzip;
  } catch (cause) {
    throw createUnreadableInputError("The gzip file is damaged or truncated", { cause });
  }
}
