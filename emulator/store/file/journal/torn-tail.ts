import { dirname } from "node:path";
import type { Disk } from "../disk.ts";
import { freeName } from "../free-name.ts";
import type { JournalContent } from "./journal-reader.ts";

const blockBytes = 1 << 20;

/**
 * Copies what stands after the good lines of a journal into a file of its own, durably. Nobody was told that it was
 * written, but whoever misses something must not have to take our word for it. Returns a sentence that says so.
 */
export async function keepTornTail(disk: Disk, { path, length }: JournalContent): Promise<string> {
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
    const bytes = size - length;
    return `${path} ends with a write that a crash cut short (${bytes} bytes). It is left out, and kept in ${kept}`;
  } finally {
    await from.close();
  }
}
