import { dirname } from "node:path";
import { type Disk, findFreeName, systemDisk } from "../../../src/files/disk.ts";
import type { Repair } from "../../published.d.ts";
import type { State } from "../live/state.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { writeCheckpoint } from "./checkpoint-file.ts";
import { getJournalPath, listJournalGenerations } from "./journal.ts";
import { type Damage, recover } from "./recovery.ts";

/**
 * Retains everything before the damage: the rows up to the damaged line of the state file, and the transactions up to
 * the damaged line of a journal. Damaged files and journals after them are moved aside, never deleted. Call it only
 * while holding the run file. Fails with StateFormatError if there is no state file, or if its version is not
 * supported.
 */
export async function repairFile(options: {
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly disk?: Disk;
}): Promise<Repair> {
  const { path, collections, disk = systemDisk } = options;
  const damages: Damage[] = [];
  const { state, base, position, newest, transactions } = await recover(disk, path, collections, damages);
  if (!base) throw new StateFormatError(`File ${path} not found`, { repairable: false });
  const kept = { ...countEntries(state), transactions };
  if (damages.length === 0) return { repaired: false, damage: [], kept, dropped: [], aside: [] };

  const aside: string[] = [];
  // The hard link is created before the new file, so that the damaged bytes always exist.
  for (const file of damages.flatMap(({ files }) => files)) aside.push(await linkAside(disk, file));
  // A crash may preserve a later rename and lose an earlier one in the same folder.
  await disk.syncFolder(dirname(path));
  const head = { generation: newest + 1, closed: true, ...(position && { position }) };
  await writeCheckpoint({ disk, path, state, getHead: () => head });
  for (const generation of await listJournalGenerations(disk, path))
    await disk.remove(getJournalPath(path, generation));
  await disk.syncFolder(dirname(path));
  return {
    repaired: true,
    damage: damages.map(({ message }) => message),
    kept,
    dropped: damages.flatMap(({ files }) => files.slice(1)),
    aside,
  };
}

async function linkAside(disk: Disk, file: string): Promise<string> {
  const newName = await findFreeName(disk, file, "damaged");
  await disk.link(file, newName);
  return newName;
}

function countEntries({ rows, mappings }: State): { rows: number; mappings: number } {
  const sum = (tables: Iterable<{ readonly size: number }>) => [...tables].reduce((total, { size }) => total + size, 0);
  return { rows: sum(rows.values()), mappings: sum(mappings.values()) };
}
