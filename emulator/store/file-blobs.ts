import { createHash, randomBytes } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { join } from "node:path";
import { type Blob, type Blobs, BlobTooLarge } from "./blobs.ts";
import { type Disk, type DiskFile, systemDisk } from "./disk.ts";
import { makeFolderDurably } from "./folder.ts";
import { StoreFailed } from "./store.ts";

const temporaryEnd = ".tmp";

/**
 * Uploaded bytes in a folder (`files/` beside the state), one file per content, named by its SHA-256. What an
 * interrupted upload has left is removed here; call it only while holding the run file.
 */
export async function openFileBlobs(options: { readonly folder: string; readonly disk?: Disk }): Promise<Blobs> {
  const { folder, disk = systemDisk } = options;
  await makeFolderDurably(disk, folder);
  for (const name of await disk.list(folder)) {
    if (name.endsWith(temporaryEnd)) await disk.remove(join(folder, name));
  }
  return {
    async put(bytes, maxBytes) {
      const temporary = join(folder, `${randomBytes(12).toString("hex")}${temporaryEnd}`);
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
      // Only a hash can be a name, so that no path leads out of the folder.
      const path = join(folder, sha256);
      return /^[0-9a-f]{64}$/.test(sha256) && existsSync(path) ? createReadStream(path) : undefined;
    },
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
