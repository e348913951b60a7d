import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { toFields, tryParseJson } from "../base/object.ts";
import { writeFileAtomic } from "../files/atomic-write.ts";
import { formatFsError, isFsError } from "../files/disk.ts";
import { ExchangeFormatError, parseExchange, type RecordedExchange } from "./exchange.ts";

/** A folder is not a usable corpus. The message states the reason. */
export class CorpusError extends Error {
  override readonly name = "CorpusError";
}

export interface CorpusExchange extends RecordedExchange {
  readonly file: string;
}

export interface TrafficCorpus {
  readonly folder: string;
  /** Exchanges in chronological order. */
  readonly exchanges: readonly CorpusExchange[];
  /** SHA-256 hash of the index, which is different for each corpus. */
  readonly digest: string;
  readonly isEnded: boolean;
}

export const indexFileName = "index.ndjson";
const indexHeader = { format: "svc-corpus", version: 1 };
const maxFileBytes = 128 * 1024 * 1024;
const maxFiles = 100_000;
const exchangeFilePattern = /^\d{5,7}-[\w.-]{1,100}\.exchange\.json$/;

const computeDigest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** First line of an index. */
export const indexHeaderLine = `${JSON.stringify(indexHeader)}\n`;
export const formatIndexEntry = (file: string, text: string): string =>
  `${JSON.stringify({ file, sha256: computeDigest(text) })}\n`;
/** Last line of an index, which marks the corpus as complete. */
export const formatIndexEnd = (count: number): string => `${JSON.stringify({ end: count })}\n`;

/**
 * Reads a whole corpus. Throws CorpusError if it is truncated, edited, of another version, or not a corpus. With
 * `isInterruptedAllowed`, reads an incomplete corpus as far as possible.
 */
export async function readCorpus(folder: string, { isInterruptedAllowed = false } = {}): Promise<TrafficCorpus> {
  const { entries, digest, isEnded } = await readIndex(folder, isInterruptedAllowed);
  if (!isEnded && !isInterruptedAllowed)
    throw new CorpusError(
      `${folder} has no end: its recording was interrupted, or its index was truncated. To finish a recording, repeat its svc verify record`,
    );
  // Any such file can contain secrets, so none is ignored.
  const unlisted = (await listFiles(folder, /\.exchange\.json$/)).filter((file) => !entries.has(file));
  const exchanges: CorpusExchange[] = [];
  for (const file of [...entries.keys(), ...unlisted]) {
    if (isEnded && !entries.has(file))
      throw new CorpusError(
        `${indexFileName} of ${folder} is truncated or edited: it does not list ${file.slice(0, 120)}`,
      );
    const text = await readRegularFile(folder, file, `${folder} is incomplete: ${file} is missing`);
    if (entries.has(file) && entries.get(file) !== computeDigest(text))
      throw new CorpusError(`${file} of ${folder} was edited: it differs from the index`);
    exchanges.push({ ...parseFile(folder, file, () => parseExchange(text)), file });
  }
  return { folder, exchanges: exchanges.sort((a, b) => a.at - b.at || (a.file < b.file ? -1 : 1)), digest, isEnded };
}

/** Reads the index of a corpus: the hashes of its files, in their recorded order. */
export async function readIndex(folder: string, isInterruptedAllowed = false) {
  const { text, lines } = await readIndexText(folder);
  const fail = (reason: string): never => {
    throw new CorpusError(`${indexFileName} of ${folder} ${reason}`);
  };
  if (lines.pop() !== "" && !isInterruptedAllowed) fail("is truncated in its last line");
  if (lines.length > maxFiles) throw new CorpusError(`${folder} has more than ${maxFiles} exchanges`);
  let isEnded = false;
  const entries = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    const { file, sha256, end } = toFields(tryParseJson(line));
    isEnded = end !== undefined;
    const place = `line ${at + 2}`;
    if (isEnded && end !== entries.size)
      fail(`was edited: ${place} declares ${String(end).slice(0, 20)} exchanges, but there are ${entries.size}`);
    if (isEnded) continue;
    if (typeof file !== "string" || !exchangeFilePattern.test(file) || typeof sha256 !== "string")
      return fail(`was edited: ${place} names no exchange`);
    if (entries.has(file)) fail("was edited: it names a file twice");
    entries.set(file, sha256);
  }
  return { entries, digest: computeDigest(text), isEnded };
}

/** Returns the text of an index, with its lines after the first one, which states the format. */
async function readIndexText(folder: string) {
  const text = await readRegularFile(folder, indexFileName, `${folder} is not a corpus: it has no ${indexFileName}`);
  const [first = "", ...lines] = text.split("\n");
  const { format, version } = toFields(tryParseJson(first));
  if (format !== indexHeader.format)
    throw new CorpusError(`${folder} is not a corpus: ${indexFileName} has no valid first line`);
  if (version === indexHeader.version) return { text, lines };
  const shownVersion = String(version).slice(0, 20);
  throw new CorpusError(`${folder} is a corpus of version ${shownVersion}, and this svc reads version 1`);
}

function parseFile<Result>(folder: string, file: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof ExchangeFormatError)) throw cause;
    throw new CorpusError(`${file} of ${folder} cannot be read: ${cause.message}`, { cause });
  }
}

/** Reads a regular file of the folder. Symbolic links can lead anywhere, and devices are endless. */
async function readRegularFile(folder: string, name: string, missing: string): Promise<string> {
  const path = join(folder, name);
  try {
    const about = await lstat(path);
    if (!about.isFile()) throw new CorpusError(`${name} of ${folder} is not a regular file`);
    if (about.size > maxFileBytes) throw new CorpusError(`${name} of ${folder} is larger than 128 MiB`);
    return await readFile(path, "utf8");
  } catch (cause) {
    if (!isFsError(cause)) throw cause;
    const { code } = cause;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    throw new CorpusError(isMissing ? missing : `Cannot read ${path}: ${formatFsError(cause)}`, { cause });
  }
}

const listFiles = async (folder: string, pattern: RegExp): Promise<string[]> =>
  (await readdir(folder)).filter((name) => pattern.test(name)).sort();

/** Lists the files that a recorder wrote. A killed recorder leaves files without an index entry. */
export const listExchangeFiles = (folder: string): Promise<string[]> => listFiles(folder, exchangeFilePattern);

/** Updates the index after files were edited, added or removed manually. */
export async function reindexCorpus(folder: string): Promise<void> {
  await readIndexText(folder);
  const files = await listExchangeFiles(folder);
  const lines: string[] = [];
  for (const file of files) {
    const text = await readRegularFile(folder, file, `${file} is missing`);
    parseFile(folder, file, () => parseExchange(text));
    lines.push(formatIndexEntry(file, text));
  }
  await writeFileAtomic(join(folder, indexFileName), indexHeaderLine + lines.join("") + formatIndexEnd(files.length));
}
