import type { WallClock } from "../../../src/base/clock.ts";
import { svcVersion } from "../../../src/base/version.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { LiveStore } from "../live/live-store.ts";
import { parseChanges } from "../live/state.ts";
import { type Collection, type Commit, type History, type HistoryStart, StateFormatError } from "../port.ts";
import type { CheckpointHead } from "./checkpoint.ts";
import { readChecksummedInto } from "./checksummed-document.ts";
import { DocumentReader } from "./document-reader.ts";
import { applyChecked, parseCommitLine } from "./journal-line.ts";

/** A checkpoint with the lines that follow it, up to the next checkpoint. */
export interface Segment {
  readonly head: CheckpointHead;
  /** The checkpoint in blocks that end at the end of a line. */
  readBase(): AsyncIterable<Buffer>;
  /** Reads the lines that follow the checkpoint, up to their end or damage, or until `onLine` returns false. */
  visitLines(onLine: LineHandler): Promise<void>;
}

/** `writtenBy` is the version of svc that wrote the line, if it is known. */
type LineHandler = (json: string, position: LogPosition, writtenBy: string | null | undefined) => boolean;

interface StoredHistoryOptions {
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly getPosition: () => LogPosition;
  /** Resolves when all commits can be read back. */
  readonly waitUntilFlushed: () => Promise<void>;
  /** All stored segments, oldest first. The last segment belongs to the present checkpoint. */
  readonly listSegments: () => Promise<Segment[]>;
  /** Runs work while no checkpoint is replaced or removed. */
  readonly withCheckpointsLocked: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Creates the history of a state: its checkpoints and the lines between them, in the order in which they were written.
 * A checkpoint names the line after which its state existed. After a restore, that is an earlier line, or no line. The
 * way back leads from the present checkpoint through that line to the previous checkpoint, and skips replaced states.
 */
export function createStoredHistory(options: StoredHistoryOptions): History {
  const { collections, wall, waitUntilFlushed, listSegments, withCheckpointsLocked } = options;
  const getPosition = (): LogPosition => {
    const { number, checksum } = options.getPosition();
    return { number, checksum };
  };
  return {
    getPosition,

    visit: (visit) =>
      withCheckpointsLocked(async () => {
        // The position is read before the wait, because some lines that are added meanwhile cannot be read yet.
        const currentPosition = getPosition();
        await waitUntilFlushed();
        const segments = await listSegments();
        let end: LogPosition | undefined = currentPosition;
        let start: HistoryStart | undefined;
        for (let segment = segments.pop(); segment && end; segment = segments.pop()) {
          const { position, past, moment } = segment.head;
          if (position.number > end.number) continue;
          const commits = await readCommitsUpTo(segment, end);
          if (!commits) break;
          for (const commit of commits.reverse()) if (!visit(commit)) return undefined;
          start = { ...moment, number: position.number };
          end = past;
        }
        return start ?? currentPosition;
      }),

    restoreAfter: (number) =>
      withCheckpointsLocked(async () => {
        await waitUntilFlushed();
        const segment = (await listSegments()).findLast(({ head }) => head.position.number <= number);
        if (!segment) throw new StateFormatError("That point is no longer in the history");
        try {
          const reader = new DocumentReader(collections, { isSealed: true });
          await readChecksummedInto(reader, segment.readBase());
          const { state, upgrade } = reader;
          let past = segment.head.position;
          if (past.number < number) {
            await segment.visitLines((json, position, writtenBy) => {
              const changes = parseChanges(JSON.parse(json).changes) ?? [];
              applyChecked(state, changes, upgrade, !upgrade.isNeeded && writtenBy === svcVersion);
              past = position;
              return past.number < number;
            });
          }
          if (past.number !== number) throw new StateFormatError("lines are missing");
          const { checksum } = past;
          return { store: new LiveStore({ state, wall }), past: { number, checksum } };
        } catch (cause) {
          if (!(cause instanceof StateFormatError)) throw cause;
          throw new StateFormatError(`The history is damaged: ${cause.message}`, { cause });
        }
      }),
  };
}

/**
 * Reads the commits of a segment up to a line, oldest first. Returns undefined if that line, or an earlier line, is
 * missing.
 */
async function readCommitsUpTo({ head, visitLines }: Segment, end: LogPosition): Promise<Commit[] | undefined> {
  const commits: Commit[] = [];
  let lastPosition = head.position;
  if (lastPosition.number < end.number) {
    await visitLines((json, position) => {
      const commit = parseCommitLine(json);
      if (commit) commits.push({ ...commit, number: position.number });
      lastPosition = position;
      return position.number < end.number;
    });
  }
  return lastPosition.number === end.number && lastPosition.checksum === end.checksum ? commits : undefined;
}
