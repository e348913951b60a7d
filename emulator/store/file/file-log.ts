import { dirname } from "node:path";
import { Low } from "lowdb";
import type { Wall } from "../../../src/base/clock.ts";
import { AppendLog } from "../../../src/files/append-log.ts";
import type { Disk, DiskFile } from "../../../src/files/disk.ts";
import { makeFolderDurably } from "../../../src/files/folder.ts";
import type { Position } from "../../../src/files/log-line.ts";
import { whyRefused } from "../../../src/files/refusals.ts";
import type { Moment } from "../history.ts";
import type { CommitLog } from "../live/commits.ts";
import { Compaction } from "../live/compaction.ts";
import { Turns } from "../live/gate.ts";
import type { Change, State } from "../live/state.ts";
import { type Collection, FileRefused, type History, StoreChangedError, StoreFailed } from "../port.ts";
import { type Base, BaseFile } from "./base/base-file.ts";
import { markClosed } from "./base/document-checksum.ts";
import { commitLine } from "./history/commit-line.ts";
import { fileSegments } from "./history/file-segments.ts";
import type { HistoryFiles } from "./history/history-files.ts";
import { KeptHistory } from "./history/kept-history.ts";
import { createJournal, journalPath } from "./journal/journal-file.ts";
import { OwnFiles } from "./kept-state.ts";
import { tryWriting } from "./trial-write.ts";

interface Options {
  readonly disk: Disk;
  readonly path: string;
  readonly collections: readonly Collection[];
  /** The journal that is written to: where its good lines end, and what they end with. */
  readonly journal: { readonly file: DiskFile; readonly length: number; readonly position: Position };
  readonly generation: number;
  /** The last generation that a file was ever made for. */
  readonly newest: number;
  /** Earlier journals that the base does not hold, and their bytes. */
  readonly behind: readonly number[];
  readonly behindBytes: number;
  readonly baseBytes: number;
  /** The generation that follows the base. */
  readonly baseGeneration: number;
  /** What was left behind, and what will be. */
  readonly files: HistoryFiles;
  /** What each line says beside its changes. */
  readonly moment: () => Moment;
  readonly wall: Wall;
  /** Whether this process still has the state for itself. */
  readonly isHeld: () => Promise<boolean>;
  /** The journal is compacted when it is longer than this and than the base. */
  readonly compactAfterBytes: number;
  /** Told when a compaction fails, when nothing can be written any more, and when it can again. */
  readonly report: (message: string) => void;
}

interface NextJournal {
  readonly number: number;
  readonly file: DiskFile;
  readonly length: number;
}

type Inspect = <T>(work: (state: State) => T) => Promise<T>;

/**
 * When it is closed, a larger state keeps its journals, which the next start reads: a process that is told to end may take
 * less time than a base does, and be cut off with half of one.
 */
const maxBytesAtClose = 16 * 2 ** 20;

/** Base and journals on disk: appends, compacts by generations, replaces the whole. */
export class FileLog implements CommitLog {
  readonly #options: Options;
  readonly #journal: AppendLog<StoreFailed>;
  #inspect: Inspect = () => Promise.reject(new Error("not attached"));
  #generation: number;
  /** The last generation that a file was made for. */
  #newest: number;
  #behind: number[];
  #behindBytes: number;
  #baseBytes: number;
  #baseGeneration: number;
  readonly history: History | undefined;
  #emptyLength = 0;
  readonly #compaction: Compaction;
  /** Whoever changes which base counts: one at a time. */
  readonly #renaming = new Turns();
  #failed: () => void = () => {};
  readonly #own = new OwnFiles();
  /** Set while its files are gone, or others have their names. */
  #isDisturbed = false;
  /** Set while the journal is not as long as what was written. */
  #isCut = false;

  constructor(options: Options & { readonly emptyLength: number }) {
    this.#options = options;
    this.#journal = new AppendLog({
      ...options.journal,
      path: options.path,
      failure: (reason, cause) => (cause instanceof StoreChangedError ? cause : new StoreFailed(reason, { cause })),
      verify: (file, length) => this.#verify(file, length),
      onFailure: (failure) => {
        const next = failure instanceof StoreChangedError ? "" : ". Writing resumes when the disk accepts data again";
        options.report(`${failure.message}. Pending changes fail, and reads continue${next}`);
        this.#failed();
      },
    });
    this.#compaction = new Compaction({
      name: options.path,
      compactAfterBytes: options.compactAfterBytes,
      write: (mayGoOn) => this.#compact(mayGoOn),
      failure: () => this.failure,
      report: options.report,
    });
    this.#generation = options.generation;
    this.#newest = options.newest;
    this.#behind = [...options.behind];
    this.#behindBytes = options.behindBytes;
    this.#baseBytes = options.baseBytes;
    this.#baseGeneration = options.baseGeneration;
    if (options.files.limit > 0) {
      this.history = new KeptHistory({
        ...options,
        place: () => this.#journal.position,
        flushed: () => this.#journal.flushed(),
        segments: () => fileSegments(options),
        undisturbed: (work) => this.#renaming.run(work),
      });
    }
    this.#emptyLength = options.emptyLength;
  }

  /** Tells how to look at the state while no transaction is open; before anything else. */
  attach(inspect: Inspect): void {
    this.#inspect = inspect;
  }

  get failure(): StoreFailed | undefined {
    return this.#journal.failure;
  }

  onFailure(failed: () => void): void {
    this.#failed = failed;
  }

  flushed(): Promise<void> {
    return this.#journal.flushed();
  }

  append(changes: readonly Change[], cause: string | undefined): Promise<void> {
    const durable = this.#journal.append(commitLine(changes, cause, this.#options.moment()));
    this.#compaction.consider(this.#behindBytes + this.#journal.length, this.#baseBytes);
    return durable;
  }

  async replace(state: State, past: Position | undefined, moment = this.#options.moment()): Promise<void> {
    const leave = await this.#renaming.enter();
    const adapter = this.#baseFile({ past: () => past, moment: () => moment });
    try {
      this.#compaction.overtake();
      await this.#journal.flushed();
      const generation = await this.#nextGeneration();
      this.#rotate(generation);
      await new Low<Base>(adapter, { generation: generation.number, state }).write();
      await this.#leaveBehind(generation.number, adapter.size);
    } catch (cause) {
      if (this.failure) throw this.failure;
      const reason = `${this.#options.path} cannot be replaced: ${whyRefused(cause) ?? messageOf(cause)}`;
      // With the new file in place, but perhaps not durably, no later line would fit both pictures.
      throw adapter.renamed ? this.#journal.fail(reason, cause) : new FileRefused(reason, { cause });
    } finally {
      leave();
    }
  }

  /** Fails where somebody has removed or replaced a file of the state: what is written there would be in none, or in theirs. */
  async check(): Promise<void> {
    if (this.failure) return;
    const leave = await this.#renaming.enter();
    try {
      const disturbance = await this.#disturbance();
      if (disturbance === undefined) return;
      this.#isDisturbed = true;
      const { reason, isGone } = disturbance;
      this.#journal.fail(reason, isGone ? undefined : new StoreChangedError(reason));
    } finally {
      leave();
    }
  }

  /**
   * Makes the log write again after a failure; `state` is what was committed durably, and does not change meanwhile.
   * Where only a write failed, the journal goes on behind its last durable line. Else a new base takes the place of
   * everything: what a file holds after a failed fdatasync is not certain, what the memory holds is.
   */
  async mend(state: State): Promise<boolean> {
    await this.#compaction.ended();
    const isAnew = this.#isDisturbed;
    try {
      if (isAnew) {
        if ((await this.#disturbance())?.isGone === false) return false;
        await makeFolderDurably(this.#options.disk, dirname(this.#options.path));
        await this.#options.files.clear();
        await this.#writeAnew(state);
        this.#isDisturbed = false;
        this.#isCut = false;
      } else if (this.#journal.intact) {
        await tryWriting(this.#options.disk, this.#options.path);
        // What is cut back must not grow by that.
        if ((await this.#journalSize()) < this.#journal.length) {
          this.#isDisturbed = true;
          this.#isCut = true;
          return false;
        }
        await this.#journal.resume();
      } else {
        await this.#writeAnew(state);
      }
    } catch {
      return false;
    }
    const { path, report } = this.#options;
    report(isAnew ? `${path} ${writtenAnew}` : `${path} can be written again`);
    return true;
  }

  async close(): Promise<void> {
    this.#compaction.overtake();
    await this.#compaction.ended();
    await this.#journal.flushed().catch(() => {});
    const bytes = this.#baseBytes + this.#behindBytes + this.#journal.length;
    if (!this.failure && !this.#clean && bytes <= maxBytesAtClose) await this.#compaction.run();
    await this.#journal.close();
    if (this.#isDisturbed) throw new StoreFailed(`${this.failure?.message}. What it did not hold is kept nowhere`);
    if (this.failure || !this.#clean) return;
    const { disk, path } = this.#options;
    try {
      await markClosed(disk, path, true);
      await disk.remove(journalPath(path, this.#generation));
    } catch (cause) {
      this.#options.report(`${path} could not be marked as closed, its journal stays: ${messageOf(cause)}`);
    }
  }

  /** Whether the base holds everything. */
  get #clean(): boolean {
    return this.#behind.length === 0 && this.#journal.length <= this.#emptyLength;
  }

  async #disturbance(): Promise<{ readonly reason: string; readonly isGone: boolean } | undefined> {
    const { path, isHeld } = this.#options;
    if (!(await isHeld())) return { reason: `Another emulator has taken the state ${path}`, isGone: false };
    const journals = [...this.#behind, this.#generation].map((one) => [`journal.${one}`, journalPath(path, one)]);
    const base = `base.${this.#baseGeneration}`;
    const found = await this.#own.look({ [base]: path, ...Object.fromEntries(journals) }, base);
    if (!found && this.#isCut && (await this.#journalSize()) !== this.#journal.length)
      return { reason: this.#cutReason, isGone: false };
    if (!found) return undefined;
    const { isGone } = found;
    const reason = isGone
      ? "was removed"
      : "is another file than this emulator wrote: move it away, and it is put back";
    return { reason: `${found.path} ${reason}`, isGone };
  }

  /** Somebody who puts an older copy in place of the journal, or cuts it off, writes on the same file. */
  async #verify(file: DiskFile, length: number): Promise<void> {
    if ((await file.size()) === length) return;
    this.#isDisturbed = true;
    this.#isCut = true;
    throw new StoreChangedError(this.#cutReason);
  }

  async #journalSize(): Promise<number> {
    const journal = await this.#options.disk.open(journalPath(this.#options.path, this.#generation), "read");
    try {
      return await journal.size();
    } finally {
      await journal.close();
    }
  }

  get #cutReason(): string {
    return (
      `${journalPath(this.#options.path, this.#generation)} is not as this emulator left it: it lost lines, or an older ` +
      "copy replaced it. Nothing is written to it. Move it away to restore it from memory, or stop the emulator to " +
      "continue with the file as it is"
    );
  }

  /** Writes a base while transactions go on. */
  async #compact(mayGoOn: () => void): Promise<void> {
    const next = await this.#nextGeneration();
    let begun = false;
    let leave = () => {};
    const adapter = this.#baseFile({
      step: (work) => this.#inspect(work),
      mayGoOn,
      begin: () => {
        mayGoOn();
        if (this.failure) throw this.failure;
        begun = true;
        this.#rotate(next);
      },
      durable: async () => {
        leave = await this.#renaming.enter();
        mayGoOn();
        await this.#journal.flushed();
        await this.#options.files.keepBase(this.#baseGeneration);
      },
    });
    try {
      const state = await this.#inspect((current) => current);
      await new Low<Base>(adapter, { generation: next.number, state }).write();
      await this.#leaveBehind(next.number, adapter.size);
    } catch (cause) {
      if (!begun) await this.#discard(next);
      throw cause;
    } finally {
      leave();
    }
  }

  /** A whole new base, and a journal that follows it. */
  async #writeAnew(state: State): Promise<void> {
    const leave = await this.#renaming.enter();
    // What a name leads to that nobody of us has written is not kept.
    const adapter = this.#baseFile(this.#isDisturbed ? { durable: async () => {} } : {});
    try {
      const next = await this.#nextGeneration();
      try {
        await new Low<Base>(adapter, { generation: next.number, state }).write();
      } catch (cause) {
        // Once it is in place it goes on in that journal, even if it is not certain to stay there.
        if (adapter.renamed) this.#behind.push(next.number);
        else await this.#discard(next);
        throw cause;
      }
      this.#behind.push(this.#generation);
      this.#generation = next.number;
      this.#emptyLength = next.length;
      await this.#journal.goOnIn(next.file, next.length);
      await this.#leaveBehind(next.number, adapter.size);
    } finally {
      leave();
    }
  }

  #baseFile(more: Partial<ConstructorParameters<typeof BaseFile>[0]> = {}): BaseFile {
    const position = () => this.#journal.position;
    const durable = () => this.#options.files.keepBase(this.#baseGeneration);
    return new BaseFile({ ...this.#options, position, past: position, durable, ...more });
  }

  async #nextGeneration(): Promise<NextJournal> {
    this.#newest += 1;
    const { disk, path } = this.#options;
    const number = this.#newest;
    return { number, ...(await createJournal(disk, path, number, this.#generation)) };
  }

  #rotate(next: NextJournal): void {
    // Its last line: with it, a next journal that is missing is known to be missing.
    void this.#journal.append(JSON.stringify({ next: next.number })).catch(() => {});
    this.#behind.push(this.#generation);
    this.#behindBytes += this.#journal.length;
    this.#generation = next.number;
    this.#emptyLength = next.length;
    this.#journal.rotate(next.file, next.length);
  }

  async #discard(next: NextJournal): Promise<void> {
    await next.file.close().catch(() => {});
    await this.#options.disk.remove(journalPath(this.#options.path, next.number)).catch(() => {});
  }

  /** The journals that the new base holds go to what was left before, or away. */
  async #leaveBehind(baseGeneration: number, baseBytes: number): Promise<void> {
    const { files } = this.#options;
    this.#baseGeneration = baseGeneration;
    this.#baseBytes = baseBytes;
    this.#behindBytes = 0;
    // Those that come back after a crash go at the next start.
    for (const generation of this.#behind.splice(0)) await files.keepJournal(generation);
    await files.trim();
  }
}

const writtenAnew =
  "was removed, and is written anew with all that the emulator has in memory; snapshots, uploads and history that lay beside it are gone";

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
