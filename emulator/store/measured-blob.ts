import { createHash } from "node:crypto";
import { type Blob, BlobTooLarge } from "./blobs.ts";

/** The bytes that come in, passed on; `measured` tells what they were once all have come. */
export function measuring(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let size = 0;
  let blob: Blob | undefined;
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    for await (const piece of bytes) {
      if (size + piece.byteLength > maxBytes) throw new BlobTooLarge(`More than ${maxBytes} bytes`);
      sha256.update(piece);
      md5.update(piece);
      size += piece.byteLength;
      yield piece;
    }
  }
  return {
    pieces: pieces(),
    measured(): Blob {
      blob ??= { sha256: sha256.digest("hex"), md5: md5.digest("hex"), size };
      return blob;
    },
  };
}
