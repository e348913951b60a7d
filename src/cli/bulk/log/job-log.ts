import { type Disk, systemDisk } from "../../../files/disk.ts";
import { FinishedBatches } from "./finished-batches.ts";
import { LaterLogError, type LogFile, readLogFile } from "./log-file.ts";

/** Numbers of rows, summed over all batches that are finished. */
export interface RowCounts {
  readonly rows: number;
  readonly invalid: number;
  readonly failed: number;
  /** Null where the service did not say it of all. */
  readonly moved: number | null;
}

export const addCounts = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a + b;

/** One finished batch. Its rows with trouble stand in the results, whole, when its line stands here. */
export interface BatchLine extends RowCounts {
  readonly batch: number;
  /** Every batch below this one is finished. */
  readonly low: number;
  /** Length of the results file that holds all finished batches, in bytes. */
  readonly results: number;
  readonly digest?: string;
}

export interface EventLine {
  readonly event: "started" | "stopped" | "finished";
  readonly at: string;
  /** Why it stopped. */
  readonly reason?: string;
}

export type LogLine = BatchLine | EventLine;

/** What a job log tells. */
export interface LoggedState extends RowCounts {
  readonly finished: FinishedBatches;
  readonly results: number;
  readonly last: EventLine | undefined;
  readonly file: LogFile;
}

/**
 * Reads a job log up to where it is torn or damaged: what stood there is done again. Undefined when there is none, or
 * one of a later version.
 */
export async function readJobLog(folder: string, disk: Disk = systemDisk): Promise<LoggedState | undefined> {
  const finished = new FinishedBatches();
  const sum = { rows: 0, invalid: 0, failed: 0, moved: 0 as number | null };
  let results = 0;
  let last: EventLine | undefined;
  const take = (json: string) => {
    const line = JSON.parse(json) as LogLine;
    if ("event" in line) {
      last = line;
      return;
    }
    if (finished.has(line.batch)) return;
    finished.add(line.batch, line.digest);
    sum.rows += line.rows;
    sum.invalid += line.invalid;
    sum.failed += line.failed;
    sum.moved = addCounts(sum.moved, line.moved);
    results = line.results;
  };
  try {
    const file = await readLogFile(disk, folder, take);
    return file && { ...sum, finished, results, last, file };
  } catch (error) {
    if (error instanceof LaterLogError) return undefined;
    throw error;
  }
}
