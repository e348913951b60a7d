import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findOperationAt, type Operation } from "../api/operation.ts";
import { registry } from "../api/registry.ts";
import { createFileAtomic } from "../files/atomic-write.ts";
import { makeFolder } from "../files/folders.ts";
import {
  CorpusError,
  formatIndexEnd,
  formatIndexEntry,
  indexFileName,
  indexHeaderLine,
  listExchangeFiles,
  readIndex,
} from "./corpus.ts";
import {
  formatExchange,
  getHeader,
  parseExchange,
  type RecordedExchange,
  type RecordedResponse,
  type RecordedServer,
} from "./exchange.ts";
import { ExchangeSanitizer } from "./sanitize.ts";
import { StandIns } from "./stand-ins.ts";

/** Exchange whose service and operation can be found by its path. */
export type RawExchange = Omit<RecordedExchange, "callee" | "operation"> &
  Partial<Pick<RecordedExchange, "callee" | "operation">>;

/** Sanitizes exchanges and stores them in a new corpus, or in an interrupted one. */
export class ExchangeRecorder {
  readonly #folder: string;
  readonly #sanitizer: ExchangeSanitizer;
  #count: number;

  private constructor(folder: string, key: Buffer | undefined, count: number) {
    this.#folder = folder;
    this.#sanitizer = new ExchangeSanitizer(new StandIns(key));
    this.#count = count;
  }

  /**
   * Opens a corpus. `key` is the key of the stand-ins. Without a key, a random key exists as long as this object.
   * `isShared` is true if another recorder is writing to the same corpus.
   */
  static async open(folder: string, key?: Buffer, isShared = false): Promise<ExchangeRecorder> {
    await makeFolder(folder);
    if (await createFileAtomic(join(folder, indexFileName), indexHeaderLine))
      return new ExchangeRecorder(folder, key, 0);
    const { entries, isEnded } = await readIndex(folder);
    if (isEnded) throw new CorpusError(`${folder} contains a complete corpus: choose another folder`);
    const recorder = new ExchangeRecorder(folder, key, entries.size);
    if (!isShared) await recorder.#listRemaining(entries);
    return recorder;
  }

  get count(): number {
    return this.#count;
  }

  /** Stores an exchange without its secrets. Resolves with the name of its file. */
  async add(raw: RawExchange): Promise<string> {
    const found = findOperation(raw.request.method, raw.request.target);
    const exchange = this.#sanitizer.sanitizeExchange({
      ...raw,
      callee: raw.callee ?? (found?.service.name as RecordedServer | undefined) ?? "contracts",
      operation: raw.operation ?? found?.id,
      // The time of the service takes precedence, because an emulator has a virtual clock.
      at: findServiceTime(raw.response) ?? raw.at,
    });
    const text = formatExchange(exchange);
    const name = (exchange.operation ?? "undeclared").replace(/[^\w.-]/g, "_").slice(0, 80);
    for (;;) {
      this.#count += 1;
      const file = `${String(this.#count).padStart(5, "0")}-${name}.exchange.json`;
      // Another recorder can write to the same corpus, so the file name can be taken.
      if (!(await createFileAtomic(join(this.#folder, file), text, { durable: false }))) continue;
      await this.#appendToIndex(formatIndexEntry(file, text));
      return file;
    }
  }

  /** Lists the files that a killed recorder left without an index entry. */
  async #listRemaining(entries: ReadonlyMap<string, string>): Promise<void> {
    for (const file of await listExchangeFiles(this.#folder)) {
      if (entries.has(file)) continue;
      const text = await readFile(join(this.#folder, file), "utf8");
      parseExchange(text);
      await this.#appendToIndex(formatIndexEntry(file, text));
      this.#count += 1;
    }
  }

  /** Marks the corpus as complete, after all exchanges are stored. */
  async close(): Promise<void> {
    const { entries } = await readIndex(this.#folder);
    await this.#appendToIndex(formatIndexEnd(entries.size));
  }

  #appendToIndex(line: string): Promise<void> {
    return appendFile(join(this.#folder, indexFileName), line);
  }
}

const recordedOperations = ["contracts", "router", "storage"].map((callee) =>
  (registry as readonly Operation[]).filter(({ service, id }) => service.name === callee && id !== "catch-all"),
);

/**
 * Finds the operation of a request. Ignores a wrong method if the path is declared. Returns undefined if no operation
 * has this path.
 */
function findOperation(method: string, target: string): Operation | undefined {
  const path = target.split("?")[0]!;
  for (const item of [method, "GET", "POST", "PUT", "PATCH", "DELETE"])
    for (const declared of recordedOperations) {
      const operation = findOperationAt(declared, item, path);
      if (operation) return operation;
    }
  return undefined;
}

/** Returns the time of the service's clock in a response, in milliseconds, with the precision of its headers. */
function findServiceTime(response: RecordedResponse): number | undefined {
  const time = Date.parse(getHeader(response, "x-svc-time") ?? getHeader(response, "date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}
