import { fstatSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { isoMillis } from "../../../../base/clock.ts";
import type { Context } from "../../../command.ts";
import type { Host, OutputStream } from "../../../host.ts";
import { createOutput } from "../../../output/output.ts";

/** Says in the log how many lines of it are missing. */
type Missing = (lines: number) => string;

/**
 * The same context with an output for what runs all day: a log on a full disk must not end what it tells of. Lines of a file
 * for which there is no room are left out and counted, and the log says how many once it takes lines again.
 */
export function withResilientOutput(context: Context, isJsonLog: boolean): Context {
  const { host, globals, output } = context;
  const { wall } = host;
  const inWords: Missing = (lines) =>
    `${isoMillis(wall.now())} (wall)  ${lines} lines of this log are missing, because the disk was full or failed`;
  const asEvent: Missing = (count) => JSON.stringify({ event: "dropped", count });
  const asLogged: Missing = (count) =>
    JSON.stringify({ time: isoMillis(wall.now()), level: "warn", event: "dropped", count });
  const streams: Pick<Host, "stdout" | "stderr"> = {
    stdout: lasting(host.stdout, output.format === "table" ? inWords : asEvent),
    stderr: lasting(host.stderr, isJsonLog ? asLogged : inWords),
  };
  // Not a copy: to read standard input is to open it.
  const kept: Host = Object.create(host, {
    stdout: { value: streams.stdout },
    stderr: { value: streams.stderr },
  });
  return Object.create(context, { host: { value: kept }, output: { value: createOutput(kept, globals) } });
}

/** Whether a stream leads to a file, in which lines are read long after they were written. */
export function isFileStream(stream: OutputStream): boolean {
  const { fd } = stream as { readonly fd?: number };
  try {
    return fd !== undefined && fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** Node's own stream to a file takes nothing any more after one write that failed. */
function lasting(stream: OutputStream, missing: Missing): OutputStream {
  if (!isFileStream(stream)) return stream;
  const { fd } = stream as OutputStream & { readonly fd: number };
  let dropped = 0;
  let isWithinLine = false;
  const put = (bytes: Buffer): void => {
    for (let done = 0; done < bytes.byteLength; ) {
      done += writeSync(fd, bytes, done);
      isWithinLine = bytes[done - 1] !== lineEnd;
    }
  };
  return new Writable({
    write(bytes: Buffer, _encoding, written) {
      try {
        if (dropped > 0) put(Buffer.from(`${isWithinLine ? "\n" : ""}${missing(dropped)}\n`));
        dropped = 0;
        put(bytes);
      } catch {
        dropped += linesIn(bytes);
      }
      written();
    },
  });
}

const lineEnd = 0x0a;
const linesIn = (bytes: Buffer): number => bytes.reduce((lines, byte) => (byte === lineEnd ? lines + 1 : lines), 0);
