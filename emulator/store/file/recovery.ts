import { basename, dirname, join } from "node:path";
import { createTemporaryName, isTemporaryName } from "../../../src/files/atomic-write.ts";
import type { Disk } from "../../../src/files/disk.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { State } from "../live/state.ts";
import { createCurrentUpgrade } from "../live/versions.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { type CheckpointHead, type LoadedCheckpoint, readCheckpoint } from "./checkpoint-file.ts";
import { identifyFile } from "./document.ts";
import { getJournalPath, type JournalContent, listJournalGenerations, Replay } from "./journal.ts";

/** Contents of the files of a state, and the repairs that they need before the next write. */
export interface RecoveredState {
  readonly state: State;
  readonly base: LoadedCheckpoint | undefined;
  /** True if rows in the files have an earlier version. */
  readonly isOutdated: boolean;
  /** The end of the journal chain. Undefined if there is no checkpoint yet. */
  readonly position: LogPosition | undefined;
  /**
   * Journals that the checkpoint does not contain, in the order of their replay. The next write follows the last
   * journal.
   */
  readonly journals: readonly JournalContent[];
  /** Obsolete files: unfinished checkpoints and empty journals. */
  readonly leftovers: readonly string[];
  /** Generations of journals that the checkpoint contains. */
  readonly olderJournals: readonly number[];
  readonly newest: number;
}

/**
 * Reads checkpoint and journals without changing anything. Fails with StateFormatError on damage, and with
 * NotAStateFileError.
 */
export async function recover(disk: Disk, path: string, collections: readonly Collection[]): Promise<RecoveredState> {
  const generations = await listJournalGenerations(disk, path);
  // A file with a journal next to it is a state file, even if its first line is damaged. Without a journal, it cannot
  // be a state.
  const kind = await identifyFile(disk, path).catch(() => undefined);
  if (generations.length === 0 && kind === "other") throw new NotAStateFileError(path);
  const names = await disk.list(dirname(path));
  const leftovers = names
    .filter((name) => isTemporaryName(name, basename(path)))
    .map((name) => join(dirname(path), name));
  const base = await readCheckpoint(disk, path, collections);
  const state = base?.state ?? new State(collections);
  const upgrade = base?.upgrade ?? createCurrentUpgrade(collections);
  const replay = new Replay(disk, state, upgrade, base);
  const olderJournals: number[] = [];
  for (const generation of generations) {
    const journal = getJournalPath(path, generation);
    if (base && generation < base.generation) olderJournals.push(generation);
    else await replay.add(journal);
  }
  const requiredGenerations = base && requireSuccessorJournals(path, base, replay.journals);
  const journals = replay.journals.filter(
    ({ header, transactions }) => transactions > 0 || requiredGenerations?.has(header?.generation),
  );
  leftovers.push(...replay.journals.filter((journal) => !journals.includes(journal)).map((journal) => journal.path));
  return {
    state,
    base,
    isOutdated: upgrade.isNeeded,
    position: replay.position,
    journals,
    leftovers,
    olderJournals,
    newest: Math.max(base?.generation ?? 0, generations.at(-1) ?? 0),
  };
}

export class NotAStateFileError extends StateFormatError {
  constructor(path: string) {
    super(`${path} is not an emulator state file`, { repairable: false });
  }
}

/**
 * Returns the generations that must exist, because they were durable before any file named them: the generation of the
 * checkpoint unless it was closed, and all generations that other journals name. Fails with StateFormatError if a
 * journal is missing or empty.
 */
export function requireSuccessorJournals(
  path: string,
  base: Pick<CheckpointHead, "generation"> & { readonly closed: boolean | undefined },
  journals: readonly JournalContent[],
): Set<number | undefined> {
  const existingGenerations = new Set(journals.map(({ header }) => header?.generation));
  const nextGenerations = journals.flatMap(({ next, path: source }) =>
    next === undefined ? [] : [[next, source] as const],
  );
  const requirements = [...(base.closed === false ? [[base.generation, path] as const] : []), ...nextGenerations];
  for (const [generation, source] of requirements) {
    if (existingGenerations.has(generation)) continue;
    throw new StateFormatError(
      `${getJournalPath(path, generation)} is missing or empty, but ${source} continues in it`,
    );
  }
  return new Set(requirements.map(([generation]) => generation));
}

/** Larger than a usual line, so that the next write does not use up the free space. */
const probeBytes = 256 * 1024;

/** Durably writes a file next to the state and removes it. Fails with the system's error. */
export async function probeWritable(disk: Disk, path: string): Promise<void> {
  const temporary = createTemporaryName(path);
  const file = await disk.create(temporary);
  try {
    await file.write(new Uint8Array(probeBytes), 0);
    await file.datasync();
  } finally {
    await file.close().catch(() => {});
    await disk.remove(temporary).catch(() => {});
  }
}
