import { type Adapter, Low } from "lowdb";
import { writeFileAtomic } from "../../../src/files/atomic-write.ts";
import type { Disk } from "../../../src/files/disk.ts";
import { formatCheckpoint, type NewCheckpointHead, type StepRunner } from "../journal/checkpoint.ts";
import type { State } from "../live/state.ts";

interface CheckpointFileOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly state: State;
  readonly getHead: () => NewCheckpointHead;
  readonly runStep?: StepRunner;
  /** When it aborts, writing ends before the next piece, and the unfinished file is removed. */
  readonly signal?: AbortSignal;
  /**
   * Waits until everything that the text may contain is durable in the journal, so that this file may replace the old
   * file.
   */
  readonly beforeReplacing?: () => Promise<void>;
  /** Called after the file has replaced the old file. The replacement is not necessarily durable yet. */
  readonly onReplaced?: () => void;
}

/** Durably replaces the checkpoint file. Resolves with its size in bytes. */
export async function writeCheckpoint(options: CheckpointFileOptions): Promise<number> {
  const { disk, path, getHead, runStep, signal, beforeReplacing, onReplaced } = options;
  let size = 0;
  /** Each piece is requested after the previous piece is written. */
  async function* createPieces(state: State): AsyncGenerator<Uint8Array, void> {
    for await (const piece of formatCheckpoint(state, getHead, runStep)) {
      signal?.throwIfAborted();
      size += piece.byteLength;
      yield piece;
    }
    await beforeReplacing?.();
  }
  const adapter: Adapter<State> = {
    read: async () => null,
    write: (state) => writeFileAtomic(path, createPieces(state), { disk, ...(onReplaced && { onReplaced }) }),
  };
  await new Low(adapter, options.state).write();
  return size;
}
