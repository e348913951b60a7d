import type { Disk } from "../../../src/files/disk.ts";

/** How a document begins that was exported: what a state file says of its journals is not in it. */
const beginning = /^\s*\{\s*"svc_state":\s*\d+,\s*"written_by":/;

/** Whether a file holds an exported state, by its first bytes; false where it cannot be read. */
export async function isExported(disk: Disk, path: string): Promise<boolean> {
  const file = await disk.open(path, "read").catch(() => undefined);
  if (!file) return false;
  try {
    const first = Buffer.alloc(256);
    const length = await file.read(first, 0);
    return beginning.test(first.toString("utf8", 0, length));
  } finally {
    await file.close();
  }
}
