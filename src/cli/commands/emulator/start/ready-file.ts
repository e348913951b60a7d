import { fstatSync, writeSync } from "node:fs";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { Writable } from "node:stream";
import { toIsoMillis } from "../../../../base/clock.ts";
import { toFields, tryParseJson } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import { isOnThisMachine } from "../../../../files/machine.ts";
import type { Context } from "../../../command.ts";
import { isSameEmulator } from "../../../connection/emulator/emulator-access.ts";
import { checkOutputFile, findOpenStream, writeOutput } from "../../../output/file.ts";
import { createOutput } from "../../../output/output.ts";
import type { Host, OutputStream } from "../../../process/host.ts";

/**
 * Checks whether the file is writable, and removes the content of an emulator that has ended, because a waiting program
 * waits for this emulator. The content of a running emulator stays until this one is ready, because the running one can
 * prevent the start. Throws a UsageError for any other content.
 */
export async function prepareReadyFile(path: string, { host }: Pick<Context, "host">) {
  const isOurs = (beginning: string) => /^(?:\s*|\{"event":"ready"[^\n]*\n?)$/.test(beginning);
  const absolute = await checkOutputFile(host, path, "--ready-file", { isOurs });
  // A path such as /dev/stdout is a link of the system.
  const isOpen = (await findOpenStream(host, absolute)) !== undefined;
  const before = toFields(tryParseJson((isOpen ? undefined : await readContent(absolute)) ?? ""));
  if (before.event === "ready" && !(await isRunning(before))) await rm(absolute, { force: true });
  let content: string | undefined;
  return {
    path: absolute,
    async write(ready: object): Promise<void> {
      content = `${JSON.stringify(ready)}\n`;
      // The file contains the token, so its permissions are restricted.
      if ((await stat(absolute).catch(() => undefined))?.isFile()) await chmod(absolute, 0o600);
      await writeOutput(host, path, [Buffer.from(content)], 0o600);
    },
    /** Removes the file, unless another process has written to it since. */
    async remove(): Promise<void> {
      if (content !== undefined && !isOpen && (await readContent(absolute)) === content)
        await rm(absolute, { force: true });
    },
  };
}

/** Reads only files, because reading a pipe would remove data that other programs wait for. */
async function readContent(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() ? readFile(path, "utf8").catch(() => undefined) : undefined;
}

async function isRunning({ router_url: routerUrl, instance_id: instanceId, pid }: ReturnType<typeof toFields>) {
  if (typeof routerUrl !== "string" || !URL.canParse(routerUrl) || !isOnThisMachine(routerUrl)) return false;
  const written = { routerUrl, instanceId: String(instanceId), pid: Number(pid) };
  return isSameEmulator(written, { mayBeStarting: true }).catch(() => true);
}

type MissingLinesReport = (lines: number) => string;

/**
 * Returns the context with an output for long-running processes, which a log on a full disk must not end. Lines that do
 * not fit are dropped and counted. The log gets the count once it accepts lines again.
 */
export function withResilientOutput(context: Context, isJsonLog: boolean): Context {
  const { host, globals, output } = context;
  const { wall } = host;
  const formatAsText: MissingLinesReport = (lines) =>
    `${toIsoMillis(wall.now())} (wall)  ${pluralize(lines, "line")} missing from this log, because the disk was full or failed`;
  const formatAsEvent: MissingLinesReport = (count) => JSON.stringify({ event: "dropped", count });
  const formatAsLogEntry: MissingLinesReport = (count) =>
    JSON.stringify({ time: toIsoMillis(wall.now()), level: "warn", event: "dropped", count });
  // The context is extended, not copied, because copying would open standard input.
  const resilientHost: Host = Object.create(host, {
    stdout: { value: createResilientStream(host.stdout, output.format === "table" ? formatAsText : formatAsEvent) },
    stderr: { value: createResilientStream(host.stderr, isJsonLog ? formatAsLogEntry : formatAsText) },
  });
  return Object.create(context, {
    host: { value: resilientHost },
    output: { value: createOutput(resilientHost, globals) },
  });
}

export function isFileStream(stream: OutputStream): boolean {
  const { fd } = stream as { readonly fd?: number };
  try {
    return fd !== undefined && fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** Node's file stream accepts nothing after a failed write. */
function createResilientStream(stream: OutputStream, missing: MissingLinesReport): OutputStream {
  if (!isFileStream(stream)) return stream;
  const { fd } = stream as OutputStream & { readonly fd: number };
  let dropped = 0;
  let isWithinLine = false;
  const enqueue = (bytes: Buffer): void => {
    for (let offset = 0; offset < bytes.byteLength; ) {
      offset += writeSync(fd, bytes, offset);
      isWithinLine = bytes[offset - 1] !== lineEnd;
    }
  };
  return new Writable({
    write(bytes: Buffer, _encoding, callback) {
      try {
        if (dropped > 0) enqueue(Buffer.from(`${isWithinLine ? "\n" : ""}${missing(dropped)}\n`));
        dropped = 0;
        enqueue(bytes);
      } catch {
        dropped += countLines(bytes);
      }
      callback();
    },
  });
}

const lineEnd = 0x0a;
const countLines = (bytes: Buffer): number => bytes.reduce((lines, byte) => (byte === lineEnd ? lines + 1 : lines), 0);
