import { Readable } from "node:stream";
import type { WallClock } from "../../src/base/clock.ts";
import { splitAtLineEnds } from "../../src/files/read-log.ts";
import { type Blobs, compareByName, isSameName, measureBlob, type SnapshotStore } from "./blobs.ts";
import { LiveStore } from "./live/live-store.ts";
import { State } from "./live/state.ts";
import type { Collection, Store } from "./port.ts";

/** A store that loses everything when it is closed (`--ephemeral`, tests). */
export const openMemoryStore = (options: {
  readonly collections: readonly Collection[];
  readonly wall: WallClock;
}): Store => new LiveStore({ state: new State(options.collections), wall: options.wall });

/** Creates a store of uploaded bytes in memory. Existing uploads are read from `existing`. */
export function createMemoryBlobs(existing?: Pick<Blobs, "open">): Blobs {
  const blobs = new Map<string, Uint8Array>();
  return {
    async put(bytes, maxBytes) {
      const { pieces, getBlob } = measureBlob(bytes, maxBytes);
      const copies: Uint8Array[] = [];
      // Each piece is copied, because a stream can reuse its buffer.
      for await (const piece of pieces) copies.push(Uint8Array.from(piece));
      const blob = getBlob();
      blobs.set(blob.sha256, Buffer.concat(copies));
      return blob;
    },
    async open(sha256) {
      const bytes = blobs.get(sha256);
      return bytes ? Readable.from([bytes]) : existing?.open(sha256);
    },
    // All bytes are retained until the process ends.
    async extendUnreferencedRetention() {},
  };
}

export function createMemorySnapshotStore(): SnapshotStore {
  const documents = new Map<string, readonly Uint8Array[]>();
  const findName = (name: string) => [...documents.keys()].find((candidate) => isSameName(name, candidate));
  return {
    async put(name, document) {
      const pieces: Uint8Array[] = [];
      for await (const piece of document) pieces.push(piece);
      documents.delete(findName(name) ?? name);
      documents.set(name, pieces);
    },
    async open(name) {
      const pieces = documents.get(name);
      return pieces && splitAtLineEnds(pieces);
    },
    async list() {
      const getSize = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
      return [...documents]
        .map(([name, pieces]) => ({ name, bytes: getSize(pieces), file: undefined }))
        .sort(compareByName);
    },
    remove: async (name) => documents.delete(name),
  };
}
