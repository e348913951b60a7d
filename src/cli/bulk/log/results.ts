import { csvLine } from "../../output/text.ts";
import type { Batch, InvalidRow } from "../input/batches.ts";
import type { RejectedRange } from "../send.ts";

/** One row of the results (DECISIONS.md, L17). */
export interface ResultRow {
  readonly row: number;
  readonly input: string;
  readonly status: "ok" | "invalid" | "failed";
  readonly code: string;
  readonly message: string;
  /** The cluster that had the identifier before, where that was looked up; else nothing. */
  readonly moved_from: string;
}

export const resultColumns = ["row", "input", "status", "code", "message", "moved_from"] as const;

export const resultsHeader: string = csvLine(resultColumns);

export const resultLine = (result: ResultRow): string => csvLine(resultColumns.map((name) => String(result[name])));

/** Whether a file that begins so is one of these. */
export const isResults = (beginning: string): boolean => beginning.startsWith(resultsHeader);

export const invalidResult = ({ number, text, problem }: InvalidRow): ResultRow => ({
  row: number,
  input: text,
  status: "invalid",
  code: "invalid_identifier",
  message: problem,
  moved_from: "",
});

/** What became of the rows of a batch; places are among those that are identifiers. */
export interface BatchOutcome {
  readonly refused: readonly RejectedRange[];
  /** What a look-up has found afterwards, where that is not what was asked for. */
  readonly contradicted: ReadonlyMap<number, string>;
  readonly movedFrom: ReadonlyMap<number, string>;
}

/** The results of one batch as lines of CSV: those with trouble, or all. */
export function resultLines(
  { rows, invalid }: Batch,
  { refused, contradicted, movedFrom }: BatchOutcome,
  kept: "errors" | "all",
): string {
  const lines = invalid.map((row) => resultLine(invalidResult(row)));
  if (refused.length === 0 && contradicted.size === 0 && kept === "errors") return lines.join("");
  rows().forEach(({ number, text }, place) => {
    const refusal = refused.find(({ from, to }) => place >= from && place < to);
    if (refusal)
      lines.push(resultLine({ row: number, input: text, status: "failed", ...reasonOf(refusal), moved_from: "" }));
    else if (contradicted.has(place)) {
      const message = contradicted.get(place)!;
      lines.push(
        resultLine({ row: number, input: text, status: "failed", code: "not_verified", message, moved_from: "" }),
      );
    } else if (kept === "all") {
      const moved_from = movedFrom.get(place) ?? "";
      lines.push(resultLine({ row: number, input: text, status: "ok", code: "", message: "", moved_from }));
    }
  });
  return lines.join("");
}

const reasonOf = ({ error: { status, problem } }: RejectedRange) => ({
  code: problem.code ?? `http_${status}`,
  message: problem.message,
});
