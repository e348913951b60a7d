import type { WallClock } from "../../../src/base/clock.ts";
import { type Disk, isMissing } from "../../../src/files/disk.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { readLines } from "../../../src/files/read-lines.ts";
import { readLog } from "../../../src/files/read-log.ts";
import { LiveStore } from "../live/live-store.ts";
import {
  type Collection,
  type Commit,
  type History,
  type HistoryStart,
  StateFormatError,
  type Store,
} from "../port.ts";
import { type CheckpointHead, findCheckpointHead, maxHeadLength } from "./checkpoint-file.ts";
import { readChecksummedInto } from "./checksummed-document.ts";
import { DocumentReader } from "./document-reader.ts";
import { type HistoryFiles, parseCommitLine } from "./history-files.ts";
import { journalGenerations, journalPath, Replay } from "./journal.ts";

/** A checkpoint with the lines that follow it, up to the next checkpoint. */
export interface Segment {
  readonly head: CheckpointHead;
  /** The checkpoint, block by block; each ends at the end of a line. */
  base(): AsyncIterable<Buffer>;
  /** Shows the lines that follow the checkpoint, up to where they end, are damaged, or `take` returns false. */
  lines(take: LineHandler): Promise<void>;
  /** Applies the lines up to that number to the state of the checkpoint. Fails with StateFormatError. */
  replay(reader: DocumentReader, last: number): Promise<void>;
}

export type LineHandler = (json: string, place: LogPosition) => boolean;

interface Options {
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly place: () => LogPosition;
  /** Resolves once all that was committed can be read again. */
  readonly flushed: () => Promise<void>;
  /** All that are stored, oldest first; the last one is that of the present checkpoint. */
  readonly segments: () => Promise<Segment[]>;
  /** Runs work while no checkpoint is replaced or removed. */
  readonly undisturbed: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * The history of a state: its checkpoints and the lines between them. They are in the order in which they were written;
 * a checkpoint names the line after which its state was. After a restore, that is an earlier line, or none: so the way
 * back leads from the present checkpoint over that line to the checkpoint before it, past everything that belongs to
 * replaced states.
 */
export class StoredHistory implements History {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  place(): LogPosition {
    const { number, checksum } = this.#options.place();
    return { number, checksum };
  }

  visit(visit: (commit: Commit) => boolean): Promise<HistoryStart | undefined> {
    return this.#options.undisturbed(async () => {
      // Before the wait: of the lines that come meanwhile some cannot be read yet.
      const present = this.place();
      await this.#options.flushed();
      const segments = await this.#options.segments();
      let end: LogPosition | undefined = present;
      let reach: HistoryStart | undefined;
      for (let segment = segments.pop(); segment && end; segment = segments.pop()) {
        const { position, past, moment } = segment.head;
        if (position.number > end.number) continue;
        const commits = await commitsUpTo(segment, end);
        if (!commits) break;
        for (const commit of commits.reverse()) if (!visit(commit)) return undefined;
        reach = { ...moment, number: position.number };
        end = past;
      }
      return reach ?? present;
    });
  }

  stateAfter(number: number): Promise<{ readonly store: Store; readonly past: LogPosition }> {
    return this.#options.undisturbed(async () => {
      const { collections, wall, flushed, segments } = this.#options;
      await flushed();
      const segment = (await segments()).findLast(({ head }) => head.position.number <= number);
      if (!segment) throw new StateFormatError("That point is no longer in the history");
      try {
        const reader = new DocumentReader(collections, { isSealed: true });
        await readChecksummedInto(reader, segment.base());
        const past = await placeOf(segment, number);
        if (past === undefined) throw new StateFormatError("lines are missing");
        await segment.replay(reader, number);
        return { store: new LiveStore({ state: reader.state, wall }), past };
      } catch (cause) {
        if (!(cause instanceof StateFormatError)) throw cause;
        throw new StateFormatError(`The history is damaged: ${cause.message}`, { cause });
      }
    });
  }
}

/** Position of the line of that number, or of the checkpoint; undefined if the lines before it are not complete. */
async function placeOf({ head: { position }, lines }: Segment, number: number): Promise<LogPosition | undefined> {
  if (position.number === number) return position;
  let found: LogPosition | undefined;
  await lines((_, place) => {
    if (place.number === number) found = { number, checksum: place.checksum };
    return place.number < number;
  });
  return found;
}

/**
 * The commits of a segment up to a line, oldest first; undefined if that line is not in it, or one before it is gone.
 */
async function commitsUpTo({ head, lines }: Segment, end: LogPosition): Promise<Commit[] | undefined> {
  const commits: Commit[] = [];
  let last = head.position;
  if (last.number < end.number) {
    await lines((json, place) => {
      const commit = parseCommitLine(json);
      if (commit) commits.push({ ...commit, number: place.number });
      last = place;
      return place.number < end.number;
    });
  }
  return last.number === end.number && last.checksum === end.checksum ? commits : undefined;
}

interface StateFiles {
  readonly disk: Disk;
  /** The state's file. */
  readonly path: string;
  readonly files: HistoryFiles;
}

/** Files of the history of a state, oldest first; the last one is that of the present checkpoint. */
export async function fileSegments({ disk, path, files }: StateFiles): Promise<Segment[]> {
  const own = await headAt(disk, path);
  const generations = (await journalGenerations(disk, path)).filter((each) => each >= (own?.generation ?? 0));
  const kept = await Promise.all(
    files.segments.map(async ({ base, journals }) => {
      const head = await headAt(disk, files.checkpointPath(base));
      // The file of the present one is a second name of it, left by a replacement that failed.
      if (!head || head.generation === own?.generation) return [];
      const paths = journals.map((each) => files.journalPath(each));
      return [segmentOf(disk, { path: files.checkpointPath(base), head, journals: paths })];
    }),
  );
  const journals = generations.map((each) => journalPath(path, each));
  return [...kept.flat(), ...(own ? [segmentOf(disk, { path, head: own, journals })] : [])];
}

interface SegmentFiles {
  readonly path: string;
  readonly head: CheckpointHead;
  readonly journals: readonly string[];
}

const segmentOf = (disk: Disk, { path, head, journals }: SegmentFiles): Segment => ({
  head,
  async *base() {
    try {
      for await (const { bytes } of readLines(disk, path)) yield bytes;
    } catch (cause) {
      throw gone(cause);
    }
  },
  async lines(take) {
    let position = head.position;
    try {
      for (const journal of journals) {
        const { damage } = await readLog(disk, journal, {
          first: () => position,
          line(json, place) {
            if (!take(json, place)) throw new Enough();
            position = place;
          },
        });
        if (damage) return;
      }
    } catch (cause) {
      if (!(cause instanceof Enough || isMissing(cause))) throw cause;
    }
  },
  async replay({ state, upgrade }, last) {
    const replay = new Replay(disk, state, upgrade, head, { last, isOwn: true });
    try {
      for (const journal of journals) if (replay.position!.number < last) await replay.add(journal);
    } catch (cause) {
      throw gone(cause);
    }
  },
});

async function headAt(disk: Disk, path: string): Promise<CheckpointHead | undefined> {
  try {
    for await (const { bytes } of readLines(disk, path))
      return findCheckpointHead(bytes.toString("utf8", 0, maxHeadLength));
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
  }
  return undefined;
}

const gone = (cause: unknown): unknown =>
  isMissing(cause) ? new StateFormatError((cause as Error).message, { cause }) : cause;

/** The reader of a file needs nothing more of it. */
class Enough extends Error {}
