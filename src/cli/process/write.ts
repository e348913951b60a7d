import { waitForNextTurn } from "../../base/timing.ts";
import type { OutputStream } from "./host.ts";

/** Nothing else runs until a terminal has accepted a write, including the handler of Ctrl-C. */
const maxTerminalWriteBytes = 16 * 1024;

/** Writes and waits for a slow reader. Without the wait, output beyond 64 KiB does not reach a pipe completely. */
export async function write(stream: OutputStream, text: string | Uint8Array): Promise<void> {
  if (!stream.isTTY || text.length <= maxTerminalWriteBytes) return writeAll(stream, text);
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += maxTerminalWriteBytes) {
    await writeAll(stream, bytes.subarray(at, at + maxTerminalWriteBytes));
    await waitForNextTurn();
  }
}

/** Prints captured output of another run of this program byte for byte, because it is already escaped. */
export const forwardOutput = (stream: OutputStream, bytes: Uint8Array): Promise<void> =>
  bytes.length > 0 ? write(stream, bytes) : Promise.resolve();

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

/** Resolves when all previous output is written or can no longer be written. */
export const waitForFlush = (stream: OutputStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.write("", () => resolve());
  });
