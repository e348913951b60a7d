import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { type Disk, type DiskFile, systemDisk } from "../../../src/files/disk.ts";
import { makeFolderDurably } from "../../../src/files/folder.ts";
import { isTemporaryName, temporaryName } from "../../../src/files/whole-file.ts";
import { type Blob, type Blobs, BlobTooLarge } from "../blobs.ts";
import { StoreFailed } from "../port.ts";

/** Whether a file in the folder can hold uploaded bytes: only a hash is a name, so that no path leads out of it. */
export const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** Beside the uploads: since when which of them are named by nothing (blob-collection.ts). */
export const unnamedNote = "svc-unnamed.json";

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
      const temporary = temporaryName(join(folder, unfinished));
      const file = await disk.create(temporary).catch(refuse);
      try {
        const blob = await fill(file, bytes, maxBytes).finally(() => file.close());
        // The same content again replaces itself.
        await disk.rename(temporary, join(folder, blob.sha256)).catch(refuse);
        await disk.syncFolder(folder).catch(refuse);
        return blob;
      } catch (cause) {
        await disk.remove(temporary).catch(() => {});
        throw cause;
      }
    },
    open(sha256) {
      const path = join(folder, sha256);
      return isBlobName(sha256) && existsSync(path) ? createReadStream(path) : undefined;
    },
    keepUnnamed: () => disk.remove(join(folder, unnamedNote)),
  };
}

async function fill(file: DiskFile, bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Blob> {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let size = 0;
  for await (const piece of bytes) {
    if (size + piece.byteLength > maxBytes) throw new BlobTooLarge(`More than ${maxBytes} bytes`);
    sha256.update(piece);
    md5.update(piece);
    await file.write(piece, size).catch(refuse);
    size += piece.byteLength;
  }
  await file.sync().catch(refuse);
  return { sha256: sha256.digest("hex"), md5: md5.digest("hex"), size };
}

/** What the disk refuses has a declared answer; what is wrong with the bytes that come in is the caller's. */
function refuse(cause: Error): never {
  throw new StoreFailed(`The upload cannot be written: ${cause.message}`, { cause });
}
