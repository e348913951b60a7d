import { basename, dirname, join } from "node:path";
import type { Disk } from "./disk.ts";
import { type JournalContent, journalGenerations, journalPath } from "./journal-file.ts";
import { Replay } from "./replay.ts";
import { isTemporary, SnapshotFile } from "./snapshot.ts";
import { State } from "./state.ts";
import type { Collection } from "./store.ts";

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
  const replay = new Replay(disk, state, snapshot?.generation);
  for (const generation of await journalGenerations(disk, path)) {
    const journal = journalPath(path, generation);
    if (snapshot && generation < snapshot.generation) leftovers.push(journal);
    else await replay.add(journal);
  }
  const { journals } = replay;
  while (journals.length > 0 && journals.at(-1)?.transactions === 0) leftovers.push(journals.pop()!.path);
  return {
    state,
    snapshot: snapshot ? { generation: snapshot.generation, size: file.size } : undefined,
    journals,
    leftovers,
  };
}
