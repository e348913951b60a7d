import { readFileBytes } from "../input/bytes.ts";
import { parseCsvRecords } from "../input/csv.ts";
import { resultColumns } from "./results.ts";

/** Rows of the results with the same reason. */
export interface TallyReason {
  readonly status: string;
  readonly reason: string;
  readonly rows: number;
  readonly first_row: number;
}

/** Totals of the results of a job. */
export interface Tally {
  /** Reasons of invalid and failed rows, the most frequent first. */
  readonly reasons: readonly TallyReason[];
  /** Number of moved identifiers by previous cluster. */
  readonly moves: ReadonlyMap<string, number>;
}

/** Limit of distinct reasons, because services may word each rejection differently. */
const maxReasons = 100;
const getColumnIndex = (name: (typeof resultColumns)[number]): number => resultColumns.indexOf(name);

export async function tallyResults(path: string): Promise<Tally> {
  const reasons = new Map<string, { status: string; reason: string; rows: number; first_row: number }>();
  const moves = new Map<string, number>();
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(path))) {
    for (const { record } of records.slice(isHeader ? 1 : 0)) {
      const status = record[getColumnIndex("status")] ?? "";
      const from = record[getColumnIndex("moved_from")] ?? "";
      if (from !== "") moves.set(from, (moves.get(from) ?? 0) + 1);
      if (status === "ok") continue;
      const message = record[getColumnIndex("message")] ?? "";
      const reason = reasons.size < maxReasons || reasons.has(`${status} ${message}`) ? message : "other reasons";
      const found = reasons.get(`${status} ${reason}`) ?? {
        status,
        reason,
        rows: 0,
        first_row: Number(record[getColumnIndex("row")]),
      };
      reasons.set(`${status} ${reason}`, { ...found, rows: found.rows + 1 });
    }
    isHeader = false;
  }
  return { reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows), moves };
}

/** Reads the identifiers that a job moved, with their previous cluster. */
export async function* readMovedRows(path: string): AsyncGenerator<{ readonly text: string; readonly from: string }> {
  for await (const records of parseCsvRecords(readFileBytes(path))) {
    for (const { record } of records) {
      const from = record[getColumnIndex("moved_from")] ?? "";
      if (from !== "" && record[getColumnIndex("status")] === "ok")
        yield { text: record[getColumnIndex("input")] ?? "", from };
    }
  }
}
