import { dirname } from "node:path";
import { lookupTable } from "../../../src/base/object.ts";
import {
  type Disk,
  type FsError,
  getFsErrorReason,
  makeFolderDurably,
  openFilesRemedies,
  systemDisk,
} from "../../../src/files/disk.ts";
import { startPosition } from "../../../src/files/log-line.ts";
import { formatTornEnd } from "../../../src/files/read-log.ts";
import { markClosed } from "../journal/checksummed-document.ts";
import { identifyFile } from "../journal/document.ts";
import { defaultStoreOptions, type StoreOptions } from "../journal/journaled-log.ts";
import { LiveStore } from "../live/live-store.ts";
import { StateAccessError, StateFormatError, type Store, StoreFailedError } from "../port.ts";
import { writeCheckpoint } from "./checkpoint-file.ts";
import { FileLog } from "./file-log.ts";
import { HistoryFiles } from "./history-files.ts";
import { createJournal } from "./journal-file.ts";
import { NotAStateFileError, recover } from "./recovery.ts";

export interface FileStoreOptions extends StoreOptions {
  /** The state file, such as `.svc/emulator.json`. Its folder is created if it is missing. */
  readonly path: string;
  readonly disk?: Disk;
  /** Returns whether this process still owns the state (default: true). */
  readonly isHeld?: (() => Promise<boolean>) | undefined;
}

const defaultCompactAfterBytes = 64 * 2 ** 20;

/**
 * Opens the state in a file, or creates one. Fails with StateFormatError if a file is damaged or has another version,
 * and then changes nothing. Call it only while holding the run file: two stores with the same file would destroy it.
 */
export async function openFileStore({
  path,
  disk = systemDisk,
  isHeld = async () => true,
  ...storeOptions
}: FileStoreOptions): Promise<Store> {
  const options = { ...defaultStoreOptions, compactAfterBytes: defaultCompactAfterBytes, ...storeOptions };
  const { collections, wall, historyBytes, report } = options;
  await makeFolderDurably(disk, dirname(path));
  const recovered = await recover(disk, path, collections).catch((cause) => explainFormatError(disk, path, cause));
  const { state, position = startPosition, newest } = recovered;
  let { base, journals, olderJournals } = recovered;
  const lastJournal = journals.at(-1);
  if (lastJournal?.torn) report(formatTornEnd(lastJournal.path));
  const files = await HistoryFiles.open({ disk, path, limit: historyBytes, report });
  // The first start writes a checkpoint, so that a journal without a state file is recognized as damage. So does the
  // first start with newer rows, because later writes have the present format.
  if (!base || recovered.isOutdated) {
    const former = base;
    const generation = newest + 1;
    const size = await writeCheckpoint({
      ...{ disk, path, state },
      getHead: () => ({ generation, closed: true, position, past: former && position }),
      beforeReplacing: async () => former && files.retainCheckpoint(former.generation),
    });
    olderJournals = [...olderJournals, ...journals.map((journal) => journal.generation)];
    base = { generation, closed: true, position, size };
    journals = [];
  }
  // The newest files are removed first, because a journal that reappears after a crash would lack its predecessor.
  for (const leftover of [...recovered.leftovers].reverse()) {
    await disk.remove(leftover);
    await disk.syncFolder(dirname(path));
  }
  for (const generation of olderJournals) await files.retainJournal(generation);
  if (olderJournals.length > 0) await files.trim();
  const last = journals.at(-1);
  const { file, length } = last
    ? { file: await disk.open(last.path, "write"), length: last.length }
    : await createJournal(disk, path, base.generation, base.generation);
  try {
    if (last?.torn) {
      await file.truncate(length);
      await file.sync();
    }
    // From here on a journal follows the checkpoint, and a missing journal is an error.
    if (base.closed) await markClosed(disk, path, false);
  } catch (cause) {
    await file.close().catch(() => {});
    throw cause;
  }
  const earlierJournals = journals.slice(0, -1);
  const log = new FileLog({
    ...options,
    ...{ disk, path, files, isHeld },
    journal: { file, length, position },
    generations: {
      current: last?.generation ?? base.generation,
      newest: Math.max(newest, base.generation),
      olderJournals: earlierJournals.map((journal) => journal.generation),
      olderBytes: earlierJournals.reduce((sum, journal) => sum + journal.length, 0),
      base: base.generation,
      baseBytes: base.size,
      emptyLength: last && last.transactions > 0 ? 0 : length,
    },
  });
  return new LiveStore({ state, wall, log });
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
  const reason = getFsErrorReason(cause as FsError);
  const location = failedPath === undefined || failedPath === path ? "" : ` (${code} at ${failedPath})`;
  throw new StateAccessError(`The state ${path} cannot be opened: ${reason}${location}. ${remedy}`, { cause });
}
