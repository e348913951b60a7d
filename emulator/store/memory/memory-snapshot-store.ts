import { wholeLines } from "../../../src/files/whole-lines.ts";
import { byName, type SnapshotStore, sameName } from "../snapshot-store.ts";

/** Named documents that are gone with the process. */
export function memorySnapshotStore(): SnapshotStore {
  const kept = new Map<string, readonly Uint8Array[]>();
  const called = (name: string) => [...kept.keys()].find((other) => sameName(name, other));
  return {
    async put(name, document) {
      const pieces: Uint8Array[] = [];
      for await (const piece of document) pieces.push(piece);
      kept.delete(called(name) ?? name);
      kept.set(name, pieces);
    },
    async open(name) {
      const pieces = kept.get(name);
      return pieces && wholeLines(each(pieces));
    },
    async list() {
      const sizeOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
      return [...kept].map(([name, pieces]) => ({ name, bytes: sizeOf(pieces), file: undefined })).sort(byName);
    },
    remove: async (name) => kept.delete(name),
  };
}

async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* pieces;
}
