import { lookupTable } from "../../../base/object.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type PositionalSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { createExample, formatCommandLine } from "../../process/shell-words.ts";
import { defaultConcurrency } from "./bulk/flags.ts";
import { getJobsFolder, type ListedJob, listJobs, readJob, removeJob, type StoredJob } from "./bulk/log/jobs.ts";
import { resultFilters, showResults } from "./bulk/log/results.ts";
import { resumeJob } from "./bulk/start-job.ts";
import { undoJob } from "./bulk/undo.ts";

const id = { name: "job", description: "ID of the job", optional: true } as const satisfies PositionalSpec;
const last = createSwitch("last", "Use the newest job");

const isJobId = (text: string): boolean => /^job_\w+$/.test(text);

async function findJob(
  name: string | undefined,
  isLast: boolean | undefined,
  { host }: Context,
  isMatching: (job: ListedJob) => boolean = () => true,
): Promise<StoredJob> {
  if (name === undefined && !isLast) throw new InputRequiredError("job", "<job> or --last is required");
  if (name !== undefined && isLast) throw new UsageError("<job> cannot be used with --last");
  const isName = name !== undefined && isJobId(name);
  const all = isLast ? await listJobs(host) : [];
  const job = isLast ? (all.find(isMatching) ?? all[0]) : isName ? await readJob(name, host) : undefined;
  if (job?.status === "damaged") {
    const { id, reason, folder } = job;
    throw new CommandFailedError("failed", "job_damaged", `Cannot read ${id}: ${reason}. Nothing was changed.`, {
      hint: `Run the command of the job again: rows that are sent twice change nothing. Then remove ${folder}.`,
      next: ["router", "jobs", "list"],
    });
  }
  if (job) return job;
  throw new CommandFailedError("not-found", "no_such_job", isLast ? "No jobs found." : `Job ${name} not found.`, {
    hint: `Jobs are stored in ${getJobsFolder(host)}.`,
    next: ["router", "jobs", "list"],
  });
}

const jobFields = lookupTable<(job: StoredJob) => unknown>({
  id: ({ record }) => record.id,
  command: ({ record }) => record.command,
  status: ({ status }) => status,
  cluster_id: ({ record }) => record.scope.cluster_id,
  rows: ({ rows }) => rows,
  total: ({ record }) => record.input.rows,
  invalid: ({ invalid }) => invalid,
  failed: ({ failed }) => failed,
  moved: ({ moved }) => moved,
  batches: ({ batches }) => batches,
  created_at: ({ record }) => record.created_at,
  updated_at: ({ at }) => at,
  stopped_because: ({ status, reason }) => (status === "interrupted" ? (reason ?? null) : null),
  input: ({ record }) => record.input.path,
  target: ({ record }) => record.target,
});
const fields = Object.keys(jobFields);

/** Only the ID, the status and the reason of a damaged job are known. Its other fields are null. */
function toJobRow(job: ListedJob): Record<string, unknown> {
  const isDamaged = job.status === "damaged";
  const row = Object.entries(jobFields).map(([field, readField]) => [field, isDamaged ? null : readField(job)]);
  return {
    ...Object.fromEntries(row),
    ...(isDamaged && { id: job.id, status: job.status, stopped_because: job.reason }),
  };
}

const jobsList = defineCommand({
  words: ["router", "jobs", "list"],
  sendsNothing: true,
  summary: "List the bulk jobs of this machine, the newest first",
  examples: [createExample("List the jobs", "router jobs list")],
  async run(_input, { host, output }) {
    const jobs = await listJobs(host);
    const columns = ["id", "command", "status", "cluster_id", "rows", "total", "updated_at"];
    await output.show(jobs.map(toJobRow), {
      fields,
      columns,
      emptyMessage: "No jobs. To start one: svc router map-emails FILE",
    });
    for (const job of jobs) if (job.status === "damaged") await output.warn(`warning: ${job.id}: ${job.reason}`);
  },
});

const jobsShow = defineCommand({
  words: ["router", "jobs", "show"],
  sendsNothing: true,
  summary: "Show the progress of a bulk job",
  positionals: [id],
  flags: [last],
  examples: [createExample("The newest job", "router jobs show --last")],
  async run({ positionals, flags }, context) {
    const job = await findJob(positionals.job, flags.last, context);
    await context.output.show(toJobRow(job), { fields });
    if (job.status === "interrupted")
      await context.output.note(`Resume it with: ${formatCommandLine(job.record.resume)}`);
  },
});

const jobsResume = defineCommand({
  words: ["router", "jobs", "resume"],
  summary: "Resume a bulk job that was stopped or killed",
  description: "Skips finished batches. The file must be unchanged; rows of standard input must be piped again.",
  positionals: [
    id,
    {
      name: "file",
      description: "New path of the rows, if they were moved, or - for standard input",
      optional: true,
    },
  ],
  flags: [
    { ...last, description: "Use the newest unfinished job" },
    createIntegerFlag("concurrency", "Concurrent requests (default: as when it started)", { min: 1 }),
    createSwitch("skip-invalid", "Skip invalid rows, from now on"),
    createTextFlag("max-errors", "N|P%", "Stop after more failed rows than this, from now on"),
  ],
  examples: [
    createExample("The newest unfinished job", "router jobs resume --last"),
    createExample("Resume a job that read a pipe", "router jobs resume job_20310102T030405Z_7f3ak2 -"),
  ],
  async run({ positionals, flags }, context) {
    const { job } = positionals;
    // In `resume --last FILE`, the first argument is the file.
    const isFileAlone = job === "-" || (flags.last === true && job !== undefined && !isJobId(job));
    const [name, file] = isFileAlone ? [undefined, job] : [job, positionals.file];
    const isUnfinished = (job: ListedJob) => !isFinished(job);
    const { record, folder, status } = await findJob(name, flags.last, context, isUnfinished);
    if (isFinished({ status })) {
      if (flags.last) {
        await context.output.note(`Nothing to resume: all jobs are finished (newest: ${record.id})`);
        return undefined;
      }
      await context.output.note(`${record.id} is already finished`);
      return status === "partial" ? "partial" : undefined;
    }
    const options = {
      input: file,
      concurrency: flags.concurrency ?? record.concurrency,
      skipInvalid: flags["skip-invalid"] === true,
      maxErrors: flags["max-errors"],
    };
    return resumeJob(folder, record, options, context);
  },
});

const jobsUndo = defineCommand({
  words: ["router", "jobs", "undo"],
  summary: "Map back identifiers that a bulk job moved",
  description:
    "Requires a job with --results all, which records the previous clusters of e-mails and client IDs. Identifiers that were moved again since, or that were in no cluster before, are unchanged.",
  positionals: [id],
  flags: [last, createIntegerFlag("concurrency", "Concurrent requests", { min: 1, default: defaultConcurrency })],
  examples: [createExample("The newest job", "router jobs undo --last")],
  async run({ positionals, flags }, context) {
    const { record, folder } = await findJob(positionals.job, flags.last, context);
    return undoJob(folder, record, flags.concurrency ?? defaultConcurrency, context);
  },
});

const isFinished = ({ status }: Pick<ListedJob, "status">): boolean => status === "done" || status === "partial";

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
  examples: [createExample("Print the failed rows as CSV", "router jobs results --last --status errors --format csv")],
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
    createExample("List the jobs to remove", "router jobs prune --dry-run"),
    createExample("Remove finished jobs that are older than a week", "router jobs prune --older-than 7d"),
  ],
  async run({ flags }, { host, output }) {
    const ageMs = parseDurationFlag(flags["older-than"] ?? defaultAge, "--older-than");
    const isOld = ({ at }: StoredJob) => host.wall.now() - Date.parse(at) >= ageMs;
    const isEnded = ({ status }: StoredJob) => status === "done" || (status === "partial" && flags.partial === true);
    const readable = (await listJobs(host)).filter((job) => job.status !== "damaged");
    const old = readable.filter((job) => isEnded(job) && isOld(job));
    const isDry = flags["dry-run"] === true;
    if (!isDry) for (const { folder } of old) await removeJob(folder);
    const rows = old.map(({ record, status, at, rows: doneRows }) => ({
      id: record.id,
      command: record.command,
      status,
      rows: doneRows,
      finished_at: at,
    }));
    const fields = ["id", "command", "status", "rows", "finished_at"];
    await output.show(rows, { fields, columns: fields, emptyMessage: "No jobs to remove" });
    if (rows.length > 0) await output.note(isDry ? `${rows.length} would be removed` : `Removed ${rows.length}`);
  },
});

export const commands: readonly Command[] = [jobsList, jobsShow, jobsResume, jobsResults, jobsUndo, jobsPrune];
