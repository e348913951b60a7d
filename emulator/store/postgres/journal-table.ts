import { svcVersion } from "../../../src/base/version.ts";
import type { DiskFile } from "../../../src/files/disk.ts";
import { beginning, type Line, type Position, parseLine } from "../../../src/files/log-line.ts";
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
        insert into journal (last, first, lines, written_by)
        select ${last}::bigint, ${first}::bigint, ${lines}::text, ${svcVersion} from mine`;
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

interface Group {
  readonly lines: readonly Line[];
  readonly bytes: number;
  /** The next line is missing or damaged. */
  readonly damaged: boolean;
  /** The svc that wrote it; null: one that did not say. */
  readonly writtenBy: string | null;
}

/** The lines behind a place, group by group, as far as each follows the one before. */
export async function* journalLines(sql: Sql | Tx, after: Position): AsyncGenerator<Group, void> {
  let position = after;
  for (let read = after.number; ; ) {
    const rows = await sql`
      select last, lines, written_by from journal where last > ${read} order by last limit ${groupsAtOnce}`;
    for (const row of rows) {
      const bytes = Buffer.from(row.lines as string);
      const lines: Line[] = [];
      let damaged = false;
      for (let at = 0; at < bytes.byteLength && !damaged; ) {
        const end = bytes.indexOf(newline, at);
        const line = parseLine(bytes.subarray(at, end === -1 ? bytes.byteLength : end));
        at = end === -1 ? bytes.byteLength : end + 1;
        // A group may have begun before the base was written.
        if (line && line.number <= position.number) continue;
        damaged = !line || line.number !== position.number + 1 || line.before !== position.checksum;
        if (!line || damaged) continue;
        lines.push(line);
        position = line;
      }
      yield { lines, bytes: bytes.byteLength, damaged, writtenBy: row.written_by };
      if (damaged) return;
    }
    if (rows.length < groupsAtOnce) return;
    read = Number(rows.at(-1)!.last);
  }
}

/** Applies to a state what stands behind a position. Fails with StateRefused where a line is missing or damaged. */
export async function replayJournal(
  sql: Sql | Tx,
  {
    state,
    upgrade,
    after,
    last = Number.POSITIVE_INFINITY,
    isOwn = false,
    shown,
  }: {
    readonly state: State;
    readonly upgrade: Upgrade;
    readonly after: Position | undefined;
    /** The number of the last line that is wanted. */
    readonly last?: number;
    /** Rows of this very version are not looked at again. */
    readonly isOwn?: boolean;
    /** The store, for messages. */
    readonly shown: string;
  },
): Promise<Replayed> {
  let position = after ?? beginning;
  let bytes = 0;
  const damaged = (): never => {
    const which = `line ${position.number + 1} of the journal of the store ${shown} is missing or damaged`;
    throw new StateRefused(`${which}; restore a backup of the database`, { repairable: false });
  };
  for await (const group of journalLines(sql, position)) {
    bytes += group.bytes;
    const isTrusted = isOwn && !upgrade.needed && group.writtenBy === svcVersion;
    for (const { number, checksum, json } of group.lines) {
      if (number > last) return { position, bytes };
      const changes = changesOf((JSON.parse(json) as { readonly changes?: unknown }).changes);
      if (!changes) return damaged();
      applyChecked(state, changes, upgrade, isTrusted);
      position = { number, checksum };
    }
    if (group.damaged) return damaged();
  }
  return { position, bytes };
}
