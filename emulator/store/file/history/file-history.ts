import type { Wall } from "../../../../src/base/clock.ts";
import { type Disk, isMissing } from "../../../../src/files/disk.ts";
import type { Position } from "../../../../src/files/log-line.ts";
import { readLines } from "../../../../src/files/read-lines.ts";
import { readLog } from "../../../../src/files/read-log.ts";
import type { Commit, Reach } from "../../history.ts";
import { LiveStore } from "../../live/live-store.ts";
import { type Collection, type History, StateRefused, type Store } from "../../port.ts";
import { BaseFile } from "../base/base-file.ts";
import { type BaseHead, headIn } from "../base/base-head.ts";
import { DocumentReader } from "../document-reader.ts";
import { journalGenerations, journalPath } from "../journal/journal-file.ts";
import { Replay } from "../journal/replay.ts";
import { commitIn } from "./commit-line.ts";
import type { HistoryFiles } from "./history-files.ts";

interface Options {
  readonly disk: Disk;
  readonly path: string;
  readonly collections: readonly Collection[];
  readonly wall: Wall;
  readonly files: HistoryFiles;
  readonly place: () => Position;
  /** Resolves once all that was committed is in the files. */
  readonly flushed: () => Promise<void>;
  /** Runs work while no base takes the place of another. */
  readonly undisturbed: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A base with the journals that follow it, up to the next base. */
interface Segment {
  readonly path: string;
  readonly head: BaseHead;
  readonly journals: readonly string[];
}

/**
 * The history of a state in its files. Bases and journals lie in the order in which they were written; a base says after
 * which line its state was. Where another state was put in, that is a line further back, or none: so the way back leads
 * from the present base over that line to the base before it, past all that belongs to states which were left.
 */
export class FileHistory implements History {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  place(): Position {
    const { number, checksum } = this.#options.place();
    return { number, checksum };
  }

  visit(visit: (commit: Commit) => boolean): Promise<Reach | undefined> {
    return this.#options.undisturbed(async () => {
      await this.#options.flushed();
      const segments = await this.#segments();
      let end: Position | undefined = this.place();
      let reach: Reach | undefined;
      for (let segment = segments.pop(); segment && end; segment = segments.pop()) {
        const { number } = end;
        if (segment.head.position!.number > number) continue;
        const commits = await this.#commitsUpTo(segment, end);
        if (!commits) break;
        for (const commit of commits.reverse()) if (!visit(commit)) return undefined;
        reach = { ...segment.head.moment, number: segment.head.position!.number };
        end = segment.head.past;
      }
      return reach ?? this.place();
    });
  }

  stateAfter(number: number): Promise<{ readonly store: Store; readonly past: Position }> {
    return this.#options.undisturbed(async () => {
      const { disk, collections, wall } = this.#options;
      await this.#options.flushed();
      const segment = (await this.#segments()).findLast(({ head }) => head.position!.number <= number);
      if (!segment) throw new StateRefused("What leads there is no longer kept");
      const { path, head, journals } = segment;
      try {
        const reader = new DocumentReader(collections, { isSealed: true });
        await new BaseFile({ disk, path, collections }).readInto(reader);
        const past = await this.#placeOf(segment, number);
        if (past === undefined) throw new StateRefused("lines are missing");
        const replay = new Replay(disk, reader.state, reader.upgrade, head, { last: number, isOwn: true });
        for (const journal of journals) if ((replay.position?.number ?? 0) < number) await replay.add(journal);
        return { store: new LiveStore({ state: reader.state, wall }), past };
      } catch (cause) {
        if (!(cause instanceof StateRefused || isMissing(cause))) throw cause;
        throw new StateRefused(`What leads there is damaged: ${(cause as Error).message}`, { cause });
      }
    });
  }

  /** Where the line of that number, or the base, stands; undefined where the lines before it are not all there. */
  async #placeOf({ head, journals }: Segment, number: number): Promise<Position | undefined> {
    if (head.position!.number === number) return head.position;
    let found: Position | undefined;
    await this.#lines(head.position!, journals, (_, place) => {
      if (place.number === number) found = { number, checksum: place.checksum };
      return place.number < number;
    });
    return found;
  }

  /** The commits of a segment up to a line, oldest first; undefined where that line is not in it, or one before it is gone. */
  async #commitsUpTo({ head, journals }: Segment, end: Position): Promise<Commit[] | undefined> {
    const commits: Commit[] = [];
    let last: Position = head.position!;
    await this.#lines(last, journals, (json, place) => {
      if (place.number > end.number) return false;
      const commit = commitIn(json);
      if (commit) commits.push({ ...commit, number: place.number });
      last = place;
      return place.number < end.number;
    });
    return last.number === end.number && last.checksum === end.checksum ? commits : undefined;
  }

  /** Reads lines of journals that follow each other, up to where they end, or `take` returns false. */
  async #lines(
    from: Position,
    journals: readonly string[],
    take: (json: string, place: Position) => boolean,
  ): Promise<void> {
    let position = from;
    try {
      for (const journal of journals) {
        const { damage } = await readLog(this.#options.disk, journal, {
          first: () => position,
          line(json, place) {
            if (!take(json, place!)) throw new Enough();
            position = place!;
          },
        });
        if (damage) return;
      }
    } catch (cause) {
      if (!(cause instanceof Enough || isMissing(cause))) throw cause;
    }
  }

  /** Oldest first; the last one is that of the present base. */
  async #segments(): Promise<Segment[]> {
    const { disk, path, files } = this.#options;
    const own = await this.#head(path);
    const generations = (await journalGenerations(disk, path)).filter((each) => each >= (own?.generation ?? 0));
    const kept = await Promise.all(
      files.segments.map(async ({ base, journals }) => {
        const head = await this.#head(files.basePath(base));
        // That of the present one is a second name of it, of a replacement that did not come about.
        if (!head?.position || head.generation === own?.generation) return [];
        return { path: files.basePath(base), head, journals: journals.map((each) => files.journalPath(each)) };
      }),
    );
    const present = own?.position && { path, head: own, journals: generations.map((each) => journalPath(path, each)) };
    return [...kept.flat(), ...(present ? [present] : [])];
  }

  async #head(path: string): Promise<BaseHead | undefined> {
    try {
      for await (const { bytes } of readLines(this.#options.disk, path)) {
        const head = headIn(bytes.toString("utf8", 0, 64 * 1024));
        return head && head.format >= firstExact ? head : undefined;
      }
    } catch (cause) {
      if (!isMissing(cause)) throw cause;
    }
    return undefined;
  }
}

/** The first format whose bases are the state of one moment. */
const firstExact = 3;

/** Nothing more is wanted of a file that is being read. */
class Enough extends Error {}
