import { temporaryName } from "../../../src/files/atomic-write.ts";
import type { Disk } from "../../../src/files/disk.ts";

/** More than any one line of usual size, so that what is free is not used up by the next write. */
const bytesToTry = 256 * 1024;

/** Writes a file beside the state, durably, and removes it. Fails with the system's error. */
export async function probeWritable(disk: Disk, path: string): Promise<void> {
  const temporary = temporaryName(path);
  const file = await disk.create(temporary);
  try {
    await file.write(new Uint8Array(bytesToTry), 0);
    await file.datasync();
  } finally {
    await file.close().catch(() => {});
    await disk.remove(temporary).catch(() => {});
  }
}
