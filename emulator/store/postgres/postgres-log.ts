import type { WallClock } from "../../../src/base/clock.ts";
import { AppendLog } from "../../../src/files/append-log.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import {
  type CheckpointOptions,
  findCheckpointHead,
  formatCheckpoint,
  maxHeadLength,
} from "../file/checkpoint-file.ts";
import { commitLine } from "../file/history-files.ts";
import { type Segment, StoredHistory } from "../file/stored-history.ts";
import type { CommitLog } from "../live/commits.ts";
import { Compaction } from "../live/compaction.ts";
import { Mutex } from "../live/read-write-lock.ts";
import type { Change, State } from "../live/state.ts";
import { type Collection, type History, type Moment, StoreChangedError, StoreFailedError } from "../port.ts";
import type { Database } from "./database.ts";
import {
  type CheckpointDocument,
  checkpointName,
  type Documents,
  documentBytes,
  parseCheckpointDocument,
} from "./documents.ts";
import {
  createLinesMissingError,
  JournalLines,
  JournalTable,
  journalLines,
  lineExists,
  replayJournal,
} from "./journal-table.ts";
import type { Leadership } from "./leadership.ts";

interface Options {
  readonly database: Database;
  readonly leadership: Leadership;
  readonly documents: Documents;
  /** The end of the lines in the database. */
  readonly position: LogPosition;
  /** Bytes of the lines behind the checkpoint. */
  readonly journalBytes: number;
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  /** Limit in bytes of the stored history. */
  readonly historyBytes: number;
  readonly base: CheckpointDocument;
  /** Fields of each line in addition to its changes. */
  readonly moment: () => Moment;
  readonly now: () => number;
  /** A checkpoint is written when the lines behind the last one are more than this and than that one. */
  readonly compactAfterBytes: number;
  readonly report: (message: string) => void;
}

type Inspect = <T>(work: (state: State) => T) => Promise<T>;

/** Base and journal in PostgreSQL, in the form that they have in files. */
export class PostgresLog implements CommitLog {
  readonly history: History | undefined;
  readonly #options: Options;
  readonly #table: JournalTable;
  readonly #journal: AppendLog<StoreFailedError>;
  #inspect: Inspect = () => Promise.reject(new Error("not attached"));
  #failed: () => void = () => {};
  #base: CheckpointDocument;
  /** Number of bytes written at the time of the checkpoint: earlier positions are negative. */
  #baseAt: number;
  readonly #compaction: Compaction;
  /** Reads and changes of the list of checkpoints: one at a time. */
  readonly #placing = new Mutex();
  /** Whether a response is missing to a statement that put another state instead of this one. */
  #isUncertain = false;
  /** Found when it was to be written again. */
  #changed: StoreChangedError | undefined;

  constructor(options: Options) {
    const { database, leadership, position, base, journalBytes, compactAfterBytes, now, report } = options;
    this.#options = options;
    this.#base = base;
    this.#baseAt = -journalBytes;
    this.#compaction = new Compaction({
      name: database.shown,
      compactAfterBytes,
      write: (mayGoOn) => this.#compact(mayGoOn),
      failure: () => this.failure,
      report,
    });
    this.#table = new JournalTable(database, leadership, { durable: position.number, now });
    leadership.waitingSince = () => this.#table.waitingSince;
    this.#journal = new AppendLog({
      path: `The store ${database.shown}`,
      file: this.#table,
      length: 0,
      position,
      failure: (reason, cause) =>
        cause instanceof StoreChangedError ? cause : new StoreFailedError(reason, { cause }),
      onFailure: (failure) => {
        const isLasting = leadership.isLost || failure instanceof StoreChangedError;
        const next = isLasting ? "" : ". Pending changes fail. Writing resumes when the database accepts data again";
        report(`${failure.message}${next}`);
        this.#failed();
      },
    });
    if (options.historyBytes > 0) {
      this.history = new StoredHistory({
        ...options,
        place: () => this.#journal.position,
        flushed: () => this.#journal.waitUntilDurable(),
        segments: () => postgresSegments(database),
        undisturbed: (work) => this.#placing.runExclusive(work),
      });
    }
    void leadership.lost.then(() =>
      this.#journal.fail(`Another process leads the store ${database.shown} now`, undefined),
    );
  }

  /** Sets how to read the state while no transaction is open; call it before anything else. */
  attach(inspect: Inspect): void {
    this.#inspect = inspect;
  }

  get failure(): StoreFailedError | undefined {
    return this.#journal.failure && (this.#changed ?? this.#journal.failure);
  }

  onFailure(failed: () => void): void {
    this.#failed = failed;
  }

  flushed(): Promise<void> {
    return this.#journal.waitUntilDurable();
  }

  append(changes: readonly Change[], cause: string | undefined): Promise<void> {
    const durable = this.#journal.append(commitLine(changes, cause, this.#options.moment()));
    this.#compaction.consider(this.#journal.length - this.#baseAt, this.#base.bytes);
    return durable;
  }

  async replace(state: State, past: LogPosition | undefined, moment = this.#options.moment()): Promise<void> {
    this.#compaction.overtake();
    // A line without changes: so that no line stands for two states, the replaced one and the new one.
    await this.#journal.append(commitLine([], undefined, this.#options.moment()));
    let isPlacing = false;
    try {
      await this.#writeCheckpoint(state, { past: () => past, moment: () => moment, isOther: true }, async () => {
        isPlacing = true;
      });
    } catch (cause) {
      if (this.failure) throw this.failure;
      const reason = `The store ${this.#options.database.shown} cannot be replaced: ${(cause as Error).message}`;
      if (!isPlacing) throw new StoreFailedError(reason, { cause });
      // It is unknown which of the two states was stored: the one that continues is written again before anything
      // follows it.
      this.#isUncertain = true;
      throw this.#journal.fail(reason, cause, true);
    }
  }

  /** Lines without a response are cut off, in a new epoch, in which lines of the previous one can no longer arrive. */
  async retryWrite(state: State): Promise<boolean> {
    const { leadership, database, report } = this.#options;
    if (leadership.isLost) return false;
    await this.#compaction.ended();
    try {
      const { durable } = this.#table;
      await leadership.renew(durable);
      const [found] = await database.pool`select ${lineExists(database.pool, durable)} as is_there`;
      if (found!.is_there !== true) return this.#isChanged();
      if (this.#isUncertain) await this.#writeCheckpoint(state, { isOther: true });
      this.#isUncertain = false;
      this.#changed = undefined;
      await this.#journal.resume();
    } catch {
      return false;
    }
    report(`The store ${database.shown} can be written again`);
    return true;
  }

  #isChanged(): false {
    const { database, report } = this.#options;
    const isKnown = this.failure instanceof StoreChangedError;
    this.#changed ??= createLinesMissingError(database.shown);
    if (!isKnown) report(this.#changed.message);
    return false;
  }

  async close(): Promise<void> {
    await this.#compaction.ended();
    await this.#journal.waitUntilDurable().catch(() => {});
    await this.#journal.close();
    await this.#options.leadership.release();
    await this.#options.database.close();
  }

  /** Writes a checkpoint while transactions continue. */
  async #compact(mayGoOn: () => void): Promise<void> {
    const state = await this.#inspect((current) => current);
    await this.#writeCheckpoint(state, { step: (work) => this.#inspect(work) }, async () => {
      mayGoOn();
      // The picture shows lines that may still be on their way.
      await this.#journal.waitUntilDurable();
    });
  }

  /** `isOther`: it differs from the checkpoint and its lines. */
  async #writeCheckpoint(
    state: State,
    { isOther = false, ...options }: CheckpointOptions & { readonly isOther?: boolean } = {},
    placing = async () => {},
  ): Promise<void> {
    let at = this.#journal.position;
    let writtenThen = this.#journal.length;
    const position = () => {
      at = this.#journal.position;
      writtenThen = this.#journal.length;
      return at;
    };
    const { moment, documents, historyBytes, report, database } = this.#options;
    let leave = () => {};
    const atEnd = async () => {
      leave = await this.#placing.acquire();
      await placing();
    };
    try {
      const document = formatCheckpoint(state, 0, { past: () => at, moment, ...options, position });
      const { id, lineage } = this.#base;
      const written = await documents.write(withEnd(document, atEnd), {
        kind: "base",
        name: (own) => (isOther ? own : checkpointName(lineage, own)),
        base: () => ({ lastLine: at.number, before: { id, followedBy: writtenThen - this.#baseAt } }),
      });
      this.#base = parseCheckpointDocument(written);
      this.#baseAt = writtenThen;
      await documents.trim(this.#base.id, historyBytes).catch((cause) => {
        report(`the history of the store ${database.shown} is not trimmed: ${(cause as Error).message}`);
      });
    } finally {
      leave();
    }
  }
}

async function* withEnd(
  pieces: AsyncIterable<Uint8Array>,
  atEnd: () => Promise<void>,
): AsyncGenerator<Uint8Array, void> {
  yield* pieces;
  await atEnd();
}

/** Tables of the history of a state, oldest first; the last one is that of the present checkpoint. */
async function postgresSegments({ pool, shown }: Pick<Database, "pool" | "shown">): Promise<Segment[]> {
  const bases = await pool`
    select id, left(lines, ${maxHeadLength}) as beginning from documents join pieces on document = id and piece = 0
    where kind = 'base' and whole order by id`;
  return bases.flatMap(({ id, beginning }): Segment[] => {
    const head = findCheckpointHead(beginning);
    if (!head) return [];
    const { position } = head;
    return [
      {
        head,
        base: () => documentBytes(pool, id),
        async lines(take) {
          for await (const lines of journalLines(pool, position)) {
            for (const line of lines) if (!take(line.json, line)) return;
          }
        },
        async replay({ state, upgrade }, last) {
          if (last === position.number) return;
          await replayJournal(pool, new JournalLines({ state, upgrade, after: position, last, isOwn: true, shown }));
        },
      },
    ];
  });
}

/** All strings of the history, and of the present state: a rewind may need the uploads that they name. */
export async function* readHistoryStrings({ pool }: Pick<Database, "pool">): AsyncGenerator<string, void> {
  const bases = await pool`select id from documents where kind = 'base' and whole order by id`;
  for (const { id } of bases) for await (const bytes of documentBytes(pool, id)) yield bytes.toString("utf8");
  for (let read: string | undefined = "-1"; read !== undefined; ) {
    const [row]: { last: string; lines: string }[] = await pool`
      select last, lines from journal where last > ${read} order by last limit 1`;
    if (row) yield row.lines;
    read = row?.last;
  }
}
