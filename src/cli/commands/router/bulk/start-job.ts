import { resolve } from "node:path";
import { listClusters } from "../../../../api/router/clusters.ts";
import { toIsoSeconds } from "../../../../base/clock.ts";
import { formatSuggestion } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { checkOutputFile, writeOutput } from "../../../output/file.ts";
import { formatTargetFlags, removeFlag } from "../../../parse/argv.ts";
import { CommandFailedError, type FailureKind, UsageError } from "../../../process/failure.ts";
import { formatCommandLine } from "../../../process/shell-words.ts";
import { guessColumn, OtherFormatError } from "./input/format.ts";
import { readRows } from "./input/rows.ts";
import { type InputSource, openInputSource, readFingerprint } from "./input/source.ts";
import { type InputSurvey, showPreview, surveyInput } from "./input/survey.ts";
import { createJob, createJobId, findWritableJobsFolder, type JobRecord } from "./log/jobs.ts";
import { resultsHeader } from "./log/result-lines.ts";
import { confirmMoves, requireLookup } from "./lookup.ts";
import { performJob } from "./perform.ts";
import {
  getJobTarget,
  getTargetName,
  isPlanFile,
  JobPlan,
  type JobRequest,
  parseErrorLimit,
  requireUnchangedPlan,
} from "./plan.ts";
import { isReportFile } from "./report.ts";

export async function startJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  const source = await openInputSource(context.host, request.path, request.work.source);
  await checkRequest(request, source, context);
  const isPreview = request.dryRun || request.planOut !== undefined;
  return (isPreview ? preview : confirmAndPerform)(request, source, context).catch((error: unknown) => {
    if (!(error instanceof OtherFormatError)) throw error;
    throw new UsageError(`${request.work.source}: ${error.message}`, {
      hint: error.hint,
      next: addFormatFlags(request, error, context.argv),
      cause: error,
    });
  });
}

/** Rejects obviously wrong input before the file is read. */
async function checkRequest(request: JobRequest, source: InputSource, context: Context): Promise<void> {
  const { path, apply, planOut, errorsOut, report } = request;
  if (source.path === "-" && (planOut !== undefined || apply)) {
    throw new UsageError(`A plan requires a file: ${source.name} cannot be read twice.`);
  }
  if (request.max_errors !== null) parseErrorLimit(request.max_errors);
  const inputs = [path, apply?.file];
  const outputs = [
    ["--errors-out", errorsOut, (beginning: string) => beginning.startsWith(resultsHeader)],
    ["--report", report, isReportFile],
    ["--plan-out", planOut, isPlanFile],
  ] as const;
  for (const [flag, file, isOurs] of outputs) {
    if (file === undefined) continue;
    await checkOutputFile(context.host, file, flag, { inputs, isOurs });
    inputs.push(file);
  }
  if (report !== undefined && !/\.(?:html|csv)$/i.test(report))
    throw new UsageError(`--report must be a file .html or .csv, got "${report}"`);
  if (request.dryRun || planOut !== undefined) return;
  await requireKnownCluster(request.scope.cluster_id!, context);
  if (request.verify) await requireLookup(request.work, context);
}

/** Rejects an unlisted cluster before a large file is read. Without a list, the first request fails instead. */
async function requireKnownCluster(cluster: string, context: Context): Promise<void> {
  const client = await context.client("router");
  const clusters = await client.call(listClusters, {}, { retries: 0 }).catch(() => undefined);
  context.signal.throwIfAborted();
  const clusterIds = clusters?.map(({ cluster_id }) => cluster_id);
  if (clusterIds === undefined || clusterIds.includes(cluster)) return;
  throw new CommandFailedError("not-found", "unknown_cluster", `Cluster "${cluster}" not found. Nothing was sent.`, {
    hint: formatSuggestion(cluster, clusterIds),
    next: ["router", "clusters"],
  });
}

async function preview(request: JobRequest, source: InputSource, context: Context): Promise<undefined> {
  const { dryRun, planOut, apply } = request;
  const survey = await surveyInput(request, source, context);
  if (apply) requireUnchangedPlan(apply.plan, { target: await getTargetName(context), ...survey });
  if (!dryRun && planOut !== undefined) {
    const plan = await createPlan(request, source.path, survey, context);
    await writeOutput(context.host, planOut, [Buffer.from(`${JSON.stringify(plan, null, 2)}\n`)], 0o600);
  }
  return showPreview(request, survey, context);
}

/** Starts without a prompt if the job was planned and nothing has changed since. Prompts for consent otherwise. */
async function confirmAndPerform(request: JobRequest, source: InputSource, context: Context) {
  const { work, scope, apply, errorsOut, report, concurrency } = request;
  const { host, globals } = context;
  const survey = source.path === "-" ? undefined : await surveyInput(request, source, context);
  const plan = await createPlan(request, source.path, survey, context);
  if (apply) requireUnchangedPlan(apply.plan, { target: plan.target, ...survey });
  else {
    await request.confirmRows?.(survey && survey.rows - survey.invalid);
    if (survey && !request.mayMove) await confirmMoves(work, scope.cluster_id!, listValues(request, source), context);
  }
  const jobs = await findWritableJobsFolder(context);
  const id = createJobId(host);
  const record: JobRecord = {
    ...plan,
    id,
    created_at: toIsoSeconds(host.wall.now()),
    errors_out: errorsOut === undefined ? null : resolve(host.cwd, errorsOut),
    report: report === undefined ? null : resolve(host.cwd, report),
    concurrency,
    resume: ["router", "jobs", "resume", id, ...(plan.input.path === "-" ? ["-"] : []), ...formatTargetFlags(globals)],
  };
  return performJob({ folder: await createJob(jobs, record), record, source, isResumed: false }, context);
}

async function* listValues(request: JobRequest, source: InputSource): AsyncGenerator<string> {
  const { findProblem, toValue } = request.work.getKind(request);
  for await (const rows of readRows(source.open(), request))
    for (const { text, problem = findProblem(text) } of rows) if (problem === undefined) yield toValue(text);
}

/** Nothing is known in advance about the rows of a pipe, which are read while they are sent. */
const unknownInput = { bytes: null, sha256: null, rows: null, invalid: null, distinct: null };

async function createPlan(request: JobRequest, path: string, survey: InputSurvey | undefined, context: Context) {
  const first_invalid_row = survey?.firstInvalid?.number ?? null;
  return JobPlan.parse({
    ...request,
    version: 1,
    command: request.work.name,
    target: await getTargetName(context),
    input: { ...unknownInput, ...survey, path, first_invalid_row },
  });
}

/** Adds the flags that read the input in its format to the command line. They replace those of the same name. */
function addFormatFlags(request: JobRequest, { flags, rows }: OtherFormatError, argv: readonly string[]): string[] {
  const column = request.columns.length === 0 && rows ? guessColumn(rows, request.work.getKind(request)) : undefined;
  const words = flags.filter((word) => word.startsWith("--")).reduce(removeFlag, argv);
  // Words after `--` are no flags.
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return words.toSpliced(end, 0, ...(column === undefined ? [] : ["--column", column]), ...flags);
}

/**
 * Resumes a stopped job. Rejects command lines that would change the job. `input` is `-` for rows that are piped again,
 * or the current path of the file.
 */
export async function resumeJob(folder: string, record: JobRecord, input: string | undefined, context: Context) {
  const { host, globals } = context;
  const { path } = record.input;
  const isPipe = path === "-";
  const resume = ["router", "jobs", "resume", record.id];
  if (isPipe && input === undefined) {
    throw new UsageError("This job read a pipe. Pipe the same rows again, with - as the file.", {
      next: record.resume,
    });
  }
  if (record.max_errors !== null) parseErrorLimit(record.max_errors);
  const source = await openInputSource(host, input ?? path, "<file>").catch((error: unknown) => {
    const hint = `If the file was moved, use its new path: ${formatCommandLine([...resume, "FILE"])}`;
    throw error instanceof UsageError ? error.withHint(hint) : error;
  });
  if (!isPipe && source.path === "-") throw new UsageError(`This job reads ${path}, not ${source.name}.`);
  const inputs = [input ?? path];
  if (record.errors_out !== null) await checkOutputFile(host, record.errors_out, "--errors-out", { inputs });
  if (record.report !== null) await checkOutputFile(host, record.report, "--report", { inputs });
  const isMoved = !isPipe && source.path !== path;
  const resumedRecord: JobRecord = {
    ...record,
    ...(isMoved && {
      input: { ...record.input, path: source.path },
      resume: [...resume, source.path, ...formatTargetFlags(globals)],
    }),
  };
  const target = await getJobTarget(record, context, { next: record.resume });
  requireUnchangedPlan(resumedRecord, { target, ...(isPipe ? {} : await readFingerprint(source)) });
  return performJob({ folder, record: resumedRecord, source, isResumed: true }, context);
}
