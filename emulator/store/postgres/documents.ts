import { parseCheckpointHead } from "../file/checkpoint-file.ts";
import { readChecksummedInto } from "../file/checksummed-document.ts";
import { DocumentReader } from "../file/document-reader.ts";
import { State } from "../live/state.ts";
import { type Collection, StateFormatError, type StoreFailedError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import { JournalLines, replayJournal } from "./journal-table.ts";
import type { Leadership } from "./leadership.ts";

/** Documents stored in pieces: checkpoints, snapshots of users, uploaded bytes. */
export type DocumentKind = "base" | "snapshot" | "blob";

/** Bytes of a document per row. */
const pieceBytes = 1 << 20;

interface Writing {
  readonly kind: DocumentKind;
  /** Asked once all is written, with its own number; undefined: that is the name. */
  readonly name?: (own: string) => string;
  /** Fields of a checkpoint: read once all is written. */
  readonly base?: () => BasePlace;
}

/** Position of a checkpoint among others. */
interface BasePlace {
  /** The last line of the journal that is in it. */
  readonly lastLine: number;
  /** The checkpoint before it, and the bytes of the lines between; undefined: there is none. */
  readonly before?: { readonly id: string; readonly followedBy: number } | undefined;
}

/** Documents in the database, each there as a whole or not at all. Only who leads makes or removes any. */
export class Documents {
  readonly #database: Database;
  readonly #leadership: Leadership;

  constructor(database: Database, leadership: Leadership) {
    this.#database = database;
    this.#leadership = leadership;
  }

  /**
   * Resolves once it is durable and has replaced the document of that name. Each piece of a string ends at the end of a
   * line.
   */
  async write(
    pieces: AsyncIterable<Uint8Array>,
    { kind, name = (own) => own, base = () => ({ lastLine: 0 }) }: Writing,
  ): Promise<{ id: string; name: string; bytes: number }> {
    const [made] = await this.#database.pool`insert into documents (kind, name) values (${kind}, '') returning id`;
    const id = made!.id as string;
    try {
      let bytes = 0;
      let piece = 0;
      for await (const gathered of kind === "blob" ? gather(pieces) : gather(pieces, newline)) {
        bytes += gathered.byteLength;
        await this.#add(id, piece, kind, gathered);
        piece += 1;
      }
      const called = name(id);
      const { lastLine, before } = base();
      // The replaced document is removed first; with a checkpoint, also those that were never published: they led to
      // nothing.
      const [placed] = await this.#database.pool`
        with ${this.#leadership.mine},
        gone as (
          delete from documents using mine where kind = ${kind} and whole and lower(name) = lower(${called}) returning id
        ), untold as (
          delete from documents using mine
          where kind = 'base' and whole and ${kind === "base"} and id > ${before?.id ?? "0"} and id < ${id} returning id
        ), followed as (
          update documents set followed_by = ${before?.followedBy ?? 0} from mine
          where kind = 'base' and id = ${before?.id ?? null} returning id
        ), placed as (
          update documents
          set name = ${called}, bytes = ${bytes}, whole = true, last_line = ${kind === "base" ? lastLine : null} from mine
          where id = ${id} and (select count(*) from gone) >= 0
            -- Over lines that are missing it would hide that they are.
            and (${lastLine} = 0 or exists (select from journal where last >= ${lastLine})
              or exists (select from documents where kind = 'base' and whole and last_line >= ${lastLine}))
          returning id
        )
        select (select count(*)::int from mine) as mine, (select count(*)::int from placed) as placed,
          (select count(*) from untold), (select count(*) from followed)`;
      if (placed!.mine === 0) throw this.#leadership.fencedOff();
      if (placed!.placed === 0) throw new Error("it was removed during writing, or earlier lines are missing");
      return { id, name: called, bytes };
    } catch (cause) {
      // An incomplete one is useless, and is removed at the next start at the latest.
      void this.#database.pool`delete from documents where id = ${id} and not whole`.catch(() => {});
      throw cause;
    }
  }

  /** `write` for data of others: errors of their pieces stay as they are, all others become the result of `failure`. */
  async writeGiven(
    pieces: AsyncIterable<Uint8Array>,
    writing: Writing,
    failure: (cause: unknown) => StoreFailedError,
  ): Promise<void> {
    let broken: { readonly cause: unknown } | undefined;
    async function* noting(): AsyncGenerator<Uint8Array, void> {
      try {
        yield* pieces;
      } catch (cause) {
        broken = { cause };
        throw cause;
      }
    }
    await this.write(noting(), writing).catch((cause) => {
      throw broken ? broken.cause : failure(cause);
    });
  }

  /** Its bytes. Fails if it is removed meanwhile. */
  read(id: string): AsyncIterable<Buffer> {
    return documentBytes(this.#database.pool, id);
  }

  /**
   * Removes what comes before the present checkpoint, the oldest first, until no more than this many bytes of it are
   * left: checkpoints, each with the lines that follow it. Lines without their base are worth nothing.
   */
  async trim(present: string, limit: number): Promise<void> {
    await this.#database.pool`
      with ${this.#leadership.mine},
      sums as (
        select id, last_line, sum(bytes + followed_by) over (order by id desc) <= ${limit} as stays from documents
        where kind = 'base' and whole and id < ${present}
      ), gone as (
        delete from documents using mine where id in (select id from sums where not stays) returning documents.id
      )
      delete from journal using mine where last <= coalesce(
        (select last_line from sums where stays order by id limit 1),
        (select last_line from documents where id = ${present} and not exists (select from sums where stays)))
        and (select count(*) from gone) >= 0`;
  }

  async #add(id: string, piece: number, kind: DocumentKind, bytes: Buffer): Promise<void> {
    const { pool } = this.#database;
    if (kind === "blob") await pool`insert into pieces (document, piece, bytes) values (${id}, ${piece}, ${bytes})`;
    else await pool`insert into pieces (document, piece, lines) values (${id}, ${piece}, ${bytes.toString("utf8")})`;
  }
}

/** The bytes of a document, which is complete. Fails if it is removed meanwhile. */
export async function* documentBytes(sql: Sql | Tx, id: string): AsyncGenerator<Buffer, void> {
  const next = async (piece: number) => {
    const [row] = await sql`
      select lines, pieces.bytes, documents.bytes as expected from documents
      left join pieces on document = id and piece = ${piece} where id = ${id}`;
    return row;
  };
  let left: number | undefined;
  let coming = next(0);
  for (let piece = 0; ; piece += 1) {
    const row = await coming;
    left ??= Number(row?.expected ?? Number.NaN);
    const bytes = typeof row?.lines === "string" ? Buffer.from(row.lines) : (row?.bytes as Buffer | null | undefined);
    if (!bytes) break;
    left -= bytes.byteLength;
    // Asked for before this one is looked at.
    coming = next(piece + 1);
    coming.catch(() => {});
    yield bytes;
  }
  if (left !== 0) throw new StateFormatError("a document was removed during reading, or is damaged");
}

const newline = 0x0a;

/** Puts bytes together until a piece is full; with `end`, each but the last ends with that byte. */
async function* gather(pieces: AsyncIterable<Uint8Array>, end?: number): AsyncGenerator<Buffer, void> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    // A copy: a stream may fill the same buffer again.
    waiting.push(Uint8Array.from(piece));
    length += piece.byteLength;
    if (length < pieceBytes) continue;
    const bytes = Buffer.concat(waiting);
    const until = end === undefined ? bytes.byteLength : bytes.lastIndexOf(end) + 1;
    if (until === 0) continue;
    for (let at = 0; at < until; ) {
      const to = end === undefined ? Math.min(at + pieceBytes, until) : until;
      yield bytes.subarray(at, to);
      at = to;
    }
    waiting = [bytes.subarray(until)];
    length = bytes.byteLength - until;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

/** Contents of the database, and the steps before it may be written to. */
interface RecoveredDatabase {
  readonly state: State;
  /** Its end in the journal, from which later lines continue. */
  readonly lines: JournalLines;
  /** Undefined if there is none yet. */
  readonly base: CheckpointDocument | undefined;
  /** Whether there is none, or rows in it are of an earlier version. */
  readonly isOutdated: boolean;
}

/** A state that the journal builds on. */
export interface CheckpointDocument {
  readonly id: string;
  /** All checkpoints of one lineage are of one state, each with more of the journal in it. */
  readonly lineage: string;
  readonly bytes: number;
}

/** A checkpoint as its document says. */
export function parseCheckpointDocument({ id, name, bytes }: Readonly<Record<string, unknown>>): CheckpointDocument {
  return { id: id as string, lineage: (name as string).split(".")[0]!, bytes: Number(bytes) };
}

/** The name of the document of a checkpoint that continues with a lineage. */
export const checkpointName = (lineage: string, own: string): string => `${lineage}.${own}`;

/**
 * Reads checkpoint and journal of the store of that name, and changes nothing. The checkpoint is not replaced
 * meanwhile: the reader leads, or reads as of one moment.
 */
export async function recover(
  sql: Sql | Tx,
  shown: string,
  collections: readonly Collection[],
): Promise<RecoveredDatabase> {
  const [found] = await sql`
    select id, name, bytes from documents where kind = 'base' and whole order by id desc limit 1`;
  if (!found) {
    const state = new State(collections);
    const { upgrade } = new DocumentReader(collections);
    const lines = new JournalLines({ state, upgrade, after: undefined, shown });
    await replayJournal(sql, lines);
    return { state, lines, base: undefined, isOutdated: true };
  }
  const base = parseCheckpointDocument(found);
  const reader = new DocumentReader(collections, { isSealed: true });
  try {
    await readChecksummedInto(reader, documentBytes(sql, base.id));
    const { state, upgrade } = reader;
    const head = parseCheckpointHead(reader.head);
    const lines = new JournalLines({ state, upgrade, after: head.position, shown });
    await replayJournal(sql, lines);
    return { state, lines, base, isOutdated: upgrade.needed };
  } catch (cause) {
    if (!(cause instanceof StateFormatError)) throw cause;
    const message = `The state in the store ${shown} cannot be loaded: ${cause.message}. Nothing was changed.`;
    throw new StateFormatError(message, { cause, repairable: false });
  }
}
