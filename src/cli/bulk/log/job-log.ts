import { readFile } from "node:fs/promises";
import { FinishedBatches } from "./finished.ts";

/** Numbers of rows, summed over all batches that are finished. */
export interface Counts {
  readonly rows: number;
  readonly invalid: number;
  readonly failed: number;
  readonly moved: number;
}

/** One finished batch. Its rows with trouble stand in the results, whole, when its line stands here. */
export interface BatchLine extends Counts {
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
export interface LoggedState extends Counts {
  readonly finished: FinishedBatches;
  readonly results: number;
  /** Length of the whole lines, in bytes. */
  readonly bytes: number;
  readonly last: EventLine | undefined;
}

/** Reads a job log; a last line that was torn by a crash is left out. Undefined when there is none. */
export async function readJobLog(path: string): Promise<LoggedState | undefined> {
  const text = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const finished = new FinishedBatches();
  const sum = { rows: 0, invalid: 0, failed: 0, moved: 0 };
  let results = 0;
  let bytes = 0;
  let last: EventLine | undefined;
  for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10, bytes)) {
    const line = parsed(text.toString("utf8", bytes, end));
    if (line === undefined) break;
    bytes = end + 1;
    if ("event" in line) {
      last = line;
      continue;
    }
    if (finished.has(line.batch)) continue;
    finished.add(line.batch, line.digest);
    sum.rows += line.rows;
    sum.invalid += line.invalid;
    sum.failed += line.failed;
    sum.moved += line.moved;
    results = line.results;
  }
  return { ...sum, finished, results, bytes, last };
}

function parsed(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}
