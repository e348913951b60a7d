import { createHash } from "node:crypto";
import { appendFile, lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Mutex } from "../base/mutex.ts";
import { toFields, tryParseJson } from "../base/object.ts";
import { createFileAtomic, writeFileAtomic } from "../files/atomic-write.ts";
import { formatFsError, isFsError } from "../files/disk.ts";
import { makeFolder } from "../files/folders.ts";
import {
  ExchangeFormatError,
  formatExchange,
  parseExchange,
  type RecordedExchange,
  updateBodyLengths,
} from "./exchange.ts";

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
const indexHeader = { format: "svc-corpus", version: 1 } as const;
const maxFileBytes = 32 * 1024 * 1024;
const maxFiles = 100_000;
const exchangeFilePattern = /^\d{5,7}-[\w.-]{1,100}\.http$/;

const computeDigest = (text: string | Buffer): string => createHash("sha256").update(text).digest("hex");

interface IndexEntry {
  readonly file: string;
  readonly sha256: string;
}

const formatEntry = (file: string, text: string): string =>
  `${JSON.stringify({ file, sha256: computeDigest(text) })}\n`;

/**
 * Reads a whole corpus. Throws CorpusError if it is truncated, edited, of another version, or not a corpus. With
 * `isInterruptedAllowed`, reads an incomplete corpus as far as possible.
 */
export async function readCorpus(folder: string, { isInterruptedAllowed = false } = {}): Promise<TrafficCorpus> {
  const { entries, digest, isEnded } = await readIndex(folder, isInterruptedAllowed);
  if (!isEnded && !isInterruptedAllowed) {
    throw new CorpusError(`${folder} has no end: its recording was interrupted, or its index was truncated`);
  }
  const exchanges: CorpusExchange[] = [];
  for (const entry of entries) exchanges.push(await readExchange(folder, entry.file, entry.sha256));
  // Any `.http` file can contain secrets, so none is ignored.
  const unlisted = await listFiles(folder, /\.http$/, entries);
  if (isEnded && unlisted.length > 0)
    throw new CorpusError(
      `${indexFileName} of ${folder} is truncated or edited: it does not list ${unlisted[0]!.slice(0, 120)}`,
    );
  for (const file of unlisted) exchanges.push(await readExchange(folder, file));
  return { folder, exchanges: exchanges.sort((a, b) => a.at - b.at || (a.file < b.file ? -1 : 1)), digest, isEnded };
}

/** Reads the lines of an index after its first line, which states the format. */
async function readIndexLines(folder: string): Promise<{ text: string; lines: string[] }> {
  const text = await readRegularFile(folder, indexFileName, `${folder} is not a corpus: it has no ${indexFileName}`);
  const [first = "", ...lines] = text.split("\n");
  const { format, version } = toFields(tryParseJson(first));
  if (format !== indexHeader.format)
    throw new CorpusError(`${folder} is not a corpus: ${indexFileName} has no valid first line`);
  if (version === indexHeader.version) return { text, lines };
  const shownVersion = String(version).slice(0, 20);
  throw new CorpusError(`${folder} is a corpus of version ${shownVersion}, and this svc reads version 1`);
}

async function readIndex(folder: string, isInterruptedAllowed = false) {
  const { text, lines } = await readIndexLines(folder);
  const fail = (reason: string): never => {
    throw new CorpusError(`${indexFileName} of ${folder} ${reason}`);
  };
  if (lines.pop() !== "" && !isInterruptedAllowed) fail("is truncated in its last line");
  if (lines.length > maxFiles) throw new CorpusError(`${folder} has more than ${maxFiles} exchanges`);
  let isEnded = false;
  const entries: IndexEntry[] = [];
  for (const [at, line] of lines.entries()) {
    const { file, sha256, end } = toFields(tryParseJson(line));
    isEnded = end !== undefined;
    if (isEnded) {
      const declared = `line ${at + 2} declares ${String(end).slice(0, 20)} exchanges, but there are ${entries.length}`;
      if (end !== entries.length) fail(`was edited: ${declared}`);
    } else if (typeof file !== "string" || !exchangeFilePattern.test(file) || typeof sha256 !== "string")
      fail(`was edited: line ${at + 2} names no exchange`);
    else entries.push({ file, sha256 });
  }
  if (new Set(entries.map(({ file }) => file)).size < entries.length) fail("was edited: it names a file twice");
  return { entries, digest: computeDigest(text), isEnded };
}

async function readExchange(folder: string, file: string, sha256?: string): Promise<CorpusExchange> {
  const text = await readRegularFile(folder, file, `${folder} is incomplete: ${file} is missing`);
  if (sha256 !== undefined && computeDigest(text) !== sha256)
    throw new CorpusError(`${file} of ${folder} was edited: it differs from the index`);
  return { ...parseFile(folder, file, () => parseExchange(text)), file };
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
    if (about.size > maxFileBytes) throw new CorpusError(`${name} of ${folder} is larger than 32 MiB`);
    return await readFile(path, "utf8");
  } catch (cause) {
    if (!isFsError(cause)) throw cause;
    const { code } = cause;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    throw new CorpusError(isMissing ? missing : `Cannot read ${path}: ${formatFsError(cause)}`, { cause });
  }
}

/** Lists the files with a matching name, except those of the given entries. */
async function listFiles(folder: string, pattern: RegExp, entries: readonly IndexEntry[] = []): Promise<string[]> {
  const known = new Set(entries.map(({ file }) => file));
  return (await readdir(folder)).filter((name) => pattern.test(name) && !known.has(name)).sort();
}

/** Writes a corpus one exchange at a time, or continues an interrupted corpus. */
export class CorpusWriter {
  readonly #folder: string;
  #count: number;
  readonly #mutex = new Mutex();

  private constructor(folder: string, count: number) {
    this.#folder = folder;
    this.#count = count;
  }

  /**
   * Creates the folder, or continues the corpus in it. `isShared` is true if another recorder is writing to the same
   * corpus.
   */
  static async open(folder: string, isShared = false): Promise<CorpusWriter> {
    await makeFolder(folder);
    const isNew = await createFileAtomic(join(folder, indexFileName), `${JSON.stringify(indexHeader)}\n`);
    if (isNew) return new CorpusWriter(folder, 0);
    const { entries, isEnded } = await readIndex(folder);
    if (isEnded) throw new CorpusError(`${folder} contains a complete corpus: choose another folder`);
    const writer = new CorpusWriter(folder, entries.length);
    if (!isShared) await writer.#addUnlisted(entries);
    return writer;
  }

  get count(): number {
    return this.#count;
  }

  /** Stores a sanitized exchange. Resolves with the name of its file. */
  add(exchange: RecordedExchange): Promise<string> {
    return this.#mutex.runExclusive(() => this.#add(exchange));
  }

  async #add(exchange: RecordedExchange): Promise<string> {
    const text = formatExchange(exchange);
    const name = (exchange.operation ?? "undeclared").replace(/[^\w.-]/g, "_").slice(0, 80);
    for (;;) {
      this.#count += 1;
      const file = `${String(this.#count).padStart(5, "0")}-${name}.http`;
      // Another recorder can write to the same corpus, so the file name can be taken.
      if (!(await createFileAtomic(join(this.#folder, file), text, { durable: false }))) continue;
      await this.#list(file, text);
      return file;
    }
  }

  /** Adds files without an index entry. A killed recorder leaves such files. */
  async #addUnlisted(entries: readonly IndexEntry[]): Promise<void> {
    for (const file of await listFiles(this.#folder, exchangeFilePattern, entries)) {
      const text = await readFile(join(this.#folder, file), "utf8");
      parseExchange(text);
      await this.#list(file, text);
      this.#count += 1;
    }
  }

  #list(file: string, text: string): Promise<void> {
    return appendFile(join(this.#folder, indexFileName), formatEntry(file, text));
  }

  /** Marks the corpus as complete in the index. */
  async close(): Promise<void> {
    await this.#mutex.waitUntilIdle();
    const { entries } = await readIndex(this.#folder);
    await appendFile(join(this.#folder, indexFileName), `${JSON.stringify({ end: entries.length })}\n`);
  }
}

/** Updates the lengths of bodies and the index after files were edited, added or removed manually. */
export async function reindexCorpus(folder: string): Promise<void> {
  await readIndexLines(folder);
  const files = await listFiles(folder, exchangeFilePattern);
  const lines: string[] = [];
  for (const file of files) {
    const text = await readRegularFile(folder, file, `${file} is missing`);
    const measured = isParsable(text) ? text : parseFile(folder, file, () => updateBodyLengths(text));
    parseFile(folder, file, () => parseExchange(measured));
    if (measured !== text) await writeFileAtomic(join(folder, file), measured);
    lines.push(formatEntry(file, measured));
  }
  const end = JSON.stringify({ end: files.length });
  await writeFileAtomic(join(folder, indexFileName), `${JSON.stringify(indexHeader)}\n${lines.join("")}${end}\n`);
}

function isParsable(text: string): boolean {
  try {
    parseExchange(text);
    return true;
  } catch {
    return false;
  }
}
