import type { Disk } from "./disk.ts";

/** Complete lines of a file, with their positions. */
export interface LineBlock {
  /** Ends with a newline, except the last block of a file that does not. */
  readonly bytes: Buffer;
  /** Offset of the first byte in the file. */
  readonly offset: number;
  /** Whether the file ends here. */
  readonly last: boolean;
}

const blockBytes = 1 << 20;
const newline = 0x0a;

/** Reads a file in blocks of about a megabyte that end at the end of a line. A missing file is an error. */
export async function* readLines(disk: Disk, path: string): AsyncGenerator<LineBlock, void> {
  const file = await disk.open(path, "read");
  try {
    const size = await file.size();
    let rest = Buffer.alloc(0);
    let position = 0;
    while (position < size) {
      // The next block is filled while the yielded one is processed, so each has its own buffer.
      const block = Buffer.allocUnsafe(Math.min(blockBytes, size - position));
      const read = await file.read(block, position);
      if (read === 0) break;
      position += read;
      const bytes = Buffer.concat([rest, block.subarray(0, read)]);
      const end = position < size ? bytes.lastIndexOf(newline) + 1 : bytes.byteLength;
      rest = bytes.subarray(end);
      if (end > 0) yield { bytes: bytes.subarray(0, end), offset: position - bytes.byteLength, last: position >= size };
    }
  } finally {
    await file.close();
  }
}
