import { dirname } from "node:path";
import { pluralize } from "../base/pluralize.ts";
import type { Disk } from "./disk.ts";
import { freeName } from "./free-name.ts";

const blockBytes = 1 << 20;

/** What was kept of a file's end. */
export interface SavedTail {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Copies what stands after the good lines of a log, which end at `length`, into a file of its own beside it, durably.
 * Nobody was told that it was written, but whoever misses something must not have to take our word for it.
 */
export async function saveTail(disk: Disk, path: string, length: number): Promise<SavedTail> {
  const kept = await freeName(disk, path, "torn");
  const from = await disk.open(path, "read");
  try {
    const to = await disk.create(kept);
    const size = await from.size();
    try {
      for (let at = length; at < size; ) {
        const block = new Uint8Array(Math.min(blockBytes, size - at));
        const read = await from.read(block, at);
        if (read === 0) break;
        await to.write(block.subarray(0, read), at - length);
        at += read;
      }
      await to.sync();
    } finally {
      await to.close();
    }
    await disk.syncFolder(dirname(kept));
    return { path: kept, bytes: size - length };
  } finally {
    await from.close();
  }
}

/** The same where the end is that of a write which a crash cut short. Returns a sentence that says so. */
export async function saveTornTail(disk: Disk, path: string, length: number): Promise<string> {
  const kept = await saveTail(disk, path, length);
  return `${path} ends with an incomplete write (${pluralize(kept.bytes, "byte")}). It is ignored, and saved in ${kept.path}`;
}

/** Whether `keepTail` made this name, for a file of that name. */
export const isSavedTail = (name: string, of: string): boolean =>
  name.startsWith(`${of}.torn`) && /^(-\d+)?$/.test(name.slice(`${of}.torn`.length));
