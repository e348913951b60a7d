import type { WallClock } from "../../../src/base/clock.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { type CheckpointHead, findCheckpointHead, formatCheckpoint, maxHeadBytes } from "../journal/checkpoint.ts";
import { formatCommitLine } from "../journal/journal-line.ts";
import { JournaledLog, type JournaledLogOptions } from "../journal/journaled-log.ts";
import type { Segment } from "../journal/stored-history.ts";
import type { State } from "../live/state.ts";
import { StoreChangedError, StoreFailedError, UnconfirmedWriteError } from "../port.ts";
import { createWriteError, type Database, isResponseLost } from "./database.ts";
import { type CheckpointDocument, readDocument, trimDocuments, writeDocument } from "./documents.ts";
import { createLineCheck, createLinesMissingError, JournalTable, readJournal } from "./journal-table.ts";
import type { Leadership } from "./leadership.ts";

interface PostgresLogOptions extends JournaledLogOptions {
  readonly database: Database;
  readonly leadership: Leadership;
  /** The position of the last line in the database. */
  readonly position: LogPosition;
  /** Size of the lines after the checkpoint. */
  readonly journalBytes: number;
  readonly leaseWall: WallClock;
  readonly base: CheckpointDocument;
}

/** Checkpoint and journal in PostgreSQL, in the same format as in files. */
export class PostgresLog extends JournaledLog {
  readonly #options: PostgresLogOptions;
  readonly #table: JournalTable;
  #base: CheckpointDocument;
  /** Length of the journal at the checkpoint, negative if an earlier run wrote the lines before it. */
  #checkpointEnd: number;
  /** True if a statement that replaced the state has no response. */
  #isUncertain = false;
  /** Set when another program has changed the contents. */
  #changed: StoreChangedError | undefined;

  constructor(options: PostgresLogOptions) {
    const { database, leadership, position, base, journalBytes, leaseWall } = options;
    const table = new JournalTable(database, leadership, { durable: position.number, wall: leaseWall });
    const { displayUrl } = database;
    super(displayUrl, options, {
      ...{ path: `The store ${displayUrl}`, file: table, length: 0, position },
      createUnconfirmedError: ({ message }, cause) =>
        isResponseLost(cause) ? new UnconfirmedWriteError(message, { cause }) : undefined,
    });
    this.#options = options;
    this.#table = table;
    this.#base = base;
    this.#checkpointEnd = -journalBytes;
    leadership.waitingSince = () => table.waitingSince;
    void leadership.lost.then(() => this.journal.fail(`Another process leads the store ${displayUrl} now`, undefined));
  }

  override get failure(): StoreFailedError | undefined {
    return this.journal.failure && (this.#changed ?? this.journal.failure);
  }

  protected get checkpointBytes(): number {
    return this.#base.bytes;
  }

  protected get journalBytes(): number {
    return this.journal.length - this.#checkpointEnd;
  }

  protected describeConsequences(failure: StoreFailedError): string {
    const isLasting = this.#options.leadership.isLost || failure instanceof StoreChangedError;
    return isLasting ? "" : ". Pending changes fail. Writing resumes when the database accepts data again";
  }

  async replace(state: State, past: LogPosition | undefined, moment = this.#options.getMoment()): Promise<void> {
    this.cancelCompaction();
    // The line has no changes. With it, no line number stands for both the replaced state and the new state.
    await this.journal.append(formatCommitLine([], undefined, this.#options.getMoment()));
    let isReplacing = false;
    try {
      await this.#writeCheckpoint(state, { past, moment }, async () => {
        isReplacing = true;
      });
    } catch (cause) {
      const reason = `The store ${this.#options.database.displayUrl} cannot be replaced: ${(cause as Error).message}`;
      if (!isReplacing) throw this.failure ?? new StoreFailedError(reason, { cause });
      // It is unknown which of the two states was stored, so the present state is written again before any other line.
      this.#isUncertain = true;
      this.journal.fail(reason, cause, true);
      throw createWriteError(reason, cause);
    }
  }

  /** Retries in a new epoch, after it deletes lines of the previous epoch without a response. */
  async retryWrite(state: State): Promise<boolean> {
    const { leadership, database, report } = this.#options;
    if (leadership.isLost) return false;
    await this.waitForCompaction();
    try {
      const { durable } = this.#table;
      await leadership.renew(durable);
      const [lineCheck] = await database.pool`select ${createLineCheck(database.pool, durable)} as is_there`;
      if (lineCheck!.is_there !== true) return this.#isChanged();
      if (this.#isUncertain) await this.#writeCheckpoint(state);
      this.#isUncertain = false;
      this.#changed = undefined;
      await this.journal.resume();
    } catch {
      return false;
    }
    report(`The store ${database.displayUrl} can be written again`);
    return true;
  }

  #isChanged(): false {
    const { database, report } = this.#options;
    const isKnown = this.failure instanceof StoreChangedError;
    this.#changed ??= createLinesMissingError(database.displayUrl);
    if (!isKnown) report(this.#changed.message);
    return false;
  }

  async close(): Promise<void> {
    await this.waitForCompaction();
    await this.waitUntilFlushed().catch(() => {});
    await this.journal.close();
    await this.#options.leadership.release();
    await this.#options.database.close();
  }

  protected compact(state: State, signal: AbortSignal): Promise<void> {
    const beforePlacing = async () => {
      signal.throwIfAborted();
      // The snapshot may include lines that are still being written.
      await this.waitUntilFlushed();
    };
    return this.#writeCheckpoint(state, {}, beforePlacing, (work) => this.inspect(work));
  }

  /** Lists the history, oldest first. The last segment belongs to the present checkpoint. */
  protected async listSegments(): Promise<Segment[]> {
    const { pool } = this.#options.database;
    const bases = await pool`
      select id, left(lines, ${maxHeadBytes}) as beginning from documents join pieces on document = id and piece = 0
      where kind = 'base' and whole order by id`;
    return bases.flatMap(({ id, beginning }): Segment[] => {
      const head = findCheckpointHead(beginning);
      if (!head) return [];
      return [
        {
          head,
          readBase: () => readDocument(pool, id),
          async visitLines(visit) {
            for await (const { lines, writtenBy } of readJournal(pool, head.position)) {
              for (const line of lines) if (!visit(line.json, line, writtenBy)) return;
            }
          },
        },
      ];
    });
  }

  async #writeCheckpoint(
    state: State,
    head: Partial<CheckpointHead> = {},
    beforePlacing = async () => {},
    runStep?: Parameters<typeof formatCheckpoint>[2],
  ): Promise<void> {
    let { position, length } = this.journal;
    const { getMoment, historyBytes, report, database, leadership } = this.#options;
    const getHead = () => {
      ({ position, length } = this.journal);
      return { generation: 0, position, past: position, moment: getMoment(), ...head };
    };
    let release = () => {};
    const beforeLastPiece = async () => {
      release = await this.checkpointMutex.acquire();
      await beforePlacing();
    };
    try {
      const document = formatCheckpoint(state, getHead, runStep);
      const { id } = this.#base;
      this.#base = await writeDocument(database, leadership, withEnd(document, beforeLastPiece), {
        kind: "base",
        getPosition: () => ({ lastLine: position.number, previous: { id, followedBy: length - this.#checkpointEnd } }),
      });
      this.#checkpointEnd = length;
      await trimDocuments(database, leadership, this.#base.id, historyBytes).catch((cause) => {
        report(`the history of the store ${database.displayUrl} is not trimmed: ${(cause as Error).message}`);
      });
    } finally {
      release();
    }
  }
}

async function* withEnd(
  pieces: AsyncIterable<Uint8Array>,
  callback: () => Promise<void>,
): AsyncGenerator<Uint8Array, void> {
  yield* pieces;
  await callback();
}

/** Reads all strings of the history and of the present state. A rewind may need the uploads that they name. */
export async function* readHistoryStrings({ pool }: Pick<Database, "pool">): AsyncGenerator<string, void> {
  const bases = await pool`select id from documents where kind = 'base' and whole order by id`;
  for (const { id } of bases) for await (const bytes of readDocument(pool, id)) yield bytes.toString("utf8");
  for (let lastRead: string | undefined = "-1"; lastRead !== undefined; ) {
    const [row]: { last: string; lines: string }[] = await pool`
      select last, lines from journal where last > ${lastRead} order by last limit 1`;
    if (row) yield row.lines;
    lastRead = row?.last;
  }
}
