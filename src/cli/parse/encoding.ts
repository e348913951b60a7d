import { isUtf8 } from "node:buffer";
import { UsageError } from "../process/failure.ts";

export const defaultOtherEncoding = "WINDOWS-1252";

/** Guesses the encoding of an input that is not UTF-8. Without a byte order mark, UTF-16 has a NUL in each letter. */
export function guessOtherEncoding(beginning: Buffer): string {
  const head = beginning.toString("hex", 0, 4);
  if (/^(?:fffe|feff)/.test(head)) return "UTF-16";
  if (/^(?!00)..00(?!00)..00$/.test(head)) return "UTF-16LE";
  return /^00(?!00)..00(?!00)..$/.test(head) ? "UTF-16BE" : defaultOtherEncoding;
}

export const formatConversionHint = (encoding: string): string =>
  `Convert it to UTF-8. From ${encoding}: iconv -f ${encoding} -t UTF-8 FILE`;

export const stripByteOrderMark = (text: string): string => text.replace(/^\ufeff/, "");

/** Throws a UsageError if the bytes are not UTF-8. Decoding them anyway would send replacement characters. */
export function decodeText(bytes: Buffer, path: string, flag: string): string {
  const encoding = guessOtherEncoding(bytes);
  const isUtf16 = encoding !== defaultOtherEncoding;
  if (!isUtf16 && isUtf8(bytes)) return stripByteOrderMark(bytes.toString("utf8"));
  // Other bytes with a NUL are no text.
  const hint = isUtf16 || !bytes.includes(0) ? formatConversionHint(encoding) : undefined;
  throw new UsageError(`${flag}: ${formatSource(path)} is not UTF-8`, { hint });
}

export const formatSource = (path: string): string => (path === "-" ? "standard input" : path);
