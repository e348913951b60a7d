import { counted } from "../../base/counted.ts";
import type { Context } from "../command.ts";
import type { InvalidRow } from "./input/batches.ts";
import type { Shard } from "./input/shard.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { OpenJob } from "./log/open-job.ts";
import type { BulkWork } from "./work.ts";

/** What was done, for `--json` and for the last line. Counts are those of the whole job, over all its runs. */
export interface JobReport {
  readonly job_id: string;
  readonly action: string;
  readonly cluster_id: string;
  readonly rows: number;
  readonly batches: number;
  readonly moved: number;
  readonly invalid: number;
  readonly failed: number;
  readonly retries: number;
  readonly first_invalid_row: number | null;
  /** Rows with trouble, as CSV. */
  readonly results: string | null;
}

export function reportOf(
  record: JobRecord,
  { counts, finished }: OpenJob,
  of: { readonly firstInvalid: InvalidRow | undefined; readonly retries: number; readonly results: string },
): JobReport {
  const { rows, moved, invalid, failed } = counts;
  return {
    job_id: record.id,
    action: record.command,
    cluster_id: record.scope.cluster_id!,
    rows,
    batches: finished.count,
    moved,
    invalid,
    failed,
    retries: of.retries,
    first_invalid_row: record.input.first_invalid_row ?? of.firstInvalid?.number ?? null,
    results: invalid + failed > 0 || record.results === "all" ? of.results : null,
  };
}

const verbs = { map: ["Mapped", "to"], unmap: ["Removed", "from"], offboard: ["Removed", "from"] } as const;

/** `Mapped 3 e-mails to eu-1` */
export function outcomeOf({ action, noun }: Pick<BulkWork, "action" | "noun">, rows: number, cluster: string): string {
  const [verb, preposition] = verbs[action];
  return `${verb} ${counted(rows, noun)} ${preposition} ${cluster}`;
}

export async function showReport(
  report: JobReport,
  work: BulkWork,
  shard: Shard | null,
  { output }: Context,
): Promise<void> {
  if (output.format !== "table") return output.show(report);
  await output.print(outcomeOf(work, report.rows, report.cluster_id));
  if (shard && report.rows + report.invalid + report.failed === 0) {
    await output.note(`The share ${shard.index}/${shard.of} holds no rows`);
  }
  if (report.moved > 0) await output.note(`${report.moved} of them were mapped to another cluster before`);
  if (report.invalid > 0) {
    await output.note(`${counted(report.invalid, "row")} skipped, the first at row ${report.first_invalid_row}`);
  }
  if (report.failed > 0) await output.note(`${counted(report.failed, "row")} refused by the service`);
  if (report.results !== null) await output.note(`See svc router jobs results ${report.job_id}`);
}
