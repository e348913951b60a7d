import type { Context } from "../../command.ts";
import { InterruptedError } from "../../failure.ts";
import type { InputStream } from "../../host.ts";

type RawInput = InputStream & { setRawMode?(isRaw: boolean): unknown };

const ctrlC = "\x03";
const ctrlD = "\x04";

/**
 * Reads single keys until the run ends, or the terminal goes away. Resolves at `q` and Ctrl-D; rejects with Interrupted at
 * Ctrl-C, which the terminal gives no signal for meanwhile.
 */
export async function readKeys({ host, signal }: Context, onKey: (key: string) => void): Promise<void> {
  const stdin: RawInput = host.stdin;
  const setRaw = (isRaw: boolean) => {
    // A terminal that has gone away takes no mode.
    if (!stdin.destroyed) stdin.setRawMode?.(isRaw);
  };
  let onData: (chunk: Buffer | string) => void = () => {};
  let onEnd = () => {};
  try {
    setRaw(true);
    await new Promise<void>((resolve, reject) => {
      onData = (chunk) => {
        const text = String(chunk);
        // Arrows and other keys of several characters mean nothing here.
        if (text.startsWith("\x1b")) return;
        for (const key of text) {
          if (key === ctrlC) return reject(new InterruptedError());
          if (key === ctrlD || key === "q") return resolve();
          onKey(key);
        }
      };
      onEnd = resolve;
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", onEnd, { once: true });
      stdin.on("data", onData).once("end", onEnd).once("close", onEnd).resume();
    });
  } finally {
    signal.removeEventListener("abort", onEnd);
    stdin.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
    setRaw(false);
  }
}
