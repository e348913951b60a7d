import { dirname, join } from "node:path";
import { toIsoSeconds, type WallClock } from "../../../../../base/clock.ts";
import { tryParseJson } from "../../../../../base/object.ts";
import { svcVersion } from "../../../../../base/version.ts";
import { AppendLog } from "../../../../../files/append-log.ts";
import { type Disk, type DiskFile, systemDisk } from "../../../../../files/disk.ts";
import { isMissing } from "../../../../../files/folders.ts";
import { formatFirstLine, startPosition } from "../../../../../files/log-line.ts";
import { formatTornEnd, readLog } from "../../../../../files/read-log.ts";
import { FinishedBatches } from "../input/batches.ts";
import { getResultsPath, resultsHeader } from "./result-lines.ts";

const format = 1;

export const logName = "job.log";

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

const addBatch = (counts: RowCounts, batch: RowCounts): RowCounts => ({
  rows: counts.rows + batch.rows,
  invalid: counts.invalid + batch.invalid,
  failed: counts.failed + batch.failed,
  moved: addCounts(counts.moved, batch.moved),
  unverified: (counts.unverified ?? 0) + (batch.unverified ?? 0),
});

/** Finished batch. Its failed rows are already in the results when this line is written. */
interface BatchLine extends RowCounts {
  readonly batch: number;
  /** Length in bytes of the results file that covers all finished batches. */
  readonly results: number;
  readonly digest?: string;
}

interface EventLine {
  readonly event: "started" | "stopped" | "finished";
  readonly at: string;
  readonly reason?: string;
}

/** Inputs of a batch that another cluster has, with that cluster. */
type BatchMoves = readonly (readonly [input: string, cluster: string])[];

/** Written before the batch is sent, because a later look-up finds only the new cluster. */
interface MovesLine {
  readonly sending: number;
  readonly moves: BatchMoves;
}

/** Creates the log of a job durably. Replaces an existing file, because nothing depends on it yet. */
export async function createLog(disk: Disk, folder: string): Promise<void> {
  const path = join(folder, logName);
  const header = formatFirstLine(JSON.stringify({ svc_job_log: format, written_by: svcVersion }));
  await disk.remove(path);
  const file = await disk.create(path);
  try {
    await file.write(header, 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.syncFolder(folder);
}

/** Reads a job log up to a write that a crash interrupted. Later batches are resent. Fails if the log is damaged. */
export async function readJobLog(folder: string, disk: Disk = systemDisk) {
  const path = join(folder, logName);
  const finished = new FinishedBatches();
  /** Moves of batches that were sent and are not finished. */
  const unfinishedMoves = new Map<number, BatchMoves>();
  let counts: RowCounts = { rows: 0, invalid: 0, failed: 0, moved: 0 };
  let results = 0;
  let last: EventLine | undefined;
  const visitor = {
    visitFirst(json: string) {
      const { svc_job_log } = (tryParseJson(json) ?? {}) as { readonly svc_job_log?: unknown };
      if (svc_job_log === format) return startPosition;
      throw new Error(`${path} was written by another version of svc (format ${String(svc_job_log)})`);
    },
    visitLine(json: string) {
      const line = JSON.parse(json) as BatchLine | EventLine | MovesLine;
      if ("event" in line) last = line;
      else if ("sending" in line) unfinishedMoves.set(line.sending, line.moves);
      else if (!finished.has(line.batch)) {
        finished.add(line.batch, line.digest);
        unfinishedMoves.delete(line.batch);
        counts = addBatch(counts, line);
        results = line.results;
      }
    },
  };
  const end = await readLog(disk, path, visitor).catch((cause) => {
    throw isMissing(cause) ? new Error(`${path} is missing`, { cause }) : cause;
  });
  if (end.damage) throw new Error(`${path}, line ${end.damage.line}: ${end.damage.reason}`);
  // The first line is durable before the folder becomes a job.
  if (end.length === 0) throw new Error(`${path} is empty or cut off in its first line`);
  return { ...counts, finished, unfinishedMoves, results, last: last as EventLine | undefined, file: { path, ...end } };
}

interface OpenOptions {
  readonly wall: WallClock;
  readonly disk?: Disk;
  readonly report: (message: string) => Promise<void>;
}

export type OpenJob = Awaited<ReturnType<typeof openJob>>;

/**
 * Opens the log and the results of a running job. Truncates them to their valid part and reports it. The results of
 * finished batches are appended first, then their lines. Each write is durable and covers all waiting batches. Batches
 * that are lost in a crash are resent, which changes nothing.
 */
export async function openJob(folder: string, { wall, report, disk = systemDisk }: OpenOptions) {
  const { file, finished, unfinishedMoves, results, ...state } = await readJobLog(folder, disk);
  const { path, length, torn, position = startPosition } = file;
  const logFile = await disk.open(path, "write");
  if (torn) {
    await report(formatTornEnd(path));
    await logFile.truncate(length);
    await logFile.sync();
  }
  const resultsFile = await openResults(disk, getResultsPath(folder), results, report);
  let counts: RowCounts = state;
  let resultsLength = await resultsFile.size();
  let writtenLength = resultsLength;
  const waitingResults: Buffer[] = [];

  async function writeResults(): Promise<void> {
    const bytes = Buffer.concat(waitingResults.splice(0));
    if (bytes.byteLength === 0) return;
    await resultsFile.write(bytes, writtenLength);
    await resultsFile.datasync();
    writtenLength += bytes.byteLength;
  }

  const log = new AppendLog<Error>({
    ...{ path, file: logFile, length, position, prepare: writeResults },
    createError: (_reason, cause) => cause as Error,
  });
  const append = (line: BatchLine | EventLine | MovesLine) => log.append(JSON.stringify(line));
  return {
    finished,
    /** Moves of batches that an earlier run sent and did not finish. */
    unfinishedMoves,
    /** Counts of all finished batches on disk, in this and earlier runs. */
    get counts(): RowCounts {
      return counts;
    },
    /** Records a finished batch with its results. Resolves when they are on disk. */
    async finish(batch: Omit<BatchLine, "results">, results: string): Promise<void> {
      finished.add(batch.batch, batch.digest);
      waitingResults.push(Buffer.from(results));
      resultsLength += Buffer.byteLength(results);
      await append({ ...batch, results: resultsLength });
      counts = addBatch(counts, batch);
    },
    /** Records the previous clusters of a batch that is about to be sent. Resolves when they are on disk. */
    recordMoves: (batch: number, moves: BatchMoves): Promise<void> => append({ sending: batch, moves }),
    /** Records the outcome of the job, and waits until everything is on disk. */
    note: (event: EventLine["event"], reason?: string): Promise<void> =>
      append({ event, at: toIsoSeconds(wall.now()), ...(reason !== undefined && { reason }) }),
    async close(): Promise<void> {
      await log.close();
      await resultsFile.close();
    },
  };
}

/** Opens or creates the file and truncates it to the length in the log. Reports a shorter file. */
async function openResults(disk: Disk, path: string, length: number, report: OpenOptions["report"]): Promise<DiskFile> {
  const header = Buffer.from(resultsHeader);
  const file = await disk.open(path, "write").catch(async (error: unknown) => {
    if (!isMissing(error)) throw error;
    const created = await disk.create(path);
    await disk.syncFolder(dirname(path));
    return created;
  });
  const size = await file.size();
  if (size < length) await report(`${path} was truncated: earlier failed rows are missing`);
  const keptBytes = Math.min(size, length);
  await file.truncate(keptBytes < header.byteLength ? 0 : keptBytes);
  if (keptBytes < header.byteLength) await file.write(header, 0);
  await file.sync();
  return file;
}
