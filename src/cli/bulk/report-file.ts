import { isoSeconds } from "../../base/clock.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { csvLine } from "../output/text.ts";
import { resultsPath } from "./job.ts";
import type { RowCounts } from "./log/job-log.ts";
import type { JobRecord } from "./log/jobs.ts";
import { type Tally, tallyResults } from "./log/tally.ts";
import { formatSeconds } from "./progress.ts";

/** How a job stands when its report is written. */
export interface JobEnd extends RowCounts {
  readonly distinct: number | null;
  /** Undefined where it is finished. */
  readonly stoppedBecause: string | undefined;
}

const csvHeader = csvLine(["section", "item", "value"]);
const htmlBeginning = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Bulk job ';

/** Whether a file that begins so is one of these. */
export const isReport = (beginning: string): boolean =>
  beginning.startsWith(csvHeader) || beginning.startsWith(htmlBeginning);

export function checkReportName(path: string): void {
  if (!/\.(?:html|csv)$/i.test(path)) throw new UsageError(`--report must be a file .html or .csv, got "${path}"`);
}

/** Writes what a job came to for somebody who does not read logs: one page, or the same as rows. */
export async function writeReport(
  path: string,
  folder: string,
  record: JobRecord,
  end: JobEnd,
  { host }: Context,
): Promise<void> {
  const sections = sectionsOf(record, end, await tallyResults(resultsPath(folder)), host.wall.now());
  const text = /\.csv$/i.test(path) ? csvOf(sections) : htmlOf(record.id, sections);
  const { writeOutput } = await import("../output/file.ts");
  await writeOutput(host, path, [Buffer.from(text)], 0o600);
}

type Section = readonly [name: string, rows: readonly (readonly [item: string, value: string])[]];

function sectionsOf(record: JobRecord, end: JobEnd, { reasons, moves }: Tally, now: number): Section[] {
  const { rows, invalid, failed, moved, distinct } = end;
  const of = (status: string) =>
    reasons.flatMap((one) =>
      one.status === status ? [[`${one.reason} (first in row ${one.first_row})`, String(one.rows)] as const] : [],
    );
  const known = (count: number | null | undefined) =>
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
        ["written", isoSeconds(now)],
        ["duration", formatSeconds((now - Date.parse(record.created_at)) / 1_000)],
      ],
    ],
    [
      "Rows",
      [
        ["in the input", known(record.input.rows)],
        ["confirmed by the service", String(rows)],
        ["different identifiers in the input", known(distinct)],
        ["invalid, not sent", String(invalid)],
        ["rejected by the service", String(failed)],
        ...(record.command.startsWith("map-") ? [["moved from another cluster", known(moved)] as const] : []),
      ],
    ],
    ["Invalid rows by reason", of("invalid")],
    ["Rejected rows by reason", of("failed")],
    ["Moved rows by previous cluster", [...moves].map(([cluster, count]) => [cluster, String(count)] as const)],
  ];
}

const csvOf = (sections: readonly Section[]): string =>
  csvHeader + sections.flatMap(([name, rows]) => rows.map(([item, value]) => csvLine([name, item, value]))).join("");

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

const htmlOf = (id: string, sections: readonly Section[]): string =>
  [
    `${htmlBeginning}${escaped(id)}</title>`,
    "<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}",
    "table{border-collapse:collapse;width:100%}td{border-top:1px solid #ccc;padding:.3rem .5rem;overflow-wrap:anywhere}",
    "td+td{text-align:right}</style>",
    `<h1>Bulk job ${escaped(id)}</h1>`,
    ...sections
      .filter(([, rows]) => rows.length > 0)
      .flatMap(([name, rows]) => [
        `<h2>${escaped(name)}</h2>`,
        "<table>",
        ...rows.map(([item, value]) => `<tr><td>${escaped(item)}</td><td>${escaped(value)}</td></tr>`),
        "</table>",
      ]),
    "</html>",
    "",
  ].join("\n");
