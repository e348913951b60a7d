import { join } from "node:path";
import { tryParseJson } from "../../../base/object.ts";
import { svcVersion } from "../../../base/version.ts";
import { type Disk, isMissing } from "../../../files/disk.ts";
import { firstLine, logLine, startPosition } from "../../../files/log-line.ts";
import { type LogEnd, readLog } from "../../../files/read-log.ts";

const format = 1;

/** The log in the folder of a job. */
export const logName = "job.log";

/** The log of a job that cannot be read: damaged, missing, or of a later version of svc. */
export class JobLogError extends Error {
  override readonly name = "JobLogError";
}

/** Where a log stands, and where it ends. */
export interface LogFile extends LogEnd {
  readonly path: string;
}

/** Begins a log with these lines, durably. What had its name is replaced: nothing counted on it yet. */
export async function createLog(disk: Disk, folder: string, lines: readonly string[]): Promise<void> {
  const path = join(folder, logName);
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

/** Reads the log of a job line by line, up to a write that a crash cut short. Fails with JobLogError. */
export async function readLogFile(disk: Disk, folder: string, take: (json: string) => void): Promise<LogFile> {
  const path = join(folder, logName);
  const end = await readLog(disk, path, { first: (json) => first(json, path), line: take }).catch((cause) => {
    if (isMissing(cause)) throw new JobLogError(`${path} is missing`, { cause });
    throw cause;
  });
  if (end.damage) throw new JobLogError(`${path}, line ${end.damage.line}: ${end.damage.reason}`);
  // The first line is durable before a folder becomes a job.
  if (end.length === 0) throw new JobLogError(`${path} is empty or cut off in its first line`);
  return { path, ...end };
}

function first(json: string, path: string) {
  const { svc_job_log } = (tryParseJson(json) ?? {}) as { readonly svc_job_log?: unknown };
  if (svc_job_log === format) return startPosition;
  throw new JobLogError(`${path} was written by another version of svc (format ${String(svc_job_log)})`);
}
