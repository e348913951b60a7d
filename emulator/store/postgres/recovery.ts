import type { Position } from "../../../src/files/log-line.ts";
import { headOf } from "../file/base/base-head.ts";
import { DocumentReader } from "../file/document-reader.ts";
import { format } from "../file/format.ts";
import { readSealedInto } from "../file/sealed.ts";
import { State } from "../live/state.ts";
import { type Collection, StateRefused } from "../port.ts";
import type { Sql, Tx } from "./database.ts";
import { documentBytes } from "./documents.ts";
import { replayJournal } from "./journal-table.ts";

/** What is in the database, and what to do before it may be written to. */
export interface Recovered {
  readonly state: State;
  /** Where the journal ends. */
  readonly position: Position;
  /** Of the lines behind the base. */
  readonly bytes: number;
  /** Undefined when there is none yet. */
  readonly base: { readonly id: string; readonly bytes: number } | undefined;
  /** Whether there is none, or one of an earlier format, or rows in it of an earlier version. */
  readonly isOutdated: boolean;
}

/**
 * Reads base and journal of the store that is called so, and changes nothing. Nobody puts another base into the place of
 * this one meanwhile: whoever reads leads, or reads as of one moment.
 */
export async function recover(sql: Sql | Tx, shown: string, collections: readonly Collection[]): Promise<Recovered> {
  const [found] = await sql`select id, bytes from documents where kind = 'base' and whole order by id desc limit 1`;
  if (!found) {
    const state = new State(collections);
    const { upgrade } = new DocumentReader(collections);
    const { position, bytes } = await replayJournal(sql, { state, upgrade, after: undefined, shown });
    return { state, position, bytes, base: undefined, isOutdated: true };
  }
  const base = { id: found.id as string, bytes: Number(found.bytes) };
  const reader = new DocumentReader(collections, { isSealed: true });
  try {
    await readSealedInto(reader, documentBytes(sql, base.id));
    const { state, upgrade } = reader;
    const head = headOf(reader.head);
    const { position, bytes } = await replayJournal(sql, { state, upgrade, after: head.position, shown });
    return { state, position, bytes, base, isOutdated: head.format !== format || upgrade.needed };
  } catch (cause) {
    if (!(cause instanceof StateRefused)) throw cause;
    const message = `The state in the store ${shown} is refused: ${cause.message}. Nothing was changed.`;
    throw new StateRefused(message, { cause, repairable: false });
  }
}
