import { dirname } from "node:path";
import { Low } from "lowdb";
import type { Wall } from "../../src/base/clock.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { FileLog } from "./file-log.ts";
import { Journal } from "./journal.ts";
import { createJournal, journalPath } from "./journal-file.ts";
import { LiveStore } from "./live-store.ts";
import { type Recovered, recover } from "./recovery.ts";
import { type Snapshot, SnapshotFile } from "./snapshot.ts";
import { type Collection, StateRefused, type Store } from "./store.ts";

export interface FileStoreOptions {
  /** The state file, such as `.svc/emulator.json`; its folder is made when missing. */
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: Wall;
  readonly disk?: Disk;
  /** The journal is compacted when it is longer than this and than the snapshot. */
  readonly compactAfterBytes?: number;
  /** Told about trouble that loses nothing and fails no request: a compaction that could not be written. */
  readonly report?: (message: string) => void;
}

const compactAfterBytes = 64 * 1024 * 1024;

/**
 * Opens the state in a file, or begins one. Fails with StateRefused when a file is damaged or of another version;
 * nothing is changed then. Call it only while holding the run file: two stores on one file destroy it.
 */
export async function openFileStore(options: FileStoreOptions): Promise<Store> {
  const { path, collections, wall } = options;
  const disk = options.disk ?? systemDisk;
  await disk.makeFolder(dirname(path));
  const recovered = await recover(disk, path, collections).catch((cause) => refuse(path, cause));
  const snapshot = recovered.snapshot ?? (await begin(disk, options, recovered));
  for (const leftover of recovered.leftovers) await disk.remove(leftover);
  const current = await openJournal(disk, path, snapshot.generation, recovered);
  const log = new FileLog({
    disk,
    path,
    collections,
    ...current,
    snapshotBytes: snapshot.size,
    compactAfterBytes: options.compactAfterBytes ?? compactAfterBytes,
    report: options.report ?? (() => {}),
  });
  const store = new LiveStore({ state: recovered.state, wall, log });
  log.attach((work) => store.inspect(work));
  return store;
}

/** The first snapshot: with it, a journal without a state file is known to be damage. */
async function begin(disk: Disk, { path, collections }: FileStoreOptions, { state }: Recovered) {
  const adapter = new SnapshotFile({ disk, path, collections });
  await new Low<Snapshot>(adapter, { generation: 1, state }).write();
  return { generation: 1, size: adapter.size };
}

/** Goes on with the last journal that has transactions, cut back to its last good line; else with an empty one. */
async function openJournal(disk: Disk, path: string, generation: number, { journals }: Recovered) {
  const last = journals.at(-1);
  if (last?.header === undefined) {
    const { file, length } = await createJournal(disk, path, generation, generation);
    const journal = new Journal(journalPath(path, generation), file, length);
    return { journal, generation, behind: [], behindBytes: 0, emptyLength: length };
  }
  const file = await disk.open(last.path, "write");
  if (last.torn) {
    await file.truncate(last.length);
    await file.sync();
  }
  const earlier = journals.slice(0, -1);
  return {
    journal: new Journal(last.path, file, last.length),
    generation: last.header.generation,
    behind: earlier.map((journal) => journal.header?.generation ?? 0),
    behindBytes: earlier.reduce((sum, journal) => sum + journal.length, 0),
    // It has transactions, so it is not empty.
    emptyLength: 0,
  };
}

function refuse(path: string, cause: unknown): never {
  if (!(cause instanceof StateRefused)) throw cause;
  const next = cause.repairable
    ? `"svc emulator repair ${path}" keeps what is good and moves the damaged file aside.`
    : "Open it with that version, put back what is missing, or name another file with --file.";
  const { message, repairable } = cause;
  throw new StateRefused(`${message}. Nothing was changed. ${next}`, { cause, repairable });
}
