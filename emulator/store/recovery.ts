import { basename, dirname, join } from "node:path";
import { EmulatorBug } from "../bug.ts";
import type { Disk } from "./disk.ts";
import { addRow } from "./document.ts";
import { type JournalContent, journalGenerations, journalPath, readJournal } from "./journal-file.ts";
import { isTemporary, type Snapshot, SnapshotFile } from "./snapshot.ts";
import { type Change, State } from "./state.ts";
import { type Collection, StateRefused } from "./store.ts";

/** What the files of a state hold, and what to do before it may be written to. */
export interface Recovered {
  readonly state: State;
  /** The generation that the snapshot asks for; undefined when there is no snapshot yet. */
  readonly snapshot: { readonly generation: number; readonly size: number } | undefined;
  /** Journals that the snapshot does not hold, in the order of their replay; the last one has transactions. */
  readonly journals: readonly JournalContent[];
  /** Files that hold nothing any more: unfinished snapshots, journals that are older or empty. */
  readonly leftovers: readonly string[];
}

/** Reads snapshot and journals, and changes nothing. Fails with StateRefused on damage. */
export async function recover(disk: Disk, path: string, collections: readonly Collection[]): Promise<Recovered> {
  const names = await disk.list(dirname(path));
  const leftovers = names.filter((name) => isTemporary(name, basename(path))).map((name) => join(dirname(path), name));
  const file = new SnapshotFile({ disk, path, collections });
  const snapshot = await file.read();
  const state = snapshot?.state ?? new State(collections);
  const journals: JournalContent[] = [];
  for (const generation of await journalGenerations(disk, path)) {
    const journal = journalPath(path, generation);
    if (snapshot && generation < snapshot.generation) leftovers.push(journal);
    else journals.push(await readJournal(disk, journal, (changes) => replay(state, changes)));
  }
  while (journals.length > 0 && journals.at(-1)?.transactions === 0) leftovers.push(journals.pop()!.path);
  refuseGaps(journals, snapshot);
  return {
    state,
    snapshot: snapshot ? { generation: snapshot.generation, size: file.size } : undefined,
    journals,
    leftovers,
  };
}

/** Applies the changes of one line; rows come from outside, so they are validated. */
export function replay(state: State, changes: readonly Change[]): void {
  for (const change of changes) {
    if (change[0] === "put") {
      addRow(state, change[1], change[2], "The row");
      continue;
    }
    try {
      state.apply(change);
    } catch (cause) {
      if (!(cause instanceof EmulatorBug)) throw cause;
      throw new StateRefused(`this version of svc has no collection ${change[1]}`, { cause });
    }
  }
}

/** Each journal with transactions must lead back to the snapshot, from header to header, through files that are there. */
function refuseGaps(journals: readonly JournalContent[], snapshot: Snapshot | null): void {
  const after = new Map(journals.map(({ header }) => [header?.generation, header?.after]));
  for (const [i, { path, header, transactions, torn }] of journals.entries()) {
    if (transactions === 0) continue;
    if (snapshot === null) {
      throw new StateRefused(`${path}: the state file that it belongs to is missing`, { repairable: false });
    }
    if (torn && i < journals.length - 1) {
      throw new StateRefused(`${path}: its last line is damaged, and ${journals[i + 1]?.path} goes on after it`);
    }
    let generation = header?.generation;
    while (generation !== snapshot.generation && generation !== undefined) generation = after.get(generation);
    if (generation === undefined) throw new StateRefused(`${path}: a journal that comes before it is missing`);
  }
}
