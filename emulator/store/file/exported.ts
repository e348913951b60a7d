import type { Disk } from "../../../src/files/disk.ts";

/** How every state begins, in whatever form it is kept. */
const beginningOfAny = /^\s*\{\s*"svc_state":/;

/** How a document begins that was exported: what a state file says of its journals is not in it. */
const beginning = /^\s*\{\s*"svc_state":\s*\d+,\s*"written_by":/;

/** How a snapshot begins (document-head.ts). */
const beginningOfSnapshot = /^\s*\{\s*"svc_state":\s*\d+,\s*"snapshot":\s*\{/;

/** Whether a file holds an exported state, by its first bytes; false where it cannot be read. */
export const isExported = (disk: Disk, path: string): Promise<boolean> => begins(disk, path, beginning);

/** Whether a file holds a snapshot, in the same way. */
export const isSnapshot = (disk: Disk, path: string): Promise<boolean> => begins(disk, path, beginningOfSnapshot);

/** Whether a file can be one of ours, damaged or not, in the same way; true where it cannot be read. */
export const isState = (disk: Disk, path: string): Promise<boolean> => begins(disk, path, beginningOfAny, true);

async function begins(disk: Disk, path: string, how: RegExp, unread = false): Promise<boolean> {
  const file = await disk.open(path, "read").catch(() => undefined);
  if (!file) return unread;
  try {
    const first = Buffer.alloc(256);
    const length = await file.read(first, 0);
    return how.test(first.toString("utf8", 0, length));
  } finally {
    await file.close();
  }
}
