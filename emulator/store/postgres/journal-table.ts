import type { DiskFile } from "../../../src/files/disk.ts";
import { beginning, type Position, parseLine } from "../../../src/files/log-line.ts";
import { applyChecked } from "../file/journal/checked-changes.ts";
import { changesOf } from "../live/journal-changes.ts";
import type { State } from "../live/state.ts";
import type { Upgrade } from "../live/versions.ts";
import { StateRefused } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import type { Leadership } from "./leadership.ts";

/** How many groups are read at a time. */
const groupsAtOnce = 64;

const newline = "\n";

/**
 * The journal as the file that `AppendLog` writes to. A group is one statement, which counts what it has written: nothing
 * when another process leads. So it is durable once it is written, and what was not counted is cut off by `Leadership.renew`.
 */
export class JournalTable implements DiskFile {
  readonly #database: Database;
  readonly #leadership: Leadership;
  readonly #now: () => number;
  /** The number of the last line that is known to be there. */
  durable: number;
  waitingSince: number | undefined;

  constructor(database: Database, leadership: Leadership, { durable, now }: { durable: number; now: () => number }) {
    this.#database = database;
    this.#leadership = leadership;
    this.durable = durable;
    this.#now = now;
  }

  async write(bytes: Buffer): Promise<void> {
    const lines = bytes.toString("utf8");
    const first = numberAt(lines, 0);
    const last = numberAt(lines, lines.lastIndexOf(newline, lines.length - 2) + 1);
    this.waitingSince = this.#now();
    try {
      const { count } = await this.#database.session`
        with mine as (select from leadership where epoch = ${this.#leadership.epoch} for share)
        insert into journal (last, first, lines) select ${last}::bigint, ${first}::bigint, ${lines}::text from mine`;
      if (count !== 1) throw this.#leadership.fencedOff();
      this.durable = last;
    } finally {
      this.waitingSince = undefined;
    }
  }

  /** They came with the answer, or will be cut off. */
  async datasync(): Promise<void> {}
  async sync(): Promise<void> {}
  async truncate(): Promise<void> {}
  async close(): Promise<void> {}

  read(): Promise<number> {
    return Promise.reject(new Error("A journal in a database is read by readJournalRows"));
  }

  size(): Promise<number> {
    return this.read();
  }
}

const numberAt = (lines: string, at: number): number =>
  Number(/^[0-9a-f]{8} [0-9a-f]{8} (\d{1,15}) /.exec(lines.slice(at, at + 40))?.[1]);

/** What is applied of a journal, and where it ends. */
export interface Replayed {
  readonly position: Position;
  /** Of the lines that were read. */
  readonly bytes: number;
}

/** Applies to a state what stands behind a position. Fails with StateRefused where a line is missing or damaged. */
export async function replayJournal(
  sql: Sql | Tx,
  {
    state,
    upgrade,
    after,
    shown,
  }: {
    readonly state: State;
    readonly upgrade: Upgrade;
    readonly after: Position | undefined;
    /** The store, for messages. */
    readonly shown: string;
  },
): Promise<Replayed> {
  let position = after ?? beginning;
  let bytes = 0;
  for (let read = position.number; ; ) {
    const rows = await sql`
      select last, lines from journal where last > ${read} order by last limit ${groupsAtOnce}`;
    for (const { lines } of rows) {
      bytes += lines.length;
      for (const text of (lines as string).split(newline)) if (text !== "") take(text);
    }
    if (rows.length < groupsAtOnce) return { position, bytes };
    read = Number(rows.at(-1)!.last);
  }

  function take(text: string): void {
    const line = parseLine(Buffer.from(text));
    // A group may have begun before the base was written.
    if (line && line.number <= position.number) return;
    const changes = changesOf((JSON.parse(line?.json ?? "{}") as { readonly changes?: unknown }).changes);
    if (!line || !changes || line.number !== position.number + 1 || line.before !== position.checksum) {
      const which = `line ${position.number + 1} of the journal of the store ${shown} is missing or damaged`;
      throw new StateRefused(`${which}; restore a backup of the database`, { repairable: false });
    }
    applyChecked(state, changes, upgrade);
    position = { number: line.number, checksum: line.checksum };
  }
}
