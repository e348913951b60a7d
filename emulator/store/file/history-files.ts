import { dirname, join } from "node:path";
import { type Disk, makeFolderDurably } from "../../../src/files/disk.ts";
import type { Change } from "../live/state.ts";
import type { Commit, Moment } from "../port.ts";
import { getJournalPath } from "./journal.ts";

export const getHistoryFolder = (statePath: string): string => `${statePath}.history`;

interface HistoryOptions {
  readonly disk: Disk;
  readonly path: string;
  /** The maximum size in bytes. With 0, no history is stored. */
  readonly limit: number;
  readonly report: (message: string) => void;
}

/** A checkpoint of the past, and the generations of the journals that follow it. */
interface Segment {
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
    const names = await options.disk.list(files.folder).catch(() => []);
    for (const name of names) if (fileNamePattern.test(name)) await files.#measure(name);
    await files.#prune();
    return files;
  }

  get limit(): number {
    return this.#options.limit;
  }

  getCheckpointPath(generation: number): string {
    return join(this.folder, `base.${generation}`);
  }

  getJournalPath(generation: number): string {
    return join(this.folder, `journal.${generation}`);
  }

  get segments(): readonly Segment[] {
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
    const isReachable = this.segments.some(({ base }) => base <= generation);
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
    const segments = [...this.segments];
    const knownNames = new Set(segments.flatMap(({ base, journals }) => listNames(base, journals)));
    for (const name of [...this.#sizes.keys()]) if (!knownNames.has(name)) await this.#remove(name);
    let bytes = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (let oldest = segments.shift(); oldest && bytes > this.limit; oldest = segments.shift()) {
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
    const file = await this.#options.disk.open(join(this.folder, name), "read");
    try {
      this.#sizes.set(name, await file.size());
    } finally {
      await file.close();
    }
  }

  async #try(work: (options: HistoryOptions) => Promise<void>): Promise<void> {
    if (this.limit === 0) return;
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

/*
 * A line of a journal: `{"at":…,"cause":"request:12","ids":…,"changes":[…]}`. The changes come last, so that the other
 * fields can be read without them.
 */

const changesMarker = ',"changes":[';

export function formatCommitLine(changes: readonly Change[], cause: string | undefined, { at, ids }: Moment): string {
  // Strings are concatenated, because an object per commit is slower.
  const causeField = cause === undefined ? "" : `,"cause":${JSON.stringify(cause)}`;
  const idsField = ids === undefined ? "" : `,"ids":${JSON.stringify(ids)}`;
  return `{"at":${at ?? null}${causeField}${idsField},"changes":${JSON.stringify(changes)}}`;
}

/** Parses the fields of a line that precede its changes. Returns undefined if the line has none. */
export function parseCommitLine(json: string): Omit<Commit, "number"> | undefined {
  const end = json.indexOf(changesMarker);
  if (end === -1 || !json.startsWith('{"at":')) return undefined;
  const { at, cause, ids } = JSON.parse(`${json.slice(0, end)}}`);
  return { at: at ?? undefined, cause, ids };
}
