import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { createTemporaryName } from "../../../src/files/atomic-write.ts";
import {
  type Disk,
  type DiskFile,
  describeFsError,
  ignoreMissing,
  makeFolderDurably,
  withFile,
} from "../../../src/files/disk.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import type { NewCheckpointHead } from "../journal/checkpoint.ts";
import { markClosed } from "../journal/checksummed-document.ts";
import { JournaledLog, type JournaledLogOptions } from "../journal/journaled-log.ts";
import type { Segment } from "../journal/stored-history.ts";
import type { State } from "../live/state.ts";
import { FileWriteError, StoreChangedError, StoreFailedError } from "../port.ts";
import { writeCheckpoint } from "./checkpoint-file.ts";
import type { HistoryFiles } from "./history-files.ts";
import { createJournal, getJournalPath } from "./journal-file.ts";

/** The files that hold the state, by their generations, and their sizes. */
interface Generations {
  current: number;
  newest: number;
  /** Earlier journals that the checkpoint does not contain. */
  olderJournals: number[];
  /** The size of these journals. */
  olderBytes: number;
  /** The generation that follows the checkpoint. */
  base: number;
  baseBytes: number;
  /** The size of the current journal if it has no transactions. */
  emptyLength: number;
}

interface FileLogOptions extends JournaledLogOptions {
  readonly disk: Disk;
  readonly path: string;
  /** The current journal: the end of its valid lines, and the position of the last line. */
  readonly journal: { readonly file: DiskFile; readonly length: number; readonly position: LogPosition };
  readonly generations: Generations;
  readonly files: HistoryFiles;
  readonly isHeld: () => Promise<boolean>;
}

interface NextJournal {
  readonly number: number;
  readonly file: DiskFile;
  readonly length: number;
}

/**
 * On close, a larger state retains its journals for the next start. A process that must end may not have time to write
 * a checkpoint.
 */
const maxBytesAtClose = 16 * 2 ** 20;

/** Checkpoint and journals on disk. It appends, compacts by generations, and replaces the whole state. */
export class FileLog extends JournaledLog {
  readonly #options: FileLogOptions;
  readonly #generations: Generations;
  /** The identities of its files at the last check, to detect that a file was removed or replaced. */
  #identities = new Map<string, string>();
  /** True while its files are missing or their names belong to other files. */
  #isDisturbed = false;
  /** True while the journal is shorter or longer than the written lines. */
  #isCut = false;

  constructor(options: FileLogOptions) {
    const { path, journal } = options;
    super(path, options, { path, ...journal, verify: (file, length) => this.#verify(file, length) });
    this.#options = options;
    this.#generations = options.generations;
  }

  protected get checkpointBytes(): number {
    return this.#generations.baseBytes;
  }

  protected get journalBytes(): number {
    return this.#generations.olderBytes + this.journal.length;
  }

  protected describeConsequences(failure: StoreFailedError): string {
    const next = failure instanceof StoreChangedError ? "" : ". Writing resumes when the disk accepts data again";
    return `. Pending changes fail, and reads continue${next}`;
  }

  protected listSegments(): Promise<Segment[]> {
    return this.#options.files.listSegments();
  }

  replace(state: State, past: LogPosition | undefined, moment = this.#options.getMoment()): Promise<void> {
    return this.checkpointMutex.runExclusive(async () => {
      let isReplaced = false;
      const onReplaced = () => {
        isReplaced = true;
      };
      try {
        this.cancelCompaction();
        await this.waitUntilFlushed();
        const next = await this.#nextGeneration();
        this.#rotate(next);
        const getHead = () => ({ ...this.#createHead(next), past, moment });
        await this.#archivePrevious(next, await this.#writeCheckpoint(next, state, { getHead, onReplaced }));
      } catch (cause) {
        if (this.failure) throw this.failure;
        const reason = `${this.displayName} cannot be replaced: ${describeFsError(cause) ?? (cause as Error).message}`;
        // The new file has its name but is perhaps not durable, so no later line would fit both the old and the new
        // state.
        throw isReplaced ? this.journal.fail(reason, cause) : new FileWriteError(reason, { cause });
      }
    });
  }

  /** Fails if a file of the state was removed or replaced: writes would be lost, or would go to another file. */
  async check(): Promise<void> {
    if (this.failure) return;
    await this.checkpointMutex.runExclusive(async () => {
      const tampering = await this.#checkTampering();
      if (tampering === undefined) return;
      this.#isDisturbed = true;
      const { reason, isGone } = tampering;
      this.journal.fail(reason, isGone ? undefined : new StoreChangedError(reason));
    });
  }

  /**
   * Resumes writing after a failure. `state` is the durable state and does not change meanwhile. If only a write
   * failed, the journal continues after its last durable line. Otherwise a new checkpoint replaces everything, because
   * the contents of a file are uncertain after a failed fdatasync.
   */
  async retryWrite(state: State): Promise<boolean> {
    await this.waitForCompaction();
    let result = "can be written again";
    try {
      const tampering = await this.#checkTampering();
      // A user can also remove files after a failed write.
      if (tampering?.isGone) this.#isDisturbed = true;
      if (this.#isDisturbed) {
        if (tampering?.isGone === false) return false;
        await makeFolderDurably(this.#options.disk, dirname(this.#options.path));
        await this.#options.files.clear();
        await this.#rewriteAll(state);
        this.#isDisturbed = false;
        this.#isCut = false;
        result = rewrittenMessage;
      } else if (this.journal.intact) {
        await probeWritable(this.#options.disk, this.#options.path);
        // Resuming must not extend a truncated journal.
        if ((await this.#readJournalSize()) < this.journal.length) {
          this.#isDisturbed = true;
          this.#isCut = true;
          return false;
        }
        await this.journal.resume();
      } else {
        await this.#rewriteAll(state);
      }
    } catch {
      return false;
    }
    this.#options.report(`${this.#options.path} ${result}`);
    return true;
  }

  async close(): Promise<void> {
    this.cancelCompaction();
    await this.waitForCompaction();
    await this.waitUntilFlushed().catch(() => {});
    const bytes = this.checkpointBytes + this.journalBytes;
    if (!this.failure && !this.#isClean && bytes <= maxBytesAtClose) await this.runCompaction();
    await this.journal.close();
    if (this.#isDisturbed) throw new StoreFailedError(`${this.failure?.message}. Recent changes are lost`);
    if (this.failure || !this.#isClean) return;
    const { disk, path } = this.#options;
    try {
      await markClosed(disk, path, true);
      await disk.remove(this.#journalPath);
    } catch (cause) {
      this.#options.report(`${path} could not be marked as closed. Its journal remains: ${(cause as Error).message}`);
    }
  }

  get #isClean(): boolean {
    return this.#generations.olderJournals.length === 0 && this.journal.length <= this.#generations.emptyLength;
  }

  async #checkTampering(): Promise<{ readonly reason: string; readonly isGone: boolean } | undefined> {
    const { path, isHeld } = this.#options;
    if (!(await isHeld())) return { reason: `Another emulator has opened the state ${path}`, isGone: false };
    const change = await this.#findChangedFile();
    if (change) {
      const reason = change.isGone
        ? "was removed"
        : "was replaced by another file. Move it away to restore it from memory";
      return { reason: `${change.path} ${reason}`, isGone: change.isGone };
    }
    const isStillCut = this.#isCut && (await this.#readJournalSize()) !== this.journal.length;
    return isStillCut ? { reason: this.#cutReason, isGone: false } : undefined;
  }

  /**
   * Finds a file that is gone or is another file than at the last check. A file that is checked for the first time is
   * accepted. The checkpoint is also compared by time and size, because a copy that is written over it has the same
   * inode.
   */
  async #findChangedFile() {
    const { olderJournals, current, base } = this.#generations;
    const checkpoint = this.#options.path;
    const journals = [...olderJournals, current].map((each) => getJournalPath(checkpoint, each));
    const identities = new Map<string, string>();
    for (const path of [checkpoint, ...journals]) {
      const name = path === checkpoint ? `base.${base}` : path;
      const file = await lstat(path).catch(ignoreMissing);
      if (file === undefined) return { path, isGone: true };
      const { dev, ino, size, mtimeMs } = file;
      const identity = path === checkpoint ? `${dev}:${ino}:${size}:${mtimeMs}` : `${dev}:${ino}`;
      if (identity !== (this.#identities.get(name) ?? identity)) return { path, isGone: false };
      identities.set(name, identity);
    }
    this.#identities = identities;
    return undefined;
  }

  /** Detects a user who truncates the journal, or copies an older journal over it, because the file stays the same. */
  async #verify(file: DiskFile, length: number): Promise<void> {
    if ((await file.size()) === length) return;
    this.#isDisturbed = true;
    this.#isCut = true;
    throw new StoreChangedError(this.#cutReason);
  }

  get #journalPath(): string {
    return getJournalPath(this.#options.path, this.#generations.current);
  }

  #readJournalSize(): Promise<number> {
    return withFile(this.#options.disk, this.#journalPath, "read", (file) => file.size());
  }

  get #cutReason(): string {
    return (
      `${this.#journalPath} was changed by another program: it lost lines, or an older copy replaced it. Nothing is ` +
      "written to it. Move it away to restore it from memory, or stop the emulator to continue with the file as it is"
    );
  }

  protected async compact(state: State, signal: AbortSignal): Promise<void> {
    const next = await this.#nextGeneration();
    let hasStarted = false;
    let release = () => {};
    try {
      const size = await this.#writeCheckpoint(next, state, {
        runStep: (work) => this.inspect(work),
        signal,
        getHead: () => {
          signal.throwIfAborted();
          if (this.failure) throw this.failure;
          hasStarted = true;
          this.#rotate(next);
          return this.#createHead(next);
        },
        beforeReplacing: async () => {
          release = await this.checkpointMutex.acquire();
          signal.throwIfAborted();
          await this.waitUntilFlushed();
          await this.#options.files.retainCheckpoint(this.#generations.base);
        },
      });
      await this.#archivePrevious(next, size);
    } catch (cause) {
      if (!hasStarted) await this.#discard(next);
      throw cause;
    } finally {
      release();
    }
  }

  /** Writes a new checkpoint and a journal that follows it. */
  #rewriteAll(state: State): Promise<void> {
    return this.checkpointMutex.runExclusive(async () => {
      const next = await this.#nextGeneration();
      let isReplaced = false;
      const onReplaced = () => {
        isReplaced = true;
      };
      // A file that svc did not write is not retained.
      const retention = this.#isDisturbed ? { beforeReplacing: async () => {} } : {};
      const size = await this.#writeCheckpoint(next, state, { onReplaced, ...retention }).catch(async (cause) => {
        // Once the checkpoint has its name, writing continues in that journal, even if the checkpoint is not certainly
        // durable.
        if (isReplaced) this.#generations.olderJournals.push(next.number);
        else await this.#discard(next);
        throw cause;
      });
      this.#generations.olderJournals.push(this.#generations.current);
      this.#generations.current = next.number;
      this.#generations.emptyLength = next.length;
      await this.journal.continueIn(next.file, next.length);
      await this.#archivePrevious(next, size);
    });
  }

  #writeCheckpoint(
    next: NextJournal,
    state: State,
    options: Partial<Parameters<typeof writeCheckpoint>[0]>,
  ): Promise<number> {
    const { disk, path, files } = this.#options;
    const getHead = () => this.#createHead(next);
    const beforeReplacing = () => files.retainCheckpoint(this.#generations.base);
    return writeCheckpoint({ disk, path, state, getHead, beforeReplacing, ...options });
  }

  /** Creates the head of the checkpoint that the journal `next` follows. */
  #createHead({ number }: NextJournal): NewCheckpointHead {
    const { position } = this.journal;
    return { generation: number, position, past: position, moment: this.#options.getMoment() };
  }

  async #nextGeneration(): Promise<NextJournal> {
    this.#generations.newest += 1;
    const { disk, path } = this.#options;
    const number = this.#generations.newest;
    return { number, ...(await createJournal(disk, path, number, this.#generations.current)) };
  }

  #rotate(next: NextJournal): void {
    // The last line names the next journal, so that a missing journal is detected.
    void this.journal.append(JSON.stringify({ next: next.number })).catch(() => {});
    this.#generations.olderJournals.push(this.#generations.current);
    this.#generations.olderBytes += this.journal.length;
    this.#generations.current = next.number;
    this.#generations.emptyLength = next.length;
    this.journal.rotate(next.file, next.length);
  }

  async #discard(next: NextJournal): Promise<void> {
    await next.file.close().catch(() => {});
    await this.#options.disk.remove(getJournalPath(this.#options.path, next.number)).catch(() => {});
  }

  /** Moves the journals that the new checkpoint contains to the history, or removes them. */
  async #archivePrevious(next: NextJournal, baseBytes: number): Promise<void> {
    const { files } = this.#options;
    this.#generations.base = next.number;
    this.#generations.baseBytes = baseBytes;
    this.#generations.olderBytes = 0;
    // Files that reappear after a crash are removed at the next start.
    for (const generation of this.#generations.olderJournals.splice(0)) await files.retainJournal(generation);
    await files.trim();
  }
}

const rewrittenMessage = "was removed. It is rewritten from memory. Snapshots, uploads and history next to it are lost";

/** Larger than a usual line, so that the next write does not use up the free space. */
const probeBytes = 256 * 1024;

/** Durably writes a file next to the state and removes it. Fails with the system's error. */
async function probeWritable(disk: Disk, path: string): Promise<void> {
  const temporary = createTemporaryName(path);
  const file = await disk.create(temporary);
  try {
    await file.write(new Uint8Array(probeBytes), 0);
    await file.datasync();
  } finally {
    await file.close().catch(() => {});
    await disk.remove(temporary).catch(() => {});
  }
}
