import { pluralize } from "../../base/pluralize.ts";
import type { Context } from "../command.ts";
import type { InvalidRow } from "./input/batches.ts";
import type { Shard } from "./input/shard.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { OpenJob } from "./log/open-job.ts";
import { formatOutcome, unknownNote } from "./outcome.ts";
import type { BulkWork } from "./work.ts";

/** What was done, for `--json` and for the last line. Counts are those of the whole job, over all its runs. */
export interface JobReport {
  readonly job_id: string;
  readonly action: string;
  readonly cluster_id: string;
  readonly rows: number;
  /** Different identifiers among the valid rows of the input; null where they were not counted. */
  readonly distinct: number | null;
  /** Rows that a look-up has found where they should be; null where nobody looked. */
  readonly verified: number | null;
  /** Rows that cannot be looked up. */
  readonly unverified: number;
  readonly batches: number;
  /** Identifiers that another cluster had before; null where the service does not say. */
  readonly moved: number | null;
  readonly invalid: number;
  readonly failed: number;
  readonly retries: number;
  readonly first_invalid_row: number | null;
  /** Rows with trouble, as CSV. */
  readonly results: string | null;
}

export function buildJobReport(
  record: JobRecord,
  { counts, finished }: OpenJob,
  of: {
    readonly firstInvalid: InvalidRow | undefined;
    readonly distinct: number | null;
    readonly verified: number | null;
    readonly unverified: number;
    readonly retries: number;
    readonly results: string;
  },
): JobReport {
  const { rows, moved, invalid, failed } = counts;
  return {
    job_id: record.id,
    action: record.command,
    cluster_id: record.scope.cluster_id!,
    rows,
    distinct: of.distinct,
    verified: of.verified,
    unverified: of.unverified,
    batches: finished.count,
    moved,
    invalid,
    failed,
    retries: of.retries,
    first_invalid_row: record.input.first_invalid_row ?? of.firstInvalid?.number ?? null,
    results: invalid + failed > 0 || record.results === "all" ? of.results : null,
  };
}

export async function showReport(
  report: JobReport,
  work: BulkWork,
  shard: Shard | null,
  { output }: Context,
): Promise<void> {
  if (output.format !== "table") return output.show(report);
  const { rows, invalid, failed, cluster_id: cluster } = report;
  // Which of the repeated rows were refused is not known.
  const distinct = failed === 0 ? (report.distinct ?? undefined) : undefined;
  await output.print(formatOutcome({ ...work, cluster, rows, distinct }));
  if (report.verified !== null) {
    const is = `${report.verified === 1 ? "is" : "are"} ${work.action === "map" ? "mapped" : "not mapped"} to ${cluster}`;
    await output.note(`Looked up: ${pluralize(report.verified, "row")} ${is}`);
    if (report.unverified > 0) await output.note(`${pluralize(report.unverified, "row")} cannot be looked up`);
  }
  if (work.action !== "map" && rows > 0) await output.note(unknownNote(cluster));
  if (shard && rows + invalid + failed === 0) {
    await output.note(`Share ${shard.index}/${shard.of} has no rows`);
  }
  if (report.moved) await output.note(`${report.moved} of them were previously mapped to another cluster`);
  if (invalid > 0) {
    await output.note(`${pluralize(invalid, "row")} skipped, the first at row ${report.first_invalid_row}`);
  }
  if (failed > 0)
    await output.note(
      `${pluralize(failed, "row")} rejected by the service${report.verified === null ? "" : ", or different when looked up"}`,
    );
  if (report.results !== null) await output.note(`See svc router jobs results ${report.job_id}`);
}
