import { parseCheckpointHead } from "../file/base/checkpoint-file.ts";
import { readChecksummedInto } from "../file/checksummed-document.ts";
import { DocumentReader } from "../file/document-reader.ts";
import { State } from "../live/state.ts";
import { type Collection, StateFormatError } from "../port.ts";
import type { Sql, Tx } from "./database.ts";
import { documentBytes } from "./documents.ts";
import { JournalLines, replayJournal } from "./journal-table.ts";

/** What is in the database, and what to do before it may be written to. */
export interface RecoveredDatabase {
  readonly state: State;
  /** Where it ends in the journal, for what comes next. */
  readonly lines: JournalLines;
  /** Undefined when there is none yet. */
  readonly base: CheckpointDocument | undefined;
  /** Whether there is none, or rows in it are of an earlier version. */
  readonly isOutdated: boolean;
}

/** A state that the journal builds on. */
export interface CheckpointDocument {
  readonly id: string;
  /** All bases of one lineage are of one state, each with more of the journal in it. */
  readonly lineage: string;
  readonly bytes: number;
}

/** A base as its document says. */
export function parseCheckpointDocument({ id, name, bytes }: Readonly<Record<string, unknown>>): CheckpointDocument {
  return { id: id as string, lineage: (name as string).split(".")[0]!, bytes: Number(bytes) };
}

/** What the document of a base is called that goes on with a lineage. */
export const checkpointName = (lineage: string, own: string): string => `${lineage}.${own}`;

/**
 * Reads base and journal of the store that is called so, and changes nothing. Nobody puts another base into the place of
 * this one meanwhile: whoever reads leads, or reads as of one moment.
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
