import type { Disk } from "./disk.ts";

/** Whole lines of a file, with their positions. */
export interface LineBlock {
  /** Ends with a newline, but for the last of a file that does not. */
  readonly bytes: Buffer;
  /** Offset of the first byte in the file. */
  readonly offset: number;
  /** The file ends here. */
  readonly last: boolean;
}

const blockBytes = 1 << 20;
const newline = 0x0a;

/** Reads a file in blocks of about a megabyte that end at the end of a line. A file that is not there is an error. */
export async function* readLines(disk: Disk, path: string): AsyncGenerator<LineBlock, void> {
  const file = await disk.open(path, "read");
  try {
    const size = await file.size();
    let rest = Buffer.alloc(0);
    let position = 0;
    while (position < size) {
      // The next block is filled while the yielded one is read, so each has a buffer of its own.
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
