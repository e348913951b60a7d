import type postgres from "postgres";
import type { WallClock } from "../../../src/base/clock.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { DiskFile } from "../../../src/files/disk.ts";
import { type LogPosition, type ParsedLine, parseLine, startPosition } from "../../../src/files/log-line.ts";
import { applyChecked } from "../file/journal.ts";
import { parseChanges, type State } from "../live/state.ts";
import type { Upgrade } from "../live/versions.ts";
import { StateFormatError, StoreChangedError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import type { Leadership } from "./leadership.ts";

const groupsAtOnce = 64;

const newline = "\n";

/**
 * The journal as a file for `AppendLog`. A group is one statement that counts the written lines and writes nothing when
 * another process leads. So it is durable after it is written, and `Leadership.renew` deletes lines without a response.
 */
export class JournalTable implements DiskFile {
  readonly #database: Database;
  readonly #leadership: Leadership;
  readonly #wall: WallClock;
  durable: number;
  waitingSince: number | undefined;

  constructor(database: Database, leadership: Leadership, { durable, wall }: { durable: number; wall: WallClock }) {
    this.#database = database;
    this.#leadership = leadership;
    this.durable = durable;
    this.#wall = wall;
  }

  async write(bytes: Buffer): Promise<void> {
    const lines = bytes.toString("utf8");
    const first = parseNumberAt(lines, 0);
    const last = parseNumberAt(lines, lines.lastIndexOf(newline, lines.length - 2) + 1);
    this.waitingSince = this.#wall.now();
    const { session, shown } = this.#database;
    try {
      const [done] = await session`
        with mine as (select from leadership where epoch = ${this.#leadership.epoch} for share),
        written as (
          insert into journal (last, first, lines, written_by)
          select ${last}::bigint, ${first}::bigint, ${lines}::text, ${svcVersion} from mine
          where ${createLineCheck(session, first - 1)} returning last
        )
        select (select count(*)::int from mine) as mine, (select count(*)::int from written) as written`;
      if (done!.mine === 0) throw this.#leadership.createFencedError();
      if (done!.written === 0) throw createLinesMissingError(shown);
      this.durable = last;
    } finally {
      this.waitingSince = undefined;
    }
  }

  /** Lines are durable with their response, or are deleted later. */
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

export const createLineCheck = (sql: Sql, line: number): postgres.Fragment => sql`${line}::bigint = coalesce(
  (select last from journal where last = ${line}),
  (select max(last_line) from documents where kind = 'base' and whole))`;

export const createLinesMissingError = (shown: string): StoreChangedError =>
  new StoreChangedError(
    `The store ${shown} has lost acknowledged lines, or was restored from an older dump. Nothing is ` +
      "written to it. Restart every process to continue with its contents. Before that, save the state in this process's " +
      "memory: svc emulator state export",
  );

const parseNumberAt = (lines: string, at: number): number =>
  Number(/^[0-9a-f]{8} [0-9a-f]{8} (\d{1,15}) /.exec(lines.slice(at, at + 40))?.[1]);

interface Group {
  readonly last: string;
  readonly lines: string;
  /** The version of svc that wrote it. Null if it is unknown. */
  readonly written_by: string | null;
}

/** Reads all groups after a line, in order. */
async function* readGroupsAfter(sql: Sql | Tx, line: number): AsyncGenerator<Group, void> {
  for (let read = line; ; ) {
    const rows = await sql<Group[]>`
      select last, lines, written_by from journal where last > ${read} order by last limit ${groupsAtOnce}`;
    yield* rows;
    if (rows.length < groupsAtOnce) return;
    read = Number(rows.at(-1)!.last);
  }
}

/** Parses the lines of a group after a position, as far as each follows the previous one. */
function parseLines(
  group: string,
  after: LogPosition,
): { readonly lines: readonly ParsedLine[]; readonly isDamaged: boolean } {
  const lines: ParsedLine[] = [];
  let { number, checksum } = after;
  const bytes = Buffer.from(group);
  for (let at = 0; at < bytes.byteLength; ) {
    const end = bytes.indexOf(newline, at);
    const line = parseLine(bytes.subarray(at, end === -1 ? bytes.byteLength : end));
    at = end === -1 ? bytes.byteLength : end + 1;
    // A group may have started before the checkpoint was written.
    if (line && line.number <= number) continue;
    if (!line || line.number !== number + 1 || line.before !== checksum) return { lines, isDamaged: true };
    lines.push(line);
    ({ number, checksum } = line);
  }
  return { lines, isDamaged: false };
}

/** Reads the lines after a position, group by group, as far as each follows the previous one. */
export async function* readJournal(sql: Sql | Tx, after: LogPosition): AsyncGenerator<readonly ParsedLine[], void> {
  let position = after;
  for await (const group of readGroupsAfter(sql, after.number)) {
    const { lines, isDamaged } = parseLines(group.lines, position);
    yield lines;
    if (isDamaged) return;
    position = lines.at(-1) ?? position;
  }
}

interface Replay {
  readonly state: State;
  readonly upgrade: Upgrade;
  readonly after: LogPosition | undefined;
  readonly last?: number;
  /** Rows of the current version are not validated again. */
  readonly isOwn?: boolean;
  readonly shown: string;
}

/** Applies the lines of a journal to a state, one after the other. */
export class JournalLines {
  readonly #replay: Replay;
  readonly last: number;
  position: LogPosition;
  bytes = 0;

  constructor(replay: Replay) {
    this.#replay = replay;
    this.last = replay.last ?? Number.POSITIVE_INFINITY;
    this.position = replay.after ?? startPosition;
  }

  /** Applies the lines of one group. Fails with StateFormatError if one is missing or damaged. */
  apply(group: string, writtenBy: string | null = null): void {
    const { state, upgrade, isOwn = false } = this.#replay;
    this.bytes += Buffer.byteLength(group);
    const isTrusted = isOwn && !upgrade.needed && writtenBy === svcVersion;
    const { lines, isDamaged } = parseLines(group, this.position);
    for (const { number, checksum, json } of lines) {
      if (number > this.last) return;
      const changes = parseChanges((JSON.parse(json) as { readonly changes?: unknown }).changes);
      if (!changes) this.#refuse();
      applyChecked(state, changes, upgrade, isTrusted);
      this.position = { number, checksum };
    }
    if (isDamaged) this.#refuse();
  }

  #refuse(): never {
    const which = `line ${this.position.number + 1} of the journal of the store ${this.#replay.shown}`;
    throw new StateFormatError(`${which} is missing or damaged. Restore a backup of the database`, {
      repairable: false,
    });
  }
}

export async function replayJournal(sql: Sql | Tx, lines: JournalLines): Promise<void> {
  for await (const group of readGroupsAfter(sql, lines.position.number)) {
    lines.apply(group.lines, group.written_by);
    if (lines.position.number >= lines.last) return;
  }
}
