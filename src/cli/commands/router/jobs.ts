import { join } from "node:path";
import { groupBy } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type PositionalSpec } from "../../../derive/command-spec.ts";
import { writeFileAtomic } from "../../../files/atomic-write.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { CommandFailedError, type FailureKind, InputRequiredError, UsageError } from "../../process/failure.ts";
import { formatCommandLine } from "../../process/shell-words.ts";
import { confirmYes } from "../../prompt/terminal.ts";
import { findBulkJobKind } from "./bulk/job-kinds.ts";
import { readJobLog } from "./bulk/log/job-log.ts";
import {
  getJobsFolder,
  isUnreadable,
  type ListedJob,
  listJobs,
  readJob,
  removeJob,
  type StoredJob,
} from "./bulk/log/jobs.ts";
import { readResults, resultFilters, showResults } from "./bulk/log/results.ts";
import { createLookup } from "./bulk/lookup.ts";
import { defaultConcurrency, getJobTarget, requireUnchangedPlan } from "./bulk/plan.ts";
import { resumeJob, startJob } from "./bulk/start-job.ts";

const id = { name: "job", description: "ID of the job", optional: true } as const satisfies PositionalSpec;
const last = createSwitch("last", "Use the newest job");

const isJobId = (text: string): boolean => /^job_\w+$/.test(text);
const isFinished = ({ status }: Pick<ListedJob, "status">): boolean => status === "done" || status === "partial";

async function findJob(
  name: string | undefined,
  isLast: boolean | undefined,
  { host }: Context,
  isMatching: (job: ListedJob) => boolean = () => true,
): Promise<StoredJob> {
  if (name === undefined && !isLast) throw new InputRequiredError("job", "<job> or --last is required");
  if (name !== undefined && isLast) throw new UsageError("<job> cannot be used with --last");
  const all = isLast ? await listJobs(host) : [];
  const named = name !== undefined && isJobId(name) ? await readJob(name, host) : undefined;
  const job = named ?? all.find(isMatching) ?? all[0];
  if (job && isUnreadable(job)) {
    const { id, reason, folder, status } = job;
    throw new CommandFailedError("failed", `job_${status}`, `Cannot read ${id}: ${reason}. Nothing was changed.`, {
      hint:
        status === "newer"
          ? "To read it, install that version of svc."
          : `Run the command of the job again: rows that are sent twice change nothing. Then remove ${folder}.`,
      next: ["router", "jobs", "list"],
    });
  }
  if (job) return job;
  throw new CommandFailedError("not-found", "no_such_job", isLast ? "No jobs found." : `Job ${name} not found.`, {
    hint: `Jobs are stored in ${getJobsFolder(host)}.`,
    next: ["router", "jobs", "list"],
  });
}

const jobFields = [
  ...["id", "command", "status", "cluster_id", "rows", "total", "invalid", "failed", "moved", "batches"],
  ...["created_at", "updated_at", "stopped_because", "input", "target"],
];

/** The unknown fields of an unreadable job are null. */
function toJobRow(job: ListedJob): Record<string, unknown> {
  if (isUnreadable(job)) {
    const { id, status, reason: stopped_because } = job;
    return { ...Object.fromEntries(jobFields.map((field) => [field, null])), id, status, stopped_because };
  }
  const { record, status, rows, invalid, failed, moved, batches, at: updated_at, reason } = job;
  const { id, command, scope, input, target, created_at } = record;
  const stopped_because = status === "interrupted" ? (reason ?? null) : null;
  return {
    ...{ id, command, status, cluster_id: scope.cluster_id, rows, total: input.rows, invalid, failed, moved, batches },
    ...{ created_at, updated_at, stopped_because, input: input.path, target },
  };
}

const jobsList = defineCommand({
  words: ["router", "jobs", "list"],
  sendsNothing: true,
  summary: "List the bulk jobs of this machine, the newest first",
  examples: [["List the jobs", "router jobs list"]],
  async run(_input, { host, output }) {
    const jobs = await listJobs(host);
    const columns = ["id", "command", "status", "cluster_id", "rows", "total", "updated_at"];
    const emptyMessage = "No jobs. To start one: svc router map-emails FILE";
    await output.show(jobs.map(toJobRow), { fields: jobFields, columns, emptyMessage });
    for (const job of jobs) if (isUnreadable(job)) await output.warn(`warning: ${job.id}: ${job.reason}`);
  },
});

const jobsShow = defineCommand({
  words: ["router", "jobs", "show"],
  sendsNothing: true,
  summary: "Show the progress of a bulk job",
  positionals: [id],
  flags: [last],
  examples: [["The newest job", "router jobs show --last"]],
  async run({ positionals, flags }, context) {
    const job = await findJob(positionals.job, flags.last, context);
    await context.output.show(toJobRow(job), { fields: jobFields });
    if (job.status === "interrupted")
      await context.output.note(`Resume it with: ${formatCommandLine(job.record.resume)}`);
  },
});

const jobsResume = defineCommand({
  words: ["router", "jobs", "resume"],
  summary: "Resume a bulk job that was stopped or killed",
  description:
    "Skips finished batches. If the service has been reset since, start a new job instead. The file must be unchanged; rows of standard input must be piped again.",
  positionals: [
    id,
    { name: "file", description: "New path of the rows, if they were moved, or - for standard input", optional: true },
  ],
  flags: [
    { ...last, description: "Use the newest unfinished job" },
    createIntegerFlag("concurrency", "Concurrent requests (default: as when it started)", { min: 1 }),
    createSwitch("skip-invalid", "Skip invalid rows, from now on"),
    createTextFlag("max-errors", "N|P%", "Stop after more failed rows than this, from now on"),
  ],
  examples: [
    ["The newest unfinished job", "router jobs resume --last"],
    ["Resume a job that read a pipe", "router jobs resume job_20310102T030405Z_7f3ak2 -"],
  ],
  async run({ positionals, flags }, context) {
    const { job } = positionals;
    // In `resume --last FILE`, the first argument is the file.
    const isFileAlone = job === "-" || (flags.last === true && job !== undefined && !isJobId(job));
    const [name, file] = isFileAlone ? [undefined, job] : [job, positionals.file];
    const { record, folder, status } = await findJob(name, flags.last, context, (job) => !isFinished(job));
    if (isFinished({ status })) {
      const note = flags.last
        ? `Nothing to resume: all jobs are finished (newest: ${record.id})`
        : `${record.id} is already finished`;
      await context.output.note(note);
      return status === "partial" && !flags.last ? "partial" : undefined;
    }
    const changedRecord = {
      ...record,
      concurrency: flags.concurrency ?? record.concurrency,
      skip_invalid: record.skip_invalid || flags["skip-invalid"] === true,
      max_errors: flags["max-errors"] ?? record.max_errors,
    };
    return resumeJob(folder, changedRecord, file, context);
  },
});

const jobsUndo = defineCommand({
  words: ["router", "jobs", "undo"],
  summary: "Map back identifiers that a bulk job moved",
  description:
    "Requires a job with --results all, which records the previous clusters of e-mails and client IDs. Identifiers that were moved again since, or that were in no cluster before, are unchanged.",
  positionals: [id],
  flags: [last, createIntegerFlag("concurrency", "Concurrent requests", { min: 1, default: defaultConcurrency })],
  examples: [["The newest job", "router jobs undo --last"]],
  async run({ positionals, flags }, context) {
    const job = await findJob(positionals.job, flags.last, context);
    return undoJob(job, flags.concurrency ?? defaultConcurrency, context);
  },
});

/** Maps rows back to the clusters from which a job moved them, by a job per cluster. Skips rows that moved since. */
async function undoJob({ folder, record }: StoredJob, concurrency: number, context: Context) {
  const { output } = context;
  const { hash, batch_size, scope } = record;
  const work = findBulkJobKind(record.command)!;
  const cluster = scope.cluster_id!;
  if (work.action !== "map" || record.results !== "all") {
    throw new CommandFailedError("failed", "moves_unknown", `${record.id} did not record previous clusters.`, {
      hint: "To record them for e-mails and client IDs, map with --results all.",
    });
  }
  requireUnchangedPlan(record, { target: await getJobTarget(record, context) });
  const findClusters = await createLookup(work, context);
  const previousClusters = await readPreviousClusters(folder, work.getKind(record).toValue);
  const clusters = await findClusters?.([...previousClusters.keys()]);
  const unmoved = [...previousClusters].filter(([identifier]) => clusters?.get(identifier) === cluster);
  const movedSinceCount = previousClusters.size - unmoved.length;
  if (movedSinceCount > 0)
    await output.note(`${pluralize(movedSinceCount, work.noun)} no longer mapped to ${cluster}: unchanged`);
  if (unmoved.length === 0) {
    await output.note(`${record.id} moved nothing that is still mapped to ${cluster}`);
    return undefined;
  }
  const byCluster = groupBy(unmoved, ([, from]) => from);
  const shares = [...byCluster].map(([from, rows]) => `${rows.length} to ${from}`).join(", ");
  await confirmYes(`Map back ${pluralize(unmoved.length, work.noun)} from ${cluster} (${shares})`, context);
  let firstFailure: FailureKind | undefined;
  for (const [from, rows] of byCluster) {
    // The rows are stored with the job, so that an undo job can be resumed.
    const path = join(folder, `undo-${encodeURIComponent(from)}.txt`);
    await writeFileAtomic(path, rows.map(([identifier]) => `${identifier}\n`).join(""));
    const failure = await startJob(
      {
        ...{ work, path, hash, batch_size, concurrency, scope: { ...scope, cluster_id: from }, mayMove: true },
        ...{ format: "lines", format_guessed: false, columns: [], delimiter: null, shard: null },
        ...{ skip_invalid: false, max_errors: null, results: "errors", verify: false },
      },
      context,
    );
    firstFailure ??= failure;
  }
  return firstFailure;
}

async function readPreviousClusters(folder: string, toValue: (input: string) => string): Promise<Map<string, string>> {
  const previousClusters = new Map<string, string>();
  for await (const rows of readResults(folder))
    for (const { input, status, moved_from } of rows)
      if (status === "ok" && moved_from !== "") previousClusters.set(toValue(input), moved_from);
  // The service may have carried out batches whose responses the job did not receive.
  for (const moves of (await readJobLog(folder)).unfinishedMoves.values())
    for (const [input, from] of moves) previousClusters.set(toValue(input), from);
  return previousClusters;
}

const jobsResults = defineCommand({
  words: ["router", "jobs", "results"],
  sendsNothing: true,
  summary: "Print the rows of a bulk job that failed",
  description: "Prints all rows if the job ran with --results all; --status errors selects the rows that failed.",
  positionals: [id],
  flags: [
    last,
    createTextFlag("status", "STATUS", "Show only rows with this status; errors for invalid and failed", {
      choices: resultFilters,
    }),
  ],
  examples: [["Print the failed rows as CSV", "router jobs results --last --status errors --format csv"]],
  async run({ positionals, flags }, context) {
    const { folder } = await findJob(positionals.job, flags.last, context);
    await showResults(folder, flags.status, context);
  },
});

const defaultAge = "30d";

const jobsPrune = defineCommand({
  words: ["router", "jobs", "prune"],
  sendsNothing: true,
  summary: "Remove the logs of bulk jobs that finished long ago",
  description:
    "Keeps unfinished jobs, which can be resumed, and damaged ones. Keeps jobs with failed rows, unless --partial is given. Jobs are never removed automatically.",
  flags: [
    createTextFlag("older-than", "DURATION", "Minimum age of finished jobs: 30d, 12h, PT2H; 0s for all", {
      default: defaultAge,
    }),
    createSwitch("partial", "Include jobs with skipped or rejected rows"),
    createSwitch("dry-run", "List the jobs without removing them", { short: "n" }),
  ],
  examples: [
    ["List the jobs to remove", "router jobs prune --dry-run"],
    ["Remove finished jobs that are older than a week", "router jobs prune --older-than 7d"],
  ],
  async run({ flags }, { host, output }) {
    const ageMs = parseDurationFlag(flags["older-than"] ?? defaultAge, "--older-than");
    const isDry = flags["dry-run"] === true;
    const rows: unknown[] = [];
    for (const job of await listJobs(host)) {
      if (!(job.status === "done" || (job.status === "partial" && flags.partial))) continue;
      const { record, folder, status, at: finished_at, rows: doneRows } = job;
      if (host.wall.now() - Date.parse(finished_at) < ageMs) continue;
      if (!isDry) await removeJob(folder);
      rows.push({ id: record.id, command: record.command, status, rows: doneRows, finished_at });
    }
    const fields = ["id", "command", "status", "rows", "finished_at"];
    await output.show(rows, { fields, columns: fields, emptyMessage: "No jobs to remove" });
    if (rows.length > 0) await output.note(isDry ? `${rows.length} would be removed` : `Removed ${rows.length}`);
  },
});

export const commands: readonly Command[] = [jobsList, jobsShow, jobsResume, jobsResults, jobsUndo, jobsPrune];
