import { createHash } from "node:crypto";
import type { checksumAlgorithms } from "../../../src/api/storage/objects.ts";

/** What sums up bytes as they come. */
export interface Checksum {
  update(bytes: Uint8Array): unknown;
  digest(): Buffer;
}

export const checksums: Readonly<Record<(typeof checksumAlgorithms)[number], () => Checksum>> = {
  crc32: () => new Crc(4, 0, 0xedb88320),
  crc32c: () => new Crc(4, 0, 0x82f63b78),
  crc64nvme: () => new Crc(8, 0x9a6c9329, 0xac4bc9b5),
  sha1: () => createHash("sha1"),
  sha256: () => createHash("sha256"),
};

/** A CRC of 4 or 8 bytes, by its reflected polynomial in two halves: bigints would take thirty times as long. */
class Crc implements Checksum {
  readonly #width: 4 | 8;
  readonly #highs = new Uint32Array(256);
  readonly #lows = new Uint32Array(256);
  #high = 0xffffffff;
  #low = 0xffffffff;

  constructor(width: 4 | 8, polynomialHigh: number, polynomialLow: number) {
    this.#width = width;
    for (let byte = 0; byte < 256; byte += 1) {
      let [high, low] = [0, byte];
      for (let bit = 0; bit < 8; bit += 1) {
        const isOdd = low & 1;
        low = (low >>> 1) | (high << 31);
        high >>>= 1;
        if (isOdd) [high, low] = [high ^ polynomialHigh, low ^ polynomialLow];
      }
      this.#highs[byte] = high;
      this.#lows[byte] = low;
    }
    if (width === 4) this.#high = 0;
  }

  update(bytes: Uint8Array): void {
    let [high, low] = [this.#high, this.#low];
    for (const byte of bytes) {
      const at = (low ^ byte) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ this.#lows[at]!;
      high = (high >>> 8) ^ this.#highs[at]!;
    }
    this.#high = high;
    this.#low = low;
  }

  digest(): Buffer {
    const digest = Buffer.alloc(8);
    digest.writeUInt32BE(~this.#high >>> 0);
    digest.writeUInt32BE(~this.#low >>> 0, 4);
    return digest.subarray(8 - this.#width);
  }
}
