import type { WallClock } from "../../../../src/base/clock.ts";
import type { LogPosition } from "../../../../src/files/log-line.ts";
import type { Commit, HistoryStart } from "../../history.ts";
import { LiveStore } from "../../live/live-store.ts";
import { type Collection, type History, StateFormatError, type Store } from "../../port.ts";
import type { CheckpointHead } from "../base/checkpoint-file.ts";
import { readChecksummedInto } from "../checksummed-document.ts";
import { DocumentReader } from "../document-reader.ts";
import { parseCommitLine } from "./commit-line.ts";

/** A base with the lines that follow it, up to the next base. */
export interface Segment {
  readonly head: CheckpointHead;
  /** The base, block by block; each ends at the end of a line. */
  base(): AsyncIterable<Buffer>;
  /** Shows the lines that follow the base, up to where they end, are damaged, or `take` returns false. */
  lines(take: LineHandler): Promise<void>;
  /** Applies the lines up to that number to the state of the base. Fails with StateFormatError. */
  replay(reader: DocumentReader, last: number): Promise<void>;
}

export type LineHandler = (json: string, place: LogPosition) => boolean;

interface Options {
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
  readonly place: () => LogPosition;
  /** Resolves once all that was committed can be read again. */
  readonly flushed: () => Promise<void>;
  /** All that are kept, oldest first; the last one is that of the present base. */
  readonly segments: () => Promise<Segment[]>;
  /** Runs work while no base takes the place of another, and none goes. */
  readonly undisturbed: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * The history of a state, as its bases and the lines between them tell it. They stand in the order in which they were
 * written; a base says after which line its state was. Where another state was put in, that is a line further back, or
 * none: so the way back leads from the present base over that line to the base before it, past all that belongs to states
 * which were left.
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

/** Where the line of that number, or the base, stands; undefined where the lines before it are not all there. */
async function placeOf({ head: { position }, lines }: Segment, number: number): Promise<LogPosition | undefined> {
  if (position.number === number) return position;
  let found: LogPosition | undefined;
  await lines((_, place) => {
    if (place.number === number) found = { number, checksum: place.checksum };
    return place.number < number;
  });
  return found;
}

/** The commits of a segment up to a line, oldest first; undefined where that line is not in it, or one before it is gone. */
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
