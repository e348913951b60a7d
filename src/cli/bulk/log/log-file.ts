import { join } from "node:path";
import { tryParseJson } from "../../../base/object.ts";
import { svcVersion } from "../../../base/version.ts";
import { type Disk, isMissing } from "../../../files/disk.ts";
import { firstLine, logLine, startPosition } from "../../../files/log-line.ts";
import { readLines } from "../../../files/read-lines.ts";
import { type LogEnd, readLog } from "../../../files/read-log.ts";

const format = 2;
const name = "job.log";
/** Of format 1: lines of JSON without number and checksum. */
const oldName = "log.ndjson";

export const logNames: readonly string[] = [name, oldName];

/** A log was written by a later version of svc. */
export class LaterLogError extends Error {}

/** Where a log stands, and where it ends. */
export interface LogFile extends LogEnd {
  readonly path: string;
  /** Whether it is of format 1, and has to be renewed before anything is added to it. */
  readonly isOld: boolean;
}

/** The log of a job. One of format 1 counts as long as it is there: the new one beside it may not be whole. */
export async function logPath(disk: Disk, folder: string): Promise<string> {
  const names = await disk.list(folder).catch((): string[] => []);
  return join(folder, names.includes(oldName) ? oldName : name);
}

/** Begins a log with these lines, durably. What had its name is replaced: nothing counted on it yet. */
export async function createLog(disk: Disk, folder: string, lines: readonly string[]): Promise<void> {
  const path = join(folder, name);
  const bytes = [firstLine(JSON.stringify({ svc_job_log: format, written_by: svcVersion }))];
  let { number, checksum } = startPosition;
  for (const json of lines) {
    number += 1;
    const line = logLine(json, { number, group: 1, before: checksum });
    bytes.push(line.bytes);
    checksum = line.checksum;
  }
  await disk.remove(path);
  const file = await disk.create(path);
  try {
    await file.write(Buffer.concat(bytes), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.syncFolder(folder);
}

/** Writes a log of format 1 anew, and one whose first line is not whole: durably, and without losing a line of it. */
export async function rewriteLog(disk: Disk, folder: string): Promise<void> {
  const lines: string[] = [];
  await readLogFile(disk, folder, (json) => lines.push(json));
  await createLog(disk, folder, lines);
  await disk.remove(join(folder, oldName));
  await disk.syncFolder(folder);
}

/** Reads the log of a job line by line; undefined when there is none. Fails with LaterLog. */
export async function readLogFile(
  disk: Disk,
  folder: string,
  take: (json: string) => void,
): Promise<LogFile | undefined> {
  const path = await logPath(disk, folder);
  const isOld = path.endsWith(oldName);
  const taker = { first, line: take };
  try {
    const end = await (isOld ? readOld(disk, path, take) : readLog(disk, path, taker));
    return { path, isOld, ...end };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function first(json: string) {
  const { svc_job_log } = JSON.parse(json) as { readonly svc_job_log?: unknown };
  if (svc_job_log !== format) throw new LaterLogError();
  return startPosition;
}

/** Format 1: whatever is no JSON ends it. */
async function readOld(disk: Disk, path: string, take: (json: string) => void): Promise<LogEnd> {
  let length = 0;
  const end = (torn: boolean): LogEnd => ({ length, torn, position: undefined, damage: undefined });
  for await (const { bytes, offset } of readLines(disk, path)) {
    for (let at = 0; at < bytes.byteLength; ) {
      const newline = bytes.indexOf("\n", at);
      const json = bytes.toString("utf8", at, newline);
      if (newline === -1 || tryParseJson(json) === undefined) return end(true);
      take(json);
      at = newline + 1;
      length = offset + at;
    }
  }
  return end(false);
}
