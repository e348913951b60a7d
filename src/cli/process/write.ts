import { nextTurn } from "../../base/timing.ts";
import type { OutputStream } from "./host.ts";

/** A write to a terminal ends once the terminal has taken all of it, and nothing else runs so long, not even Ctrl-C. */
const terminalBytes = 16 * 1024;

/** Writes, and waits while the reader is slower: output past 64 KiB reaches a pipe whole. */
export async function write(stream: OutputStream, text: string | Uint8Array): Promise<void> {
  if (!stream.isTTY || text.length <= terminalBytes) return writeAll(stream, text);
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += terminalBytes) {
    await writeAll(stream, bytes.subarray(at, at + terminalBytes));
    await nextTurn();
  }
}

/** Output of another run of this program to a file: it is harmless already, and is printed byte for byte. */
export const forwardOutput = (stream: OutputStream, printed: Uint8Array): Promise<void> =>
  printed.length > 0 ? write(stream, printed) : Promise.resolve();

async function writeAll(stream: OutputStream, text: string | Uint8Array): Promise<void> {
  if (stream.destroyed || stream.writableEnded || stream.write(text)) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      stream.off("drain", settle);
      stream.off("close", settle);
      stream.off("error", settle);
      resolve();
    };
    stream.once("drain", settle);
    stream.once("close", settle);
    stream.once("error", settle);
  });
}

/** Resolves when all that was written before has reached its reader, or never will. */
export const waitForFlush = (stream: OutputStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.write("", () => resolve());
  });
