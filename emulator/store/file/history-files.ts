import { dirname, join } from "node:path";
import { type Disk, ignoreMissing, makeFolderDurably, readBeginning, withFile } from "../../../src/files/disk.ts";
import { isMissing } from "../../../src/files/folders.ts";
import { readLines, readLog } from "../../../src/files/read-log.ts";
import { type CheckpointHead, findCheckpointHead, maxHeadBytes } from "../journal/checkpoint.ts";
import type { Segment } from "../journal/stored-history.ts";
import { StateFormatError } from "../port.ts";
import { getJournalPath, listJournalGenerations } from "./journal-file.ts";

export const getHistoryFolder = (statePath: string): string => `${statePath}.history`;

interface HistoryOptions {
  readonly disk: Disk;
  readonly path: string;
  /** The maximum size in bytes. With 0, no history is stored. */
  readonly limit: number;
  readonly report: (message: string) => void;
}

/** A checkpoint of the past, and the generations of the journals that follow it. */
interface FormerGenerations {
  readonly base: number;
  readonly journals: readonly number[];
}

const fileNamePattern = /^(base|journal)\.(\d+)$/;

/**
 * The former files of a state: checkpoints (`base.7` precedes generation 7) and journals (`journal.7`). The newest
 * files are retained up to a limit in bytes. A journal without its checkpoint is useless. Errors here never prevent a
 * write, but a rewind then reaches less far back.
 */
export class HistoryFiles {
  readonly folder: string;
  readonly #options: HistoryOptions;
  readonly #sizes = new Map<string, number>();

  private constructor(options: HistoryOptions) {
    this.#options = options;
    this.folder = getHistoryFolder(options.path);
  }

  /** Lists the files and removes the oldest files beyond the limit. */
  static async open(options: HistoryOptions): Promise<HistoryFiles> {
    const files = new HistoryFiles(options);
    const names = (await options.disk.list(files.folder).catch(ignoreMissing)) ?? [];
    for (const name of names) if (fileNamePattern.test(name)) await files.#measure(name);
    await files.#prune();
    return files;
  }

  getCheckpointPath(generation: number): string {
    return join(this.folder, `base.${generation}`);
  }

  getJournalPath(generation: number): string {
    return join(this.folder, `journal.${generation}`);
  }

  get #generations(): readonly FormerGenerations[] {
    const listGenerations = (kind: string) =>
      [...this.#sizes.keys()].flatMap((name) => {
        const [, foundKind, generation] = fileNamePattern.exec(name) ?? [];
        return foundKind === kind ? Number(generation) : [];
      });
    const bases = listGenerations("base").sort((a, b) => a - b);
    const journals = listGenerations("journal").sort((a, b) => a - b);
    return bases.map((base, i) => {
      const end = bases[i + 1] ?? Number.POSITIVE_INFINITY;
      return { base, journals: journals.filter((each) => each >= base && each < end) };
    });
  }

  /** Lists the history of the state, oldest first. The last segment belongs to the present checkpoint. */
  async listSegments(): Promise<Segment[]> {
    const { disk, path } = this.#options;
    const currentHead = await readHead(disk, path);
    const formerSegments = await Promise.all(
      this.#generations.map(async ({ base, journals }) => {
        const checkpoint = this.getCheckpointPath(base);
        const head = await readHead(disk, checkpoint);
        // A failed replacement can leave a hard link to the current checkpoint.
        if (!head || head.generation === currentHead?.generation) return [];
        const journalPaths = journals.map((each) => this.getJournalPath(each));
        return [createSegment(disk, checkpoint, head, journalPaths)];
      }),
    );
    if (!currentHead) return formerSegments.flat();
    const generations = (await listJournalGenerations(disk, path)).filter((each) => each >= currentHead.generation);
    const journals = generations.map((each) => getJournalPath(path, each));
    return [...formerSegments.flat(), createSegment(disk, path, currentHead, journals)];
  }

  /** Gives the state file a second name, under which it stays after it is replaced. */
  retainCheckpoint(generation: number): Promise<void> {
    return this.#try(async ({ disk, path }) => {
      await makeFolderDurably(disk, this.folder);
      await disk.remove(this.getCheckpointPath(generation));
      await disk.link(path, this.getCheckpointPath(generation));
      await disk.syncFolder(this.folder);
      await this.#measure(`base.${generation}`);
    });
  }

  /** Clears the history, because it no longer leads to the present state. */
  async clear(): Promise<void> {
    for (const name of [...this.#sizes.keys()]) await this.#remove(name);
  }

  /** Moves a journal that the checkpoint contains into the history, or removes it. */
  async retainJournal(generation: number): Promise<void> {
    const { disk, path } = this.#options;
    const journal = getJournalPath(path, generation);
    const isReachable = this.#generations.some(({ base }) => base <= generation);
    if (isReachable) {
      await this.#try(async () => {
        await disk.rename(journal, this.getJournalPath(generation));
        await this.#measure(`journal.${generation}`);
      });
    }
    await disk.remove(journal).catch(() => {});
  }

  /** Removes the oldest files until the size is within the limit. */
  async trim(): Promise<void> {
    await this.#try(async ({ disk, path }) => {
      await this.#prune();
      if (this.#sizes.size > 0) await disk.syncFolder(this.folder);
      await disk.syncFolder(dirname(path));
    });
  }

  async #prune(): Promise<void> {
    const segments = [...this.#generations];
    const knownNames = new Set(segments.flatMap(({ base, journals }) => listNames(base, journals)));
    for (const name of [...this.#sizes.keys()]) if (!knownNames.has(name)) await this.#remove(name);
    let bytes = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (let oldest = segments.shift(); oldest && bytes > this.#options.limit; oldest = segments.shift()) {
      for (const name of listNames(oldest.base, oldest.journals)) {
        bytes -= this.#sizes.get(name) ?? 0;
        await this.#remove(name);
      }
    }
  }

  async #remove(name: string): Promise<void> {
    this.#sizes.delete(name);
    await this.#options.disk.remove(join(this.folder, name)).catch(() => {});
  }

  async #measure(name: string): Promise<void> {
    const size = await withFile(this.#options.disk, join(this.folder, name), "read", (file) => file.size());
    this.#sizes.set(name, size);
  }

  async #try(work: (options: HistoryOptions) => Promise<void>): Promise<void> {
    if (this.#options.limit === 0) return;
    try {
      await work(this.#options);
    } catch (cause) {
      this.#options.report(`history is lost, ${this.folder} cannot be written: ${(cause as Error).message}`);
    }
  }
}

const listNames = (base: number, journals: readonly number[]): string[] => [
  `base.${base}`,
  ...journals.map((journal) => `journal.${journal}`),
];

/** A checkpoint in a file, with the journals that follow it. */
const createSegment = (disk: Disk, path: string, head: CheckpointHead, journals: readonly string[]): Segment => ({
  head,
  async *readBase() {
    try {
      yield* readLines(disk, path);
    } catch (cause) {
      throw isMissing(cause) ? new StateFormatError((cause as Error).message, { cause }) : cause;
    }
  },
  async visitLines(onLine) {
    let position = head.position;
    let writtenBy: string | undefined;
    try {
      for (const journal of journals) {
        const { damage } = await readLog(disk, journal, {
          visitFirst(json) {
            writtenBy = JSON.parse(json).written_by;
            return position;
          },
          visitLine(json, linePosition) {
            if (!onLine(json, linePosition, writtenBy)) throw new StopReadingError();
            position = linePosition;
          },
        });
        if (damage) return;
      }
    } catch (cause) {
      if (!(cause instanceof StopReadingError || isMissing(cause))) throw cause;
    }
  },
});

async function readHead(disk: Disk, path: string): Promise<CheckpointHead | undefined> {
  const firstBlock = await readBeginning(disk, path, maxHeadBytes).catch(ignoreMissing);
  return firstBlock === undefined ? undefined : findCheckpointHead(firstBlock);
}

/** Thrown to stop reading when nothing more is needed. */
class StopReadingError extends Error {}
