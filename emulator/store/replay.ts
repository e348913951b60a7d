import type { Disk } from "./disk.ts";
import { validRow } from "./document.ts";
import { type Header, type JournalContent, readJournal } from "./journal-file.ts";
import type { Change, State } from "./state.ts";
import { StateRefused } from "./store.ts";

/** Applies journals to the state of a snapshot, oldest first. */
export class Replay {
  /** Those that were read to their end. */
  readonly journals: JournalContent[] = [];
  /** Applied so far, also of a journal that turned out to be damaged. */
  transactions = 0;
  readonly #disk: Disk;
  readonly #state: State;
  /** Of the snapshot; undefined when there is none. */
  readonly #generation: number | undefined;
  /** Generations whose lines, and all before them, are applied. */
  readonly #reached = new Set<number>();

  constructor(disk: Disk, state: State, generation: number | undefined) {
    this.#disk = disk;
    this.#state = state;
    this.#generation = generation;
  }

  /** Reads and applies one more journal. Fails with StateRefused, which names file and line; what came before it stays. */
  async add(path: string): Promise<void> {
    const torn = this.journals.some((journal) => journal.torn);
    const content = await readJournal(
      this.#disk,
      path,
      (header) => this.#follow(header),
      (changes) => {
        if (torn) throw new StateRefused("the journal before this one ends in a damaged line");
        if (this.#generation === undefined) {
          throw new StateRefused("the state file that it belongs to is missing", { repairable: false });
        }
        apply(this.#state, changes);
        this.transactions += 1;
      },
    );
    this.journals.push(content);
  }

  #follow({ generation, after }: Header): void {
    if (this.#generation !== undefined && generation !== this.#generation && !this.#reached.has(after)) {
      throw new StateRefused(`the journal that comes before it (generation ${after}) is missing`);
    }
    this.#reached.add(generation);
  }
}

/** All or none; rows come from outside, so they are validated first. */
function apply(state: State, changes: readonly Change[]): void {
  for (const change of changes.map((each) => checked(state, each))) state.apply(change);
}

function checked(state: State, change: Change): Change {
  const [kind, collection] = change;
  if (kind === "put") return ["put", collection, validRow(state, collection, change[2], "The row")];
  const known = kind === "next" || (kind === "delete" ? state.rows : state.mappings).has(collection);
  if (!known) throw new StateRefused(`this version of svc has no collection ${collection}`);
  return change;
}
