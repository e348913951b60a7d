import { createHash, randomBytes } from "node:crypto";

/** Source of all unique or unguessable values. With a seed, the values are deterministic. */
export interface Ids {
  uuid(): string;
  bytes(bytes: number): Buffer;
  /** Returns random bytes as base64url, for tokens and codes. */
  token(bytes: number): string;
  /** Returns uniformly distributed characters of `alphabet`, which has at most 256 characters. */
  pick(alphabet: string, length: number): string;
}

function createIds(bytes: (size: number) => Buffer): Ids {
  return {
    bytes,
    uuid() {
      const raw = bytes(16);
      raw[6] = (raw[6]! & 0x0f) | 0x40;
      raw[8] = (raw[8]! & 0x3f) | 0x80;
      const hex = raw.toString("hex");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
    token: (size) => bytes(size).toString("base64url"),
    pick(alphabet, length) {
      const limit = 256 - (256 % alphabet.length);
      let id = "";
      while (id.length < length) {
        for (const byte of bytes(length)) {
          // Bytes above the last whole multiple of the alphabet's length would favor its first characters.
          if (byte < limit && id.length < length) id += alphabet[byte % alphabet.length];
        }
      }
      return id;
    },
  };
}

export const createRandomIds = (): Ids => createIds((size) => randomBytes(size));

/**
 * Creates IDs that the seed determines: SHA-256 in counter mode. `next` is the position at which the sequence
 * continues.
 */
export function createSeededIds(seed: string, next = 0): Ids & { readonly position: () => number } {
  let counter = next;
  const ids = createIds((size) => {
    const blocks: Buffer[] = [];
    for (let length = 0; length < size; length += 32) {
      blocks.push(createHash("sha256").update(`${seed}\0${counter}`).digest());
      counter += 1;
    }
    return Buffer.concat(blocks).subarray(0, size);
  });
  return { ...ids, position: () => counter };
}
