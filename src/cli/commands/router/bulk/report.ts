import { toIsoSeconds } from "../../../../base/clock.ts";
import { groupBy } from "../../../../base/object.ts";
import { describeDuration } from "../../../../base/quantities.ts";
import { pluralize } from "../../../../base/text.ts";
import type { PlannedRetry } from "../../../../client/network-failure.ts";
import type { Context } from "../../../command.ts";
import { escapeMarkup } from "../../../output/ci.ts";
import { writeOutput } from "../../../output/file.ts";
import { canShowStatusLine } from "../../../output/print.ts";
import { formatCsvLine } from "../../../output/table.ts";
import { isSwitchedOn } from "../../../process/environment.ts";
import type { OpenJob, RowCounts } from "./log/job-log.ts";
import type { JobRecord } from "./log/jobs.ts";
import { readResults } from "./log/results.ts";

export const countProcessedRows = ({ counts }: OpenJob): number => counts.rows + counts.invalid + counts.failed;

export type JobProgress = ReturnType<typeof createJobProgress>;

/**
 * Shows the progress of a job on standard error (DECISIONS.md, L18). A terminal shows one rewritten line. Other outputs
 * get a new line every ten seconds, or a JSON document under `--format ndjson`.
 */
export function createJobProgress(record: JobRecord, job: OpenJob, { host, globals, output }: Context) {
  const { stderr, wall, env } = host;
  const { rows: total } = record.input;
  const verb = record.command.startsWith("map-") ? "mapped" : "removed";
  const isAnimated = canShowStatusLine(stderr) && !isSwitchedOn(env.CI) && output.format !== "ndjson";
  const intervalMs = isAnimated ? 200 : 10_000;
  const resumedRows = countProcessedRows(job);
  const startedAt = wall.monotonicNow();
  let rows = 0;
  let retries = 0;
  let shownAt = startedAt;
  let isShown = false;

  function formatLine(doneRows: number, rate: number): string {
    const count = formatCount(doneRows);
    return [
      `${verb} ${total === null ? count : `${count}/${formatCount(total)}`}`,
      ...(total ? [`${Math.floor((100 * doneRows) / total)}%`] : []),
      `${formatCount(rate)} rows/s`,
      ...(retries > 0 ? [pluralize(retries, "retry", "retries")] : []),
      ...(total && rate > 0 ? [`ETA ${describeDuration((1_000 * (total - doneRows)) / rate)}`] : []),
    ].join(" · ");
  }

  function show(text: string, value: unknown): void {
    isShown = true;
    if (output.format === "ndjson") void output.printDiagnosticDocument(value);
    else void (isAnimated ? output.showStatus(text) : output.warn(text));
  }

  return {
    get retries() {
      return retries;
    },
    add(newRows: number): void {
      rows += newRows;
      const now = wall.monotonicNow();
      if (globals.quiet || now - shownAt < intervalMs) return;
      shownAt = now;
      const doneRows = resumedRows + rows;
      const rate = rows / Math.max(0.001, (now - startedAt) / 1_000);
      const document = { type: "progress", rows: doneRows, total, rows_per_second: Math.round(rate), retries };
      show(formatLine(doneRows, rate), document);
    },
    reportRetry({ waitMs, reason }: PlannedRetry): void {
      retries += 1;
      if (globals.quiet || waitMs < 2_000) return;
      const reasonText = reason === "status 429" ? "rate limited" : reason;
      const seconds = Math.ceil(waitMs / 1_000);
      show(`${reasonText}, resuming in ${seconds} s`, { type: "waiting", reason: reasonText, seconds });
    },
    /** Clears the line. No further output follows. */
    async end(): Promise<void> {
      if (isShown && isAnimated) await output.showStatus(undefined);
    },
  };
}

function formatCount(count: number): string {
  if (count >= 999_950) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 10_000 ? `${Math.round(count / 1e3)}k` : String(Math.round(count));
}

interface JobEnd extends RowCounts {
  readonly distinct: number | null;
  readonly stoppedBecause: string | undefined;
}

const csvHeader = formatCsvLine(["section", "item", "value"]);
const htmlBeginning = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Bulk job ';

export const isReportFile = (beginning: string): boolean =>
  beginning.startsWith(csvHeader) || beginning.startsWith(htmlBeginning);

/** Writes the report of --report. It counts the rows of all runs of the job. */
export async function writeReport(path: string, folder: string, record: JobRecord, end: JobEnd, { host }: Context) {
  const report = createReport(record, end, await tallyResults(folder), host.wall.now());
  const isCsv = /\.csv$/i.test(path);
  const text = isCsv ? csvHeader + report.map(formatCsvLine).join("") : formatHtml(record.id, report);
  await writeOutput(host, path, [Buffer.from(text)], 0o600);
}

/** Maximum number of distinct reasons, because services can word each rejection differently. */
const maxReasons = 100;

/** Counts the rows of a job by the reason of their failure, and by their previous cluster. */
async function tallyResults(folder: string) {
  const reasons = new Map<string, { status: string; reason: string; rows: number; first_row: number }>();
  const moves = new Map<string, number>();
  for await (const rows of readResults(folder)) {
    for (const { row, status, message, moved_from: from } of rows) {
      if (from !== "") moves.set(from, (moves.get(from) ?? 0) + 1);
      if (status === "ok") continue;
      const reason = reasons.size < maxReasons || reasons.has(`${status} ${message}`) ? message : "other reasons";
      const group = reasons.get(`${status} ${reason}`) ?? { status, reason, rows: 0, first_row: row };
      group.rows += 1;
      reasons.set(`${status} ${reason}`, group);
    }
  }
  return { reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows), moves };
}

type ReportRow = readonly [section: string, item: string, value: string];

function createReport(
  { id, command, scope, target, input, created_at }: JobRecord,
  { rows, invalid, failed, moved, distinct, stoppedBecause }: JobEnd,
  { reasons, moves }: Awaited<ReturnType<typeof tallyResults>>,
  now: number,
): ReportRow[] {
  const formatKnown = (count: number | null) => (count === null ? "not known" : String(count));
  const listReasons = (section: string, failedStatus: string) =>
    reasons
      .filter(({ status }) => status === failedStatus)
      .map(({ reason, rows, first_row }): ReportRow => [section, `${reason} (first in row ${first_row})`, `${rows}`]);
  return [
    ["Job", "id", id],
    ["Job", "command", `svc router ${command}`],
    ["Job", "cluster", scope.cluster_id ?? ""],
    ["Job", "service", target],
    ["Job", "input", input.path === "-" ? "a pipe" : input.path],
    ["Job", "status", stoppedBecause === undefined ? "finished" : `stopped: ${stoppedBecause}`],
    ["Job", "begun", created_at],
    ["Job", "written", toIsoSeconds(now)],
    ["Job", "duration", describeDuration(Math.max(0, now - Date.parse(created_at)))],
    ["Rows", "in the input", formatKnown(input.rows)],
    ["Rows", "confirmed by the service", `${rows}`],
    ["Rows", "different identifiers in the input", formatKnown(distinct)],
    ["Rows", "invalid, not sent", `${invalid}`],
    ["Rows", "rejected by the service", `${failed}`],
    ...(command.startsWith("map-") ? [["Rows", "moved from another cluster", formatKnown(moved)] as const] : []),
    ...listReasons("Invalid rows by reason", "invalid"),
    ...listReasons("Rejected rows by reason", "failed"),
    ...[...moves].map(([cluster, count]) => ["Moved rows by previous cluster", cluster, `${count}`] as const),
  ];
}

function formatHtml(id: string, report: readonly ReportRow[]): string {
  return [
    `${htmlBeginning}${escapeMarkup(id)}</title>`,
    "<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}",
    "table{border-collapse:collapse;width:100%}td{border-top:1px solid #ccc;padding:.3rem .5rem;overflow-wrap:anywhere}",
    "td+td{text-align:right}</style>",
    `<h1>Bulk job ${escapeMarkup(id)}</h1>`,
    ...[...groupBy(report, ([section]) => section)].flatMap(([name, rows]) => [
      `<h2>${escapeMarkup(name)}</h2>`,
      "<table>",
      ...rows.map(([, item, value]) => `<tr><td>${escapeMarkup(item)}</td><td>${escapeMarkup(value)}</td></tr>`),
      "</table>",
    ]),
    "</html>",
    "",
  ].join("\n");
}
