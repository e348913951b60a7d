import { createHash } from "node:crypto";
import { type Blobs, BlobTooLarge } from "../blobs.ts";

/** Uploaded bytes that are gone with the process. What was uploaded elsewhere before is read there. */
export function memoryBlobs(earlier?: Pick<Blobs, "open">): Blobs {
  const kept = new Map<string, Uint8Array>();
  return {
    async put(bytes, maxBytes) {
      const sha256 = createHash("sha256");
      const md5 = createHash("md5");
      const pieces: Uint8Array[] = [];
      let size = 0;
      for await (const piece of bytes) {
        size += piece.byteLength;
        if (size > maxBytes) throw new BlobTooLarge(`More than ${maxBytes} bytes`);
        sha256.update(piece);
        md5.update(piece);
        // A copy: a stream may fill the same buffer again.
        pieces.push(Uint8Array.from(piece));
      }
      const blob = { sha256: sha256.digest("hex"), md5: md5.digest("hex"), size };
      kept.set(blob.sha256, Buffer.concat(pieces));
      return blob;
    },
    async open(sha256) {
      const bytes = kept.get(sha256);
      return bytes ? once(bytes) : earlier?.open(sha256);
    },
    // They are all kept until the process ends.
    async keepUnnamed() {},
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}
