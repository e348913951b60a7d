import { join } from "node:path";
import { pluralize } from "../../../../base/text.ts";
import { writeFileAtomic } from "../../../../files/atomic-write.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError, type FailureKind } from "../../../process/failure.ts";
import { confirmYes } from "../../../prompt/confirm.ts";
import type { JobRecord } from "./log/jobs.ts";
import { readJobLog } from "./log/log-file.ts";
import { readMovedRows } from "./log/results.ts";
import { createLookup } from "./lookup.ts";
import { getTargetName, requireUnchangedPlan } from "./plan.ts";
import { startJob } from "./start-job.ts";
import { findBulkJobKind } from "./work.ts";

/**
 * Maps rows of a job back to the clusters from which the job moved them, with one job per cluster. Skips rows that have
 * moved since.
 */
export async function undoJob(
  folder: string,
  record: JobRecord,
  concurrency: number,
  context: Context,
): Promise<FailureKind | undefined> {
  const work = findBulkJobKind(record.command)!;
  const cluster = record.scope.cluster_id!;
  if (work.action !== "map" || record.results !== "all") {
    throw new CommandFailedError("failed", "moves_unknown", `${record.id} did not record previous clusters.`, {
      hint: "To record them for e-mails and client IDs, map with --results all.",
    });
  }
  requireUnchangedPlan(record, { target: await getTargetName(context) });
  const findClusters = await createLookup(work, context);
  const { toValue } = work.getKind(record);
  const previousClusters = new Map<string, string>();
  for await (const { input, moved_from } of readMovedRows(folder)) previousClusters.set(toValue(input), moved_from);
  // The service may have carried out batches whose responses the job did not receive.
  for (const moves of (await readJobLog(folder)).unfinishedMoves.values()) {
    for (const [input, cluster] of moves) previousClusters.set(toValue(input), cluster);
  }
  const now = await findClusters?.([...previousClusters.keys()]);
  const lists = new Map<string, string[]>();
  let movedSinceCount = 0;
  for (const [identifier, from] of previousClusters) {
    if (now?.get(identifier) !== cluster) {
      movedSinceCount += 1;
      continue;
    }
    const list = lists.get(from) ?? [];
    list.push(identifier);
    lists.set(from, list);
  }
  if (movedSinceCount > 0) {
    await context.output.note(`${pluralize(movedSinceCount, work.noun)} no longer mapped to ${cluster}: unchanged`);
  }
  if (lists.size === 0) {
    await context.output.note(`${record.id} moved nothing that is still mapped to ${cluster}`);
    return undefined;
  }
  const shares = [...lists].map(([from, list]) => `${list.length} to ${from}`).join(", ");
  const count = [...lists.values()].reduce((sum, list) => sum + list.length, 0);
  await confirmYes(`Map back ${pluralize(count, work.noun)} from ${cluster} (${shares})`, context);
  let firstFailure: FailureKind | undefined;
  for (const [from, list] of lists) {
    // The rows are stored with the job, so that an undo job can be resumed.
    const path = join(folder, `undo-${encodeURIComponent(from)}.txt`);
    await writeFileAtomic(path, list.map((identifier) => `${identifier}\n`).join(""));
    const failure = await startJob(
      {
        ...{ work, path, hash: record.hash, batch_size: record.batch_size, concurrency },
        ...{ format: "lines", format_guessed: false, columns: [], delimiter: null, shard: null },
        ...{ skip_invalid: false, max_errors: null, results: "errors", verify: false },
        scope: { ...record.scope, cluster_id: from },
        mayMove: true,
      },
      context,
    );
    firstFailure ??= failure;
  }
  return firstFailure;
}
