import { basename, dirname, join } from "node:path";
import { isTemporaryName } from "../../../src/files/atomic-write.ts";
import { type Disk, systemDisk } from "../../../src/files/disk.ts";
import { isMissing } from "../../../src/files/folders.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { readLines } from "../../../src/files/read-log.ts";
import type { Repair } from "../../published.d.ts";
import { type CheckpointHead, parseCheckpointHead } from "../journal/checkpoint.ts";
import { readChecksummedInto } from "../journal/checksummed-document.ts";
import { identifyFile } from "../journal/document.ts";
import { DocumentReader } from "../journal/document-reader.ts";
import type { State } from "../live/state.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { writeCheckpoint } from "./checkpoint-file.ts";
import { getJournalPath, type JournalContent, listJournalGenerations, Replay } from "./journal-file.ts";

/**
 * The beginning of a state: its checkpoint. Position and end are undefined if the checkpoint is damaged before them.
 */
interface RecoveredCheckpoint extends Pick<CheckpointHead, "generation"> {
  readonly closed: boolean | undefined;
  readonly position: LogPosition | undefined;
  /** The size of the checkpoint in bytes. */
  readonly size: number;
}

/** Contents of the files of a state, and the repairs that they need before the next write. */
interface RecoveredState {
  readonly state: State;
  readonly base: RecoveredCheckpoint | undefined;
  /** True if rows in the files have an earlier version. */
  readonly isOutdated: boolean;
  /** The end of the journal chain. Undefined if there is no checkpoint yet. */
  readonly position: LogPosition | undefined;
  /**
   * Journals that the checkpoint does not contain, in the order of their replay. The next write follows the last
   * journal.
   */
  readonly journals: readonly JournalContent[];
  readonly transactions: number;
  /** Obsolete files: unfinished checkpoints and empty journals. */
  readonly leftovers: readonly string[];
  /** Generations of journals that the checkpoint contains. */
  readonly olderJournals: readonly number[];
  readonly newest: number;
}

interface Damage {
  readonly message: string;
  /** The damaged file, and the later journals, which may depend on lost changes. */
  readonly files: readonly string[];
}

/**
 * Reads checkpoint and journals without changing anything. Fails with StateFormatError on damage, and with
 * NotAStateFileError. With a list of damages, reads everything before the damage instead, and adds it to the list.
 */
export async function recover(
  disk: Disk,
  path: string,
  collections: readonly Collection[],
  damages?: Damage[],
): Promise<RecoveredState> {
  const addDamage = (error: unknown, files: readonly string[]) => {
    if (!damages || !(error instanceof StateFormatError) || !error.repairable) throw error;
    damages.push({ message: error.message, files });
  };
  const generations = await listJournalGenerations(disk, path);
  // A file with a journal next to it is a state file, even if its first line is damaged. Without a journal, it cannot
  // be a state.
  const kind = await identifyFile(disk, path).catch(() => undefined);
  if (generations.length === 0 && kind === "other") throw new NotAStateFileError(path);
  const names = await disk.list(dirname(path));
  const temporaryFiles = names
    .filter((name) => isTemporaryName(name, basename(path)))
    .map((name) => join(dirname(path), name));

  const reader = new DocumentReader(collections);
  let base: RecoveredCheckpoint | undefined;
  try {
    const size = await readChecksummedInto(reader, readLines(disk, path));
    base = { ...parseCheckpointHead(reader.head), size };
  } catch (error) {
    if (!isMissing(error)) {
      addDamage(reader.locateError(error, `${path}, `), [path]);
      base = { ...findHead(reader, generations[0] ?? 1), size: 0 };
    }
  }

  const { state, upgrade } = reader;
  const replay = new Replay(disk, reader, base);
  const isOlder = (generation: number) => base !== undefined && generation < base.generation;
  const paths = generations.filter((each) => !isOlder(each)).map((each) => getJournalPath(path, each));
  for (const [i, journal] of paths.entries()) {
    try {
      await replay.add(journal);
    } catch (error) {
      addDamage(error, paths.slice(i));
      break;
    }
  }
  let requiredGenerations: ReadonlySet<number> = new Set();
  try {
    if (base && !damages?.length) requiredGenerations = requireSuccessorJournals(path, base, replay.journals);
  } catch (error) {
    addDamage(error, replay.emptyJournals);
  }
  const isRequired = ({ generation, transactions }: JournalContent) =>
    transactions > 0 || requiredGenerations.has(generation);
  const obsoleteJournals = [
    ...replay.emptyJournals,
    ...replay.journals.filter((journal) => !isRequired(journal)).map((journal) => journal.path),
  ];
  return {
    state,
    base,
    isOutdated: upgrade.isNeeded,
    position: replay.position,
    journals: replay.journals.filter(isRequired),
    transactions: replay.transactions,
    leftovers: [...temporaryFiles, ...paths.filter((journal) => obsoleteJournals.includes(journal))],
    olderJournals: generations.filter(isOlder),
    newest: Math.max(base?.generation ?? 0, generations.at(-1) ?? 0),
  };
}

export class NotAStateFileError extends StateFormatError {
  constructor(path: string) {
    super(`${path} is not an emulator state file`, { repairable: false });
  }
}

/** Returns the head of a damaged checkpoint. If it is unknown, the journals are read from the oldest on. */
function findHead(
  reader: DocumentReader,
  oldest: number,
): Pick<RecoveredCheckpoint, "generation" | "closed" | "position"> {
  try {
    return parseCheckpointHead(reader.head);
  } catch {
    return { generation: oldest, closed: undefined, position: undefined };
  }
}

/**
 * Returns the generations that must exist, because they were durable before any file named them: the generation of the
 * checkpoint unless it was closed, and all generations that other journals name. Fails with StateFormatError if a
 * journal is missing or empty.
 */
function requireSuccessorJournals(
  path: string,
  base: RecoveredCheckpoint,
  journals: readonly JournalContent[],
): ReadonlySet<number> {
  const requirements = journals.flatMap(({ next, path: source }) =>
    next === undefined ? [] : [[next, source] as const],
  );
  if (base.closed === false) requirements.unshift([base.generation, path]);
  for (const [generation, source] of requirements) {
    if (journals.some((journal) => journal.generation === generation)) continue;
    throw new StateFormatError(
      `${getJournalPath(path, generation)} is missing or empty, but ${source} continues in it`,
    );
  }
  return new Set(requirements.map(([generation]) => generation));
}

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
  const retained = { ...countEntries(state), transactions };
  if (damages.length === 0) return { repaired: false, damage: [], retained, dropped: [], renamed: [] };

  const renamed: string[] = [];
  // The hard link is created before the new file, so that the damaged bytes always exist.
  for (const file of damages.flatMap(({ files }) => files)) renamed.push(await linkDamagedFile(disk, file));
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
    retained,
    dropped: damages.flatMap(({ files }) => files.slice(1)),
    renamed,
  };
}

/** Gives a file a second, unused name: `<file>.damaged`, `<file>.damaged-2`, … */
async function linkDamagedFile(disk: Disk, file: string): Promise<string> {
  const names = new Set(await disk.list(dirname(file)));
  let newName = `${file}.damaged`;
  for (let i = 2; names.has(basename(newName)); i += 1) newName = `${file}.damaged-${i}`;
  await disk.link(file, newName);
  return newName;
}

function countEntries({ rows, mappings }: State): { rows: number; mappings: number } {
  const sum = (tables: Iterable<{ readonly size: number }>) => [...tables].reduce((total, { size }) => total + size, 0);
  return { rows: sum(rows.values()), mappings: sum(mappings.values()) };
}
