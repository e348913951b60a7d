import { svcVersion } from "../../../../src/base/version.ts";
import type { Disk } from "../../../../src/files/disk.ts";
import type { Position } from "../../../../src/files/log-line.ts";
import type { State } from "../../live/state.ts";
import type { Upgrade } from "../../live/versions.ts";
import { StateRefused } from "../../port.ts";
import type { BaseHead } from "../base/base-head.ts";
import { applyChecked } from "./checked-changes.ts";
import type { Header } from "./journal-file.ts";
import { type JournalContent, readJournal } from "./journal-reader.ts";

/** What the journals go on from; undefined where there is no base. */
type Beginning = Pick<BaseHead, "generation" | "position"> | undefined;

/** Applies journals to the state of a base, oldest first. */
export class Replay {
  /** Those that were read to their end. */
  readonly journals: JournalContent[] = [];
  /** Applied so far, also of a journal that turned out to be damaged. */
  transactions = 0;
  /** Where the chain ends so far; undefined when nothing said where it begins. */
  position: Position | undefined;
  readonly #disk: Disk;
  readonly #state: State;
  readonly #upgrade: Upgrade;
  readonly #base: Beginning;
  readonly #last: number;
  readonly #isOwn: boolean;
  #isTrusted = false;
  /** Generations whose lines, and all before them, are applied. */
  readonly #reached = new Set<number>();

  /** `last`: the number of the last line that is wanted. `isOwn`: rows of this very version are not looked at again. */
  constructor(
    disk: Disk,
    state: State,
    upgrade: Upgrade,
    base: Beginning,
    { last = Number.POSITIVE_INFINITY, isOwn = false } = {},
  ) {
    this.#last = last;
    this.#isOwn = isOwn && !upgrade.needed;
    this.#disk = disk;
    this.#state = state;
    this.#upgrade = upgrade;
    this.#base = base;
    this.position = base?.position;
  }

  /** Reads and applies one more journal. Fails with StateRefused, which names file and line; what came before it stays. */
  async add(path: string): Promise<void> {
    const torn = this.journals.some((journal) => journal.torn);
    const content = await readJournal(this.#disk, path, {
      begin: (header) => {
        this.#isTrusted = this.#isOwn && header.written_by === svcVersion;
        this.#follow(header);
        return this.position;
      },
      take: (changes, number = 0) => {
        if (number > this.#last) return;
        if (torn) throw new StateRefused("the journal before this one ends in a damaged line");
        if (this.#base === undefined) {
          throw new StateRefused("the state file that it belongs to is missing", { repairable: false });
        }
        applyChecked(this.#state, changes, this.#upgrade, this.#isTrusted);
        this.transactions += 1;
      },
    });
    this.position = content.position ?? this.position;
    this.journals.push(content);
  }

  #follow({ generation, after }: Header): void {
    if (this.#base !== undefined && generation !== this.#base.generation && !this.#reached.has(after)) {
      throw new StateRefused(`the journal that comes before it (generation ${after}) is missing`);
    }
    this.#reached.add(generation);
  }
}
