import { toIsoSeconds } from "../../../../base/clock.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { writeOutput } from "../../../output/file.ts";
import { escapeMarkup } from "../../../output/junit.ts";
import { formatCsvLine } from "../../../output/text.ts";
import { UsageError } from "../../../process/failure.ts";
import type { InputShard } from "./input/distinct.ts";
import type { RowSummary } from "./job.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { RowCounts } from "./log/log-file.ts";
import type { OpenJob } from "./log/open-job.ts";
import { tallyResults } from "./log/results.ts";
import { formatSeconds } from "./progress.ts";
import { type BulkJobKind, formatOutcome } from "./work.ts";

export interface JobEnd extends RowCounts {
  readonly distinct: number | null;
  readonly stoppedBecause: string | undefined;
}

const csvHeader = formatCsvLine(["section", "item", "value"]);
const htmlBeginning = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Bulk job ';

export const isReportFile = (beginning: string): boolean =>
  beginning.startsWith(csvHeader) || beginning.startsWith(htmlBeginning);

export function checkReportName(path: string): void {
  if (!/\.(?:html|csv)$/i.test(path)) throw new UsageError(`--report must be a file .html or .csv, got "${path}"`);
}

export async function writeReport(
  path: string,
  folder: string,
  record: JobRecord,
  end: JobEnd,
  { host }: Context,
): Promise<void> {
  const sections = createSections(record, end, await tallyResults(folder), host.wall.now());
  const text = /\.csv$/i.test(path) ? formatCsv(sections) : formatHtml(record.id, sections);
  await writeOutput(host, path, [Buffer.from(text)], 0o600);
}

type Section = readonly [name: string, rows: readonly (readonly [item: string, value: string])[]];

function createSections(
  record: JobRecord,
  end: JobEnd,
  { reasons, moves }: Awaited<ReturnType<typeof tallyResults>>,
  now: number,
): Section[] {
  const { rows, invalid, failed, moved, distinct } = end;
  const listReasons = (status: string) =>
    reasons.flatMap((reason) =>
      reason.status === status
        ? [[`${reason.reason} (first in row ${reason.first_row})`, String(reason.rows)] as const]
        : [],
    );
  const formatKnown = (count: number | null | undefined) =>
    count === null || count === undefined ? "not known" : String(count);
  return [
    [
      "Job",
      [
        ["id", record.id],
        ["command", `svc router ${record.command}`],
        ["cluster", record.scope.cluster_id ?? ""],
        ["service", record.target],
        ["input", record.input.path === "-" ? "a pipe" : record.input.path],
        ["status", end.stoppedBecause === undefined ? "finished" : `stopped: ${end.stoppedBecause}`],
        ["begun", record.created_at],
        ["written", toIsoSeconds(now)],
        ["duration", formatSeconds((now - Date.parse(record.created_at)) / 1_000)],
      ],
    ],
    [
      "Rows",
      [
        ["in the input", formatKnown(record.input.rows)],
        ["confirmed by the service", String(rows)],
        ["different identifiers in the input", formatKnown(distinct)],
        ["invalid, not sent", String(invalid)],
        ["rejected by the service", String(failed)],
        ...(record.command.startsWith("map-") ? [["moved from another cluster", formatKnown(moved)] as const] : []),
      ],
    ],
    ["Invalid rows by reason", listReasons("invalid")],
    ["Rejected rows by reason", listReasons("failed")],
    ["Moved rows by previous cluster", [...moves].map(([cluster, count]) => [cluster, String(count)] as const)],
  ];
}

const formatCsv = (sections: readonly Section[]): string =>
  csvHeader +
  sections.flatMap(([name, rows]) => rows.map(([item, value]) => formatCsvLine([name, item, value]))).join("");

const formatHtml = (id: string, sections: readonly Section[]): string =>
  [
    `${htmlBeginning}${escapeMarkup(id)}</title>`,
    "<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}",
    "table{border-collapse:collapse;width:100%}td{border-top:1px solid #ccc;padding:.3rem .5rem;overflow-wrap:anywhere}",
    "td+td{text-align:right}</style>",
    `<h1>Bulk job ${escapeMarkup(id)}</h1>`,
    ...sections
      .filter(([, rows]) => rows.length > 0)
      .flatMap(([name, rows]) => [
        `<h2>${escapeMarkup(name)}</h2>`,
        "<table>",
        ...rows.map(([item, value]) => `<tr><td>${escapeMarkup(item)}</td><td>${escapeMarkup(value)}</td></tr>`),
        "</table>",
      ]),
    "</html>",
    "",
  ].join("\n");

type JobReport = ReturnType<typeof buildJobReport>;

/** Collects the results for `--json` and for the last line. Counts cover all runs of the job. */
export function buildJobReport(
  record: JobRecord,
  { counts, finished }: OpenJob,
  summary: RowSummary & { readonly retries: number; readonly results: string },
) {
  const { rows, moved, invalid, failed } = counts;
  const { distinct, verified, unverified, retries } = summary;
  return {
    job_id: record.id,
    action: record.command,
    cluster_id: record.scope.cluster_id!,
    ...{ rows, distinct, verified, unverified, batches: finished.count, moved, invalid, failed, retries },
    first_invalid_row: record.input.first_invalid_row ?? summary.firstInvalid?.number ?? null,
    results: invalid + failed > 0 || record.results === "all" ? summary.results : null,
  };
}

export async function showReport(
  report: JobReport,
  work: BulkJobKind,
  shard: InputShard | null,
  { output }: Context,
): Promise<void> {
  if (output.format !== "table") return output.show(report);
  const { rows, invalid, failed, cluster_id: cluster } = report;
  // The rejected rows among the repeated ones are unknown.
  const distinct = failed === 0 ? (report.distinct ?? undefined) : undefined;
  await output.print(formatOutcome({ ...work, cluster, rows, distinct }));
  const { verified, unverified, moved, results } = report;
  const is = `${verified === 1 ? "is" : "are"} ${work.action === "map" ? "mapped" : "not mapped"} to ${cluster}`;
  const mismatchNote = verified === null ? "" : ", or not mapped as requested";
  const notes = [
    verified !== null && `Looked up: ${pluralize(verified, "row")} ${is}`,
    unverified > 0 && `${pluralize(unverified, "row")} cannot be looked up`,
    work.action !== "map" &&
      rows > 0 &&
      `Identifiers that are not mapped to ${cluster} were ignored; the service does not report how many`,
    shard && rows + invalid + failed === 0 && `Share ${shard.index}/${shard.of} has no rows`,
    moved && `${moved} of them were previously mapped to another cluster`,
    invalid > 0 && `${pluralize(invalid, "row")} skipped, the first at row ${report.first_invalid_row}`,
    failed > 0 && `${pluralize(failed, "row")} rejected by the service${mismatchNote}`,
    results !== null && `See svc router jobs results ${report.job_id}`,
  ];
  for (const note of notes) if (note) await output.note(note);
}
