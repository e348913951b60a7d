import { startPosition } from "../../../src/files/log-line.ts";
import { splitAtLineEnds } from "../../../src/files/read-log.ts";
import { parseCheckpointHead } from "../journal/checkpoint.ts";
import { readChecksummedInto } from "../journal/checksummed-document.ts";
import { DocumentReader } from "../journal/document-reader.ts";
import { type Collection, StateFormatError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import { replayJournal } from "./journal-table.ts";
import type { Leadership } from "./leadership.ts";

/** Documents stored in pieces: checkpoints, snapshots of users, uploaded bytes. */
type DocumentKind = "base" | "snapshot" | "blob";

const minPieceBytes = 1 << 20;

interface WriteOptions {
  readonly kind: DocumentKind;
  /** Called after all pieces are written. Without it, the generated ID is the name. */
  readonly getName?: () => string;
  /** Returns fields of a checkpoint. Called after all pieces are written. */
  readonly getPosition?: () => CheckpointPosition;
}

interface CheckpointPosition {
  readonly lastLine: number;
  /** The previous checkpoint and the size of the lines in between. Undefined if there is no previous checkpoint. */
  readonly previous?: { readonly id: string; readonly followedBy: number } | undefined;
}

/**
 * Writes a document, which is visible completely or not at all. Resolves when it is durable and replaces the one of
 * that name. Each piece ends at the end of a line. Only the leader writes or removes documents.
 */
export async function writeDocument(
  database: Database,
  leadership: Leadership,
  pieces: AsyncIterable<Uint8Array>,
  { kind, getName, getPosition = () => ({ lastLine: 0 }) }: WriteOptions,
): Promise<CheckpointDocument> {
  const [createdRow] = await database.pool`insert into documents (kind, name) values (${kind}, '') returning id`;
  const id = createdRow!.id as string;
  try {
    let bytes = 0;
    let piece = 0;
    for await (const bytesOfPiece of gather(kind === "blob" ? pieces : splitAtLineEnds(pieces))) {
      bytes += bytesOfPiece.byteLength;
      await addPiece(database, id, piece, kind, bytesOfPiece);
      piece += 1;
    }
    const documentName = getName?.() ?? id;
    const { lastLine, previous } = getPosition();
    // The replaced document is removed first. For a checkpoint, unpublished checkpoints are removed too, because
    // nothing refers to them.
    const [resultRow] = await database.pool`
      with ${leadership.mine},
      gone as (
        delete from documents using mine where kind = ${kind} and whole and lower(name) = lower(${documentName}) returning id
      ), untold as (
        delete from documents using mine
        where kind = 'base' and whole and ${kind === "base"} and id > ${previous?.id ?? "0"} and id < ${id} returning id
      ), followed as (
        update documents set followed_by = ${previous?.followedBy ?? 0} from mine
        where kind = 'base' and id = ${previous?.id ?? null} returning id
      ), placed as (
        update documents
        set name = ${documentName}, bytes = ${bytes}, whole = true, last_line = ${kind === "base" ? lastLine : null} from mine
        where id = ${id} and (select count(*) from gone) >= 0
          -- Over lines that are missing it would hide that they are.
          and (${lastLine} = 0 or exists (select from journal where last >= ${lastLine})
            or exists (select from documents where kind = 'base' and whole and last_line >= ${lastLine}))
        returning id
      )
      select (select count(*)::int from mine) as mine, (select count(*)::int from placed) as placed,
        (select count(*) from untold), (select count(*) from followed)`;
    if (resultRow!.mine === 0) throw leadership.createFencedError();
    if (resultRow!.placed === 0) throw new Error("it was removed during writing, or earlier lines are missing");
    return { id, bytes };
  } catch (cause) {
    // An incomplete document is useless. It is removed at the next start at the latest.
    void database.pool`delete from documents where id = ${id} and not whole`.catch(() => {});
    throw cause;
  }
}

/** Removes the oldest checkpoints before the present one, with their lines, until at most `limit` bytes are left. */
export async function trimDocuments(
  database: Database,
  leadership: Leadership,
  present: string,
  limit: number,
): Promise<void> {
  await database.pool`
    with ${leadership.mine},
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

async function addPiece(
  { pool }: Database,
  id: string,
  piece: number,
  kind: DocumentKind,
  bytes: Buffer,
): Promise<void> {
  if (kind === "blob") await pool`insert into pieces (document, piece, bytes) values (${id}, ${piece}, ${bytes})`;
  else await pool`insert into pieces (document, piece, lines) values (${id}, ${piece}, ${bytes.toString("utf8")})`;
}

/** Reads the bytes of a complete document. Fails if the document is removed meanwhile. */
export async function* readDocument(sql: Sql | Tx, id: string): AsyncGenerator<Buffer, void> {
  const readPiece = async (piece: number) => {
    const [row] = await sql`
      select lines, pieces.bytes, documents.bytes as expected from documents
      left join pieces on document = id and piece = ${piece} where id = ${id}`;
    return row;
  };
  let remainingBytes: number | undefined;
  let nextRow = readPiece(0);
  for (let piece = 0; ; piece += 1) {
    const row = await nextRow;
    remainingBytes ??= Number(row?.expected ?? Number.NaN);
    const bytes = typeof row?.lines === "string" ? Buffer.from(row.lines) : (row?.bytes as Buffer | null | undefined);
    if (!bytes) break;
    remainingBytes -= bytes.byteLength;
    // The next piece is requested before this piece is processed.
    nextRow = readPiece(piece + 1);
    nextRow.catch(() => {});
    yield bytes;
  }
  if (remainingBytes !== 0) throw new StateFormatError("a document was removed during reading, or is damaged");
}

/** Collects bytes into pieces of about a megabyte or more. */
async function* gather(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let collected: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    // Each piece is copied, because a stream can reuse its buffer.
    collected.push(Uint8Array.from(piece));
    length += piece.byteLength;
    if (length < minPieceBytes) continue;
    yield Buffer.concat(collected);
    collected = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(collected);
}

/** A checkpoint that the journal continues. */
export interface CheckpointDocument {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Reads the checkpoint and the journal of a store and changes nothing. The checkpoint is not replaced meanwhile,
 * because the reader leads or reads one snapshot. `isOutdated` tells whether a checkpoint is missing, or its rows have
 * an earlier version: then a new one has to precede the next write.
 */
export async function recover(sql: Sql | Tx, displayUrl: string, collections: readonly Collection[]) {
  const [checkpointRow] =
    await sql`select id, bytes from documents where kind = 'base' and whole order by id desc limit 1`;
  const reader = new DocumentReader(collections, { isSealed: true });
  if (!checkpointRow) {
    const { position, bytes } = await replayJournal(sql, reader, startPosition, displayUrl);
    return { state: reader.state, position, journalBytes: bytes, base: undefined, isOutdated: true };
  }
  const base: CheckpointDocument = { id: checkpointRow.id as string, bytes: Number(checkpointRow.bytes) };
  try {
    await readChecksummedInto(reader, readDocument(sql, base.id));
    const { state, upgrade } = reader;
    const { position: after } = parseCheckpointHead(reader.head);
    const { position, bytes } = await replayJournal(sql, reader, after, displayUrl);
    return { state, position, journalBytes: bytes, base, isOutdated: upgrade.isNeeded };
  } catch (cause) {
    if (!(cause instanceof StateFormatError)) throw cause;
    const message = `The state in the store ${displayUrl} cannot be loaded: ${cause.message}. Nothing was changed.`;
    throw new StateFormatError(message, { cause, repairable: false });
  }
}
