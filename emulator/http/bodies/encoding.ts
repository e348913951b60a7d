import { isUtf8 } from "node:buffer";

/** The bytes are not text in the encoding they claim or show; `at` is the first bad byte, where known. */
export class EncodingError extends Error {
  override readonly name = "EncodingError";
}

/**
 * Decodes JSON bytes as Python's json.loads does: UTF-8, -16 or -32, told by a byte order mark or by the zero bytes
 * among the first four. Fails with EncodingError.
 */
export function decodeJsonBytes(bytes: Buffer): string {
  // All of the other encodings show a zero or a byte above 0xEE among the first two bytes.
  const [first = 0x20, second = 0x20] = bytes;
  if (first !== 0 && second !== 0 && first < 0xef) return decodeUtf8(bytes);
  const { encoding, mark } = detectEncoding(bytes);
  const body = bytes.subarray(mark);
  if (encoding === "utf-8") return decodeUtf8(body);
  return encoding.startsWith("utf-32") ? decodeUtf32(body, encoding === "utf-32le") : decodeUtf16(body, encoding);
}

/** UTF-8 or nothing: Buffer.toString would put U+FFFD in the place of wrong bytes. */
export function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new EncodingError("not UTF-8");
  return bytes.toString("utf8");
}

type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "utf-32le" | "utf-32be";

/** json/__init__.py, detect_encoding; `mark` is the length of the byte order mark. */
function detectEncoding(bytes: Buffer): { readonly encoding: Encoding; readonly mark: number } {
  const marks: readonly (readonly [string, Encoding])[] = [
    ["0000feff", "utf-32be"],
    ["fffe0000", "utf-32le"],
    ["feff", "utf-16be"],
    ["fffe", "utf-16le"],
    ["efbbbf", "utf-8"],
  ];
  const head = bytes.toString("hex", 0, 4);
  for (const [mark, encoding] of marks) if (head.startsWith(mark)) return { encoding, mark: mark.length / 2 };

  const [a, b, c, d] = bytes;
  if (bytes.length >= 4) {
    if (a === 0) return { encoding: b ? "utf-16be" : "utf-32be", mark: 0 };
    if (b === 0) return { encoding: c || d ? "utf-16le" : "utf-32le", mark: 0 };
  } else if (bytes.length === 2) {
    if (a === 0) return { encoding: "utf-16be", mark: 0 };
    if (b === 0) return { encoding: "utf-16le", mark: 0 };
  }
  return { encoding: "utf-8", mark: 0 };
}

function decodeUtf16(bytes: Buffer, encoding: Encoding): string {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new EncodingError(`not ${encoding}`, { cause });
  }
}

function decodeUtf32(bytes: Buffer, littleEndian: boolean): string {
  if (bytes.length % 4 !== 0) throw new EncodingError("not utf-32");
  // A copy of its own begins where numbers may begin.
  const copy = new Uint8Array(bytes);
  const view = new DataView(copy.buffer);
  const units = new Uint16Array(bytes.length / 2);
  let end = 0;
  for (let at = 0; at < copy.length; at += 4) {
    const point = view.getUint32(at, littleEndian);
    if (point > 0x10ffff) throw new EncodingError("not utf-32");
    if (point > 0xffff) {
      units[end++] = 0xd7c0 + (point >> 10);
      units[end++] = 0xdc00 + (point & 0x3ff);
    } else units[end++] = point;
  }
  return Buffer.from(units.buffer, 0, end * 2).toString("utf16le");
}
