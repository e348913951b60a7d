import { createReadStream, existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { commitTempFile, isTemporaryName, writeTempFile } from "../../../src/files/atomic-write.ts";
import { type Disk, systemDisk } from "../../../src/files/disk.ts";
import { makeFolderDurably } from "../../../src/files/folder.ts";
import { describeFsError } from "../../../src/files/fs-errors.ts";
import { type Blobs, measureBlob } from "../blobs.ts";

import { FileWriteError } from "../port.ts";

/** Whether a file in the folder can hold uploaded bytes: only a hash is a name, so that no path leads out of it. */
export const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** Beside the uploads: since when which of them are named by nothing (blob-collection.ts). */
export const unreferencedNote = "svc-unnamed.json";

/** What an upload is called, with an end of its own, until its hash is known. */
const unfinished = "upload";

/**
 * Uploaded bytes in a folder (`files/` beside the state), one file per content, named by its SHA-256. What an
 * interrupted upload has left is removed here, and nothing else, for people keep files of their own anywhere. Call it
 * only while holding the run file.
 */
export async function openFileBlobs(options: { readonly folder: string; readonly disk?: Disk }): Promise<Blobs> {
  const { folder, disk = systemDisk } = options;
  await makeFolderDurably(disk, folder);
  for (const name of await disk.list(folder)) {
    if (!isTemporaryName(name, unfinished)) continue;
    const path = join(folder, name);
    if ((await lstat(path)).isFile()) await disk.remove(path);
  }
  return {
    async put(bytes, maxBytes) {
      // Somebody may have removed it since.
      await makeFolderDurably(disk, folder).catch((cause) => {
        throw failure(cause);
      });
      const { pieces, measured } = measureBlob(bytes, maxBytes);
      const aside = await writeTempFile(join(folder, unfinished), pieces, { disk, failure });
      const blob = measured();
      // The same content again replaces itself.
      await commitTempFile(aside, join(folder, blob.sha256), { disk, failure });
      return blob;
    },
    ...readBlobs(folder),
    keepUnnamed: () => disk.remove(join(folder, unreferencedNote)),
  };
}

/** Uploaded bytes in a folder that may be somebody else's, or not be there. */
export const readBlobs = (folder: string): Pick<Blobs, "open"> => ({
  async open(sha256) {
    const path = join(folder, sha256);
    return isBlobName(sha256) && existsSync(path) ? createReadStream(path) : undefined;
  },
});

/** What the disk refuses has a declared answer; what is wrong with the bytes that come in is the caller's. */
const failure = (cause: unknown): FileWriteError =>
  new FileWriteError(`The upload cannot be written: ${describeFsError(cause) ?? (cause as Error).message}`, { cause });
