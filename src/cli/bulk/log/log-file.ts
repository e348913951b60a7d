import { join } from "node:path";
import { isObject, tryParseJson } from "../../../base/object.ts";
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

/** The log of a job that cannot be read: damaged, missing, or of a later version of svc. */
export class JobLogError extends Error {
  override readonly name = "JobLogError";
}

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

/** Rewrites a log of format 1 in the present format: durably, and without losing a line of it. */
export async function rewriteLog(disk: Disk, folder: string): Promise<void> {
  const lines: string[] = [];
  await readLogFile(disk, folder, (json) => lines.push(json));
  await createLog(disk, folder, lines);
  await disk.remove(join(folder, oldName));
  await disk.syncFolder(folder);
}

/** Reads the log of a job line by line, up to a write that a crash cut short. Fails with JobLogError. */
export async function readLogFile(disk: Disk, folder: string, take: (json: string) => void): Promise<LogFile> {
  const path = await logPath(disk, folder);
  const isOld = path.endsWith(oldName);
  const read = isOld
    ? readOld(disk, path, take)
    : readLog(disk, path, { first: (json) => first(json, path), line: take });
  const end = await read.catch((cause) => {
    if (isMissing(cause)) throw new JobLogError(`${path} is missing`, { cause });
    throw cause;
  });
  if (end.damage) throw new JobLogError(`${path}, line ${end.damage.line}: ${end.damage.reason}`);
  // The first line is durable before a folder becomes a job.
  if (end.length === 0 && !isOld) throw new JobLogError(`${path} is empty or cut off in its first line`);
  return { path, isOld, ...end };
}

function first(json: string, path: string) {
  const { svc_job_log } = (tryParseJson(json) ?? {}) as { readonly svc_job_log?: unknown };
  if (svc_job_log === format) return startPosition;
  throw new JobLogError(`${path} was written by another version of svc (format ${String(svc_job_log)})`);
}

/** Format 1, without checksums. */
async function readOld(disk: Disk, path: string, take: (json: string) => void): Promise<LogEnd> {
  let length = 0;
  let lines = 0;
  const end = (torn: boolean, damage?: LogEnd["damage"]): LogEnd => ({ length, torn, position: undefined, damage });
  for await (const { bytes, offset } of readLines(disk, path)) {
    for (let at = 0; at < bytes.byteLength; ) {
      const newline = bytes.indexOf("\n", at);
      const json = bytes.toString("utf8", at, newline);
      lines += 1;
      if (newline === -1) return end(true);
      if (!isObject(tryParseJson(json))) return end(true, { line: lines, reason: "the line is not a JSON object" });
      take(json);
      at = newline + 1;
      length = offset + at;
    }
  }
  return end(false);
}
