import { dirname } from "node:path";
import { type Disk, findFreeName, isMissing, systemDisk } from "../../../src/files/disk.ts";
import { startPosition } from "../../../src/files/log-line.ts";
import { readLines } from "../../../src/files/read-log.ts";
import type { Repair } from "../../published.d.ts";
import type { State } from "../live/state.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { parseCheckpointHead, writeCheckpoint } from "./checkpoint-file.ts";
import { readChecksummedInto } from "./checksummed-document.ts";
import { DocumentReader } from "./document-reader.ts";
import { getJournalPath, listJournalGenerations, Replay } from "./journal.ts";
import { recover, requireSuccessorJournals } from "./recovery.ts";

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
  const intact = await recover(disk, path, collections).catch((cause) => {
    if (cause instanceof StateFormatError && cause.repairable) return undefined;
    throw cause;
  });
  if (intact) {
    if (!intact.base) throw new StateFormatError(`File ${path} not found`, { repairable: false });
    const transactions = intact.journals.reduce((sum, journal) => sum + journal.transactions, 0);
    const kept = { ...countEntries(intact.state), transactions };
    return { repaired: false, damage: [], kept, dropped: [], aside: [] };
  }

  const salvaged = await salvage(disk, path, collections);
  const generations = await listJournalGenerations(disk, path);
  const aside: string[] = [];
  // The hard link is created before the new file, so that the damaged bytes always exist.
  for (const file of salvaged.setAside) aside.push(await findUnusedName(disk, file));
  // A crash may preserve a later rename and lose an earlier one in the same folder.
  await disk.syncFolder(dirname(path));
  const generation = Math.max(salvaged.generation, ...generations) + 1;
  const getPosition = () => salvaged.position ?? startPosition;
  await writeCheckpoint({ generation, state: salvaged.state }, { disk, path, getPosition, isClosed: true });
  for (const oldGeneration of generations) await disk.remove(getJournalPath(path, oldGeneration));
  await disk.syncFolder(dirname(path));
  const kept = { ...countEntries(salvaged.state), transactions: salvaged.transactions };
  return { repaired: true, damage: salvaged.damage, kept, dropped: salvaged.dropped, aside };
}

async function salvage(disk: Disk, path: string, collections: readonly Collection[]) {
  const damage: string[] = [];
  const setAside: string[] = [];
  const dropped: string[] = [];
  const reader = new DocumentReader(collections);
  try {
    await readChecksummedInto(reader, readLines(disk, path));
  } catch (cause) {
    if (isMissing(cause)) throw new StateFormatError(`File ${path} not found`, { cause, repairable: false });
    if (!(cause instanceof StateFormatError) || !cause.repairable) throw cause;
    damage.push(`${path}, line ${reader.line}: ${cause.message}`);
    setAside.push(path);
  }
  const generations = await listJournalGenerations(disk, path);
  const head = createKnownHead(reader, generations[0] ?? 1);
  const { generation } = head;
  const replay = new Replay(disk, reader.state, reader.upgrade, head);
  const journals = generations.filter((each) => each >= generation).map((each) => getJournalPath(path, each));
  while (journals.length > 0) {
    const journal = journals.shift()!;
    try {
      await replay.add(journal);
    } catch (cause) {
      if (!(cause instanceof StateFormatError) || !cause.repairable) throw cause;
      damage.push(cause.message);
      // Changes after the damage may depend on lost changes.
      dropped.push(...journals.splice(0));
      setAside.push(journal, ...dropped);
    }
  }
  if (damage.length === 0) {
    try {
      requireSuccessorJournals(path, head, replay.journals);
    } catch (cause) {
      damage.push((cause as StateFormatError).message);
      setAside.push(...replay.journals.filter(({ header }) => header === undefined).map((journal) => journal.path));
    }
  }
  const { transactions, position } = replay;
  return { state: reader.state, generation, transactions, position, damage, dropped, setAside };
}

/**
 * Returns the head of a checkpoint that may be damaged before its position. Its journals are then read from the oldest
 * on.
 */
function createKnownHead(reader: DocumentReader, oldest: number) {
  try {
    return parseCheckpointHead(reader.head);
  } catch {
    return { generation: oldest, closed: undefined, position: undefined };
  }
}

async function findUnusedName(disk: Disk, file: string): Promise<string> {
  const newName = await findFreeName(disk, file, "damaged");
  await disk.link(file, newName);
  return newName;
}

function countEntries(state: State): { rows: number; mappings: number } {
  let rows = 0;
  for (const table of state.rows.values()) rows += table.size;
  let mappings = 0;
  for (const table of state.mappings.values()) mappings += table.size;
  return { rows, mappings };
}
