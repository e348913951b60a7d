import type postgres from "postgres";
import type { WallClock } from "../../../src/base/clock.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { DiskFile } from "../../../src/files/disk.ts";
import { type LogPosition, type ParsedLine, parseLine } from "../../../src/files/log-line.ts";
import { applyChecked } from "../journal/journal-line.ts";
import { parseChanges, type State } from "../live/state.ts";
import type { Upgrade } from "../live/versions.ts";
import { StateFormatError, StoreChangedError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import type { Leadership } from "./leadership.ts";

const groupsPerQuery = 64;

const newline = "\n";

/**
 * The journal as a file for `AppendLog`. A group is one statement that counts the written lines and writes nothing when
 * another process leads. So a group is durable after it is written. `Leadership.renew` deletes lines without a
 * response.
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
    const { session, displayUrl } = this.#database;
    try {
      const [counts] = await session`
        with ${this.#leadership.mine},
        written as (
          insert into journal (last, first, lines, written_by)
          select ${last}::bigint, ${first}::bigint, ${lines}::text, ${svcVersion} from mine
          where ${createLineCheck(session, first - 1)} returning last
        )
        select (select count(*)::int from mine) as mine, (select count(*)::int from written) as written`;
      if (counts!.mine === 0) throw this.#leadership.createFencedError();
      if (counts!.written === 0) throw createLinesMissingError(displayUrl);
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

export const createLinesMissingError = (displayUrl: string): StoreChangedError =>
  new StoreChangedError(
    `The store ${displayUrl} has lost acknowledged lines, or was restored from an older dump. Nothing is ` +
      "written to it. Restart every process to continue with its contents. Before that, save the state in this process's " +
      "memory: svc emulator state export",
  );

const parseNumberAt = (lines: string, start: number): number =>
  Number(/^[0-9a-f]{8} [0-9a-f]{8} (\d{1,15}) /.exec(lines.slice(start, start + 40))?.[1]);

/** The lines of one group that follow the lines before them. */
interface ReadGroup {
  readonly lines: readonly ParsedLine[];
  /** True if the next line is missing or damaged. Then no group follows. */
  readonly isDamaged: boolean;
  readonly bytes: number;
  /** The version of svc that wrote the group. Null if it is unknown. */
  readonly writtenBy: string | null;
}

/** Reads the lines after a position, group by group, until a line does not follow the previous line. */
export async function* readJournal(sql: Sql | Tx, after: LogPosition): AsyncGenerator<ReadGroup, void> {
  let position = after;
  for (let lastRead = String(after.number); ; ) {
    const rows = await sql<{ last: string; lines: string; written_by: string | null }[]>`
      select last, lines, written_by from journal where last > ${lastRead} order by last limit ${groupsPerQuery}`;
    for (const { lines: text, written_by: writtenBy } of rows) {
      const group = { ...parseLines(text, position), bytes: Buffer.byteLength(text), writtenBy };
      yield group;
      if (group.isDamaged) return;
      position = group.lines.at(-1) ?? position;
    }
    if (rows.length < groupsPerQuery) return;
    lastRead = rows.at(-1)!.last;
  }
}

/** Parses the lines of a group after a position, until a line does not follow the previous line. */
function parseLines(group: string, after: LogPosition): Pick<ReadGroup, "lines" | "isDamaged"> {
  const lines: ParsedLine[] = [];
  let { number, checksum } = after;
  for (const text of group.split(newline)) {
    if (text === "") continue;
    const line = parseLine(Buffer.from(text));
    // A group may have started before the checkpoint was written.
    if (line && line.number <= number) continue;
    if (!line || line.number !== number + 1 || line.before !== checksum) return { lines, isDamaged: true };
    lines.push(line);
    ({ number, checksum } = line);
  }
  return { lines, isDamaged: false };
}

/**
 * Applies the lines of a journal after a position to a state, one after the other. Resolves with the position of the
 * last line and the size of the groups. Fails with StateFormatError if a line is missing or damaged.
 */
export async function replayJournal(
  sql: Sql | Tx,
  { state, upgrade }: { readonly state: State; readonly upgrade: Upgrade },
  after: LogPosition,
  displayUrl: string,
): Promise<{ readonly position: LogPosition; readonly bytes: number }> {
  let position = after;
  let bytes = 0;
  const throwDamaged = (): never => {
    const description = `line ${position.number + 1} of the journal of the store ${displayUrl}`;
    throw new StateFormatError(`${description} is missing or damaged. Restore a backup of the database`, {
      repairable: false,
    });
  };
  for await (const group of readJournal(sql, after)) {
    bytes += group.bytes;
    for (const { number, checksum, json } of group.lines) {
      applyChecked(state, parseChanges(JSON.parse(json).changes) ?? throwDamaged(), upgrade);
      position = { number, checksum };
    }
    if (group.isDamaged) throwDamaged();
  }
  return { position, bytes };
}
