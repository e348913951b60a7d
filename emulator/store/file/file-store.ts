import { dirname } from "node:path";
import type { WallClock } from "../../../src/base/clock.ts";
import { lookupTable } from "../../../src/base/object.ts";
import {
  type Disk,
  getFsErrorReason,
  isFsError,
  makeFolderDurably,
  openFilesRemedies,
  systemDisk,
} from "../../../src/files/disk.ts";
import { type LogPosition, startPosition } from "../../../src/files/log-line.ts";
import { saveTornTail } from "../../../src/files/read-log.ts";
import { LiveStore } from "../live/live-store.ts";
import {
  type Collection,
  type Moment,
  StateAccessError,
  StateFormatError,
  type Store,
  StoreFailedError,
} from "../port.ts";
import { writeCheckpoint } from "./checkpoint-file.ts";
import { markClosed } from "./checksummed-document.ts";
import { identifyFile } from "./document.ts";
import { FileLog, type FileLogOptions } from "./file-log.ts";
import { HistoryFiles } from "./history-files.ts";
import { createJournal, type JournalContent } from "./journal.ts";
import { NotAStateFileError, type RecoveredState, recover } from "./recovery.ts";

export interface FileStoreOptions {
  /** The state file, such as `.svc/emulator.json`. Its folder is created if it is missing. */
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly disk?: Disk;
  /** The journal is compacted when it is larger than this limit and than the checkpoint. */
  readonly compactAfterBytes?: number;
  readonly historyBytes?: number | undefined;
  readonly getMoment?: () => Moment;
  /** Returns whether this process still owns the state (default: true). */
  readonly isHeld?: (() => Promise<boolean>) | undefined;
  /**
   * Called with messages for the user: data that is skipped at the start, failed writes, and writes that work again.
   */
  readonly report?: (message: string) => void;
}

const defaultCompactAfterBytes = 64 * 1024 * 1024;

/**
 * Opens the state in a file, or creates one. Fails with StateFormatError if a file is damaged or has another version,
 * and then changes nothing. Call it only while holding the run file: two stores with the same file would destroy it.
 */
export async function openFileStore(options: FileStoreOptions): Promise<Store> {
  const { path, collections, wall } = options;
  const disk = options.disk ?? systemDisk;
  const { report = () => {}, getMoment = () => ({}) } = options;
  await makeFolderDurably(disk, dirname(path));
  const recovered = await recover(disk, path, collections).catch((cause) => explainFormatError(disk, path, cause));
  const lastJournal = recovered.journals.at(-1);
  if (lastJournal?.torn) report(await saveTornTail(disk, lastJournal.path, lastJournal.length));
  const files = await HistoryFiles.open({ disk, path, limit: options.historyBytes ?? 0, report });
  const status = await ensureCheckpoint(disk, path, recovered, files);
  // The newest files are removed first, because a journal that reappears after a crash would lack its predecessor.
  for (const leftover of [...recovered.leftovers].reverse()) {
    await disk.remove(leftover);
    await disk.syncFolder(dirname(path));
  }
  const olderJournals = [...recovered.olderJournals, ...status.olderJournals];
  for (const generation of olderJournals) await files.retainJournal(generation);
  if (olderJournals.length > 0) await files.trim();
  const openedJournal = await openJournal(disk, path, status, recovered);
  const { file, length } = openedJournal.journal;
  try {
    if (status.journals.at(-1)?.torn) {
      await file.truncate(length);
      await file.sync();
    }
    // From here on a journal follows the checkpoint, and a missing journal is an error.
    if (status.closed) await markClosed(disk, path, false);
  } catch (cause) {
    await file.close().catch(() => {});
    throw cause;
  }
  const log = new FileLog({
    disk,
    path,
    ...openedJournal,
    collections,
    files,
    getMoment,
    wall,
    isHeld: options.isHeld ?? (async () => true),
    compactAfterBytes: options.compactAfterBytes ?? defaultCompactAfterBytes,
    report,
  });
  return new LiveStore({ state: recovered.state, wall, log });
}

interface JournalStatus {
  readonly generation: number;
  readonly closed: boolean;
  readonly size: number;
  readonly position: LogPosition;
  /** The journals that the next journal continues. */
  readonly journals: readonly JournalContent[];
  /** Generations that the checkpoint now contains, and that lead back to the previous checkpoint. */
  readonly olderJournals: readonly number[];
}

/**
 * Returns the existing checkpoint, or writes a new one. The first start writes one, so that a journal without a state
 * file is recognized as damage. Rows of an earlier version also require a new checkpoint, because later writes have the
 * present format. The old rows stay in the history, which names their version.
 */
async function ensureCheckpoint(
  disk: Disk,
  path: string,
  recovered: RecoveredState,
  files: HistoryFiles,
): Promise<JournalStatus> {
  const { state, base, journals, isOutdated, newest } = recovered;
  const position = recovered.position ?? startPosition;
  if (base && !isOutdated) return { ...base, closed: base.closed === true, position, journals, olderJournals: [] };
  const generation = newest + 1;
  const size = await writeCheckpoint({
    ...{ disk, path, state },
    getHead: () => ({ generation, closed: true, position, past: base && position }),
    beforeReplacing: async () => base && files.retainCheckpoint(base.generation),
  });
  const generations = journals.map(({ header }) => header?.generation ?? 0);
  return { generation, closed: true, size, position, journals: [], olderJournals: generations };
}

/** Opens the last journal at the end of its valid lines, or creates an empty journal. */
async function openJournal(
  disk: Disk,
  path: string,
  { generation, size, journals, position }: JournalStatus,
  { newest }: RecoveredState,
): Promise<Pick<FileLogOptions, "journal" | "generations">> {
  const baseGenerations = { base: generation, baseBytes: size, newest: Math.max(newest, generation) };
  const lastJournal = journals.at(-1);
  if (lastJournal?.header === undefined) {
    const { file, length } = await createJournal(disk, path, generation, generation);
    return {
      journal: { file, length, position },
      generations: { ...baseGenerations, current: generation, olderJournals: [], olderBytes: 0, emptyLength: length },
    };
  }
  const file = await disk.open(lastJournal.path, "write");
  const earlierJournals = journals.slice(0, -1);
  return {
    journal: { file, length: lastJournal.length, position },
    generations: {
      ...baseGenerations,
      current: lastJournal.header.generation,
      olderJournals: earlierJournals.map((journal) => journal.header?.generation ?? 0),
      olderBytes: earlierJournals.reduce((sum, journal) => sum + journal.length, 0),
      emptyLength: lastJournal.transactions > 0 ? 0 : lastJournal.length,
    },
  };
}

/** Explains why a file cannot be opened as a state, with the next step. Other errors are thrown unchanged. */
async function explainFormatError(disk: Disk, path: string, cause: unknown): Promise<never> {
  if (!(cause instanceof StateFormatError)) throw cause;
  const explain = (problem: string, nextStep: string, repairable = false) =>
    new StateFormatError(`${problem}. Nothing was changed. ${nextStep}`, { cause, repairable });
  const kind = await identifyFile(disk, path).catch(() => undefined);
  if (kind === "exported") {
    throw explain(
      `${path} is an exported state, not an emulator state file`,
      `Start an emulator on another file, and import it: "svc emulator state import --data ${path}".`,
    );
  }
  if (kind === "snapshot") {
    throw explain(
      `${path} is a snapshot, not an emulator state file`,
      `Start with a copy of it: "svc emulator start --from ${path}".`,
    );
  }
  if (cause instanceof NotAStateFileError)
    throw explain(cause.message, "Choose another file with the option file. To load a seed, use the option seed.");
  const nextStep = cause.repairable
    ? `Run "svc emulator repair ${path}" to recover the intact data and move the damaged file aside.`
    : "Use that version, restore the missing files, or choose another file with the option file.";
  throw explain(cause.message, nextStep, cause.repairable);
}

const diskFullHint = "Free disk space, or choose a file on another disk with the option file.";
const accessHint =
  "Grant this user read and write access, choose another file with the option file, or use the option ephemeral.";

const remedies = lookupTable<string>({
  ENOSPC: diskFullHint,
  EDQUOT: diskFullHint,
  EROFS: "Choose another file with the option file, or use the option ephemeral.",
  ELOOP: "Remove the link, or choose another file with the option file.",
  EISDIR: "Choose a file with the option file.",
  ENOTDIR: "Choose a file in a folder with the option file.",
  EEXIST: "Choose a file in a folder with the option file.",
  ...openFilesRemedies,
  EACCES: accessHint,
  EPERM: accessHint,
  EIO: "Check the disk, or choose a file on another disk with the option file.",
});

/**
 * Throws a file system error at a start, or the store's error for it, as StateAccessError. Throws any other error
 * unchanged.
 */
export function explainUnusable(path: string, error: unknown): never {
  const cause = error instanceof StoreFailedError ? (error.cause ?? error) : error;
  const { code = "", path: failedPath } = cause as NodeJS.ErrnoException;
  const remedy = remedies[code];
  if (remedy === undefined) throw error;
  // The folder of the state cannot be created because a file has its name.
  const reason = isFsError(cause) ? getFsErrorReason(cause) : "its folder is a file";
  const location = failedPath === undefined || failedPath === path ? "" : ` (${code} at ${failedPath})`;
  throw new StateAccessError(`The state ${path} cannot be opened: ${reason}${location}. ${remedy}`, { cause });
}
