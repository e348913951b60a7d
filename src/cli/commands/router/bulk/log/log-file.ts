import { join } from "node:path";
import { tryParseJson } from "../../../../../base/object.ts";
import { svcVersion } from "../../../../../base/version.ts";
import { type Disk, isMissing, systemDisk } from "../../../../../files/disk.ts";
import { formatFirstLine, formatLogLine, startPosition } from "../../../../../files/log-line.ts";
import { readLog } from "../../../../../files/read-log.ts";

const format = 1;

export const logName = "job.log";

/** Error for an unreadable job log: damaged, missing, or written by a later version of svc. */
export class JobLogError extends Error {
  override readonly name = "JobLogError";
}

/** Creates a log with this line, durably. Replaces an existing file, because nothing depends on it yet. */
export async function createLog(disk: Disk, folder: string, json: string): Promise<void> {
  const path = join(folder, logName);
  const header = formatFirstLine(JSON.stringify({ svc_job_log: format, written_by: svcVersion }));
  const line = formatLogLine(json, { number: startPosition.number + 1, group: 1, before: startPosition.checksum });
  await disk.remove(path);
  const file = await disk.create(path);
  try {
    await file.write(Buffer.concat([header, line.bytes]), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.syncFolder(folder);
}

/** Reads the log of a job line by line, up to a write that a crash interrupted. Fails with JobLogError. */
async function readLogFile(disk: Disk, folder: string, take: (json: string) => void) {
  const path = join(folder, logName);
  const end = await readLog(disk, path, { visitFirst: (json) => parseHeader(json, path), visitLine: take }).catch(
    (cause) => {
      if (isMissing(cause)) throw new JobLogError(`${path} is missing`, { cause });
      throw cause;
    },
  );
  if (end.damage) throw new JobLogError(`${path}, line ${end.damage.line}: ${end.damage.reason}`);
  // The first line is durable before the folder becomes a job.
  if (end.length === 0) throw new JobLogError(`${path} is empty or cut off in its first line`);
  return { path, ...end };
}

function parseHeader(json: string, path: string) {
  const { svc_job_log } = (tryParseJson(json) ?? {}) as { readonly svc_job_log?: unknown };
  if (svc_job_log === format) return startPosition;
  throw new JobLogError(`${path} was written by another version of svc (format ${String(svc_job_log)})`);
}

export interface RowCounts {
  readonly rows: number;
  readonly invalid: number;
  readonly failed: number;
  /** Null if the service did not report all counts. */
  readonly moved: number | null;
  /** Rows without a look-up under --verify. Absent if there are none. */
  readonly unverified?: number;
}

export const addCounts = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a + b;

export const addBatch = (counts: RowCounts, batch: RowCounts): RowCounts => ({
  rows: counts.rows + batch.rows,
  invalid: counts.invalid + batch.invalid,
  failed: counts.failed + batch.failed,
  moved: addCounts(counts.moved, batch.moved),
  unverified: (counts.unverified ?? 0) + (batch.unverified ?? 0),
});

/** Finished batch. Its failed rows are already in the results when this line is written. */
export interface BatchLine extends RowCounts {
  readonly batch: number;
  /** Low-water mark. Every batch below this index is finished. */
  readonly low: number;
  /** Length in bytes of the results file that covers all finished batches. */
  readonly results: number;
  readonly digest?: string;
}

export interface EventLine {
  readonly event: "started" | "stopped" | "finished";
  readonly at: string;
  readonly reason?: string;
}

/** Inputs of a batch that another cluster has, with that cluster. */
export type BatchMoves = readonly (readonly [input: string, cluster: string])[];

/** Written before the batch is sent, because a later look-up finds only the new cluster. */
interface MovesLine {
  readonly sending: number;
  readonly moves: BatchMoves;
}

export type LogLine = BatchLine | EventLine | MovesLine;

/** Reads a job log up to an incomplete line. Later batches are resent. Fails with JobLogError. */
export async function readJobLog(folder: string, disk: Disk = systemDisk) {
  const finished = new FinishedBatches();
  /** Moves of batches that were sent and are not finished. */
  const unfinishedMoves = new Map<number, BatchMoves>();
  let counts: RowCounts = { rows: 0, invalid: 0, failed: 0, moved: 0 };
  let results = 0;
  let last: EventLine | undefined;
  const file = await readLogFile(disk, folder, (json) => {
    const line = JSON.parse(json) as LogLine;
    if ("event" in line) last = line;
    else if ("sending" in line) unfinishedMoves.set(line.sending, line.moves);
    else if (!finished.has(line.batch)) {
      finished.add(line.batch, line.digest);
      unfinishedMoves.delete(line.batch);
      counts = addBatch(counts, line);
      results = line.results;
    }
  });
  return { ...counts, finished, unfinishedMoves, results, last: last as EventLine | undefined, file };
}

/**
 * Finished batches of a job. Batches run concurrently, so the finished ones are not a prefix of the input. All batches
 * below the low-water mark are finished, and some above it (DECISIONS.md, L16).
 */
export class FinishedBatches {
  #low = 0;
  readonly #finishedAbove = new Set<number>();
  /**
   * Rolling digests of the batch just below the mark and of those above it, which are enough to recognize the input.
   */
  readonly #digests = new Map<number, string>();

  get low(): number {
    return this.#low;
  }

  get count(): number {
    return this.#low + this.#finishedAbove.size;
  }

  get end(): number {
    return this.#finishedAbove.size === 0 ? this.#low : Math.max(...this.#finishedAbove) + 1;
  }

  has(index: number): boolean {
    return index < this.#low || this.#finishedAbove.has(index);
  }

  getDigest(index: number): string | undefined {
    return this.#digests.get(index);
  }

  add(index: number, digest?: string): void {
    this.#finishedAbove.add(index);
    if (digest !== undefined) this.#digests.set(index, digest);
    while (this.#finishedAbove.delete(this.#low)) {
      this.#digests.delete(this.#low - 1);
      this.#low += 1;
    }
  }
}
