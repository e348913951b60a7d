import { type Disk, isMissing } from "../../../../src/files/disk.ts";
import { readLines } from "../../../../src/files/read-lines.ts";
import { readLog } from "../../../../src/files/read-log.ts";
import { StateFormatError } from "../../port.ts";
import { type CheckpointHead, findCheckpointHead, maxHeadLength } from "../base/checkpoint-file.ts";
import { journalGenerations, journalPath } from "../journal/journal-file.ts";
import { Replay } from "../journal/journal-reader.ts";
import type { HistoryFiles } from "./history-files.ts";
import type { Segment } from "./stored-history.ts";

interface StateFiles {
  readonly disk: Disk;
  /** The state's file. */
  readonly path: string;
  readonly files: HistoryFiles;
}

/** What the history of a state is made of in its files, oldest first; the last one is that of the present base. */
export async function fileSegments({ disk, path, files }: StateFiles): Promise<Segment[]> {
  const own = await headAt(disk, path);
  const generations = (await journalGenerations(disk, path)).filter((each) => each >= (own?.generation ?? 0));
  const kept = await Promise.all(
    files.segments.map(async ({ base, journals }) => {
      const head = await headAt(disk, files.checkpointPath(base));
      // That of the present one is a second name of it, of a replacement that did not come about.
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

/** Nothing more is wanted of a file that is being read. */
class Enough extends Error {}
