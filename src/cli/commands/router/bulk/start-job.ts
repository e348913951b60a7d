import { resolve } from "node:path";
import { listClusters } from "../../../../api/router/clusters.ts";
import { toIsoSeconds } from "../../../../base/clock.ts";
import { formatSuggestion } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { checkOutputFile } from "../../../output/file.ts";
import { formatTargetFlags } from "../../../parse/argv.ts";
import { CommandFailedError, type FailureKind, UsageError } from "../../../process/failure.ts";
import { formatCommandLine } from "../../../process/shell-words.ts";
import { parseErrorLimit } from "./flags.ts";
import { type InputSource, openInputSource } from "./input/bytes.ts";
import { isHeadingText, OtherFormatError } from "./input/format.ts";
import type { IdentifierKind } from "./input/identifiers.ts";
import { readRows } from "./input/rows.ts";
import { fingerprintSource, type InputSurvey, showPreview, surveyInput } from "./input/survey.ts";
import { createJob, createJobId, findWritableJobsFolder, type JobRecord } from "./log/jobs.ts";
import { isResultsFile } from "./log/results.ts";
import { askAboutMoves, maxLookups, mayAskAboutMoves, requireLookup } from "./lookup.ts";
import { performJob } from "./perform.ts";
import { getTargetName, isPlanFile, JobPlan, type JobRequest, requireUnchangedPlan, writePlan } from "./plan.ts";
import { limitYoungGeneration } from "./progress.ts";
import { checkReportName, isReportFile } from "./report-file.ts";

export async function startJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  limitYoungGeneration();
  const source = await openInputSource(context.host, request.path, request.work.source);
  await checkRequest(request, source, context);
  return previewOrStart(request, source, context).catch((error: unknown) => {
    if (!(error instanceof OtherFormatError)) throw error;
    throw new UsageError(`${request.work.source}: ${error.message}`, {
      hint: error.hint,
      next: buildRetryArgv(request, error),
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
    ["--errors-out", errorsOut, isResultsFile],
    ["--report", report, isReportFile],
    ["--plan-out", planOut, isPlanFile],
  ] as const;
  for (const [flag, file, isOurs] of outputs) {
    if (file === undefined) continue;
    await checkOutputFile(context.host, file, flag, { inputs, isOurs });
    inputs.push(file);
  }
  if (report !== undefined) checkReportName(report);
  if (request.dryRun || planOut !== undefined) return;
  await requireKnownCluster(request.scope.cluster_id!, context);
  if (request.verify) await requireLookup(request.work, context);
}

async function previewOrStart(request: JobRequest, source: InputSource, context: Context) {
  const { dryRun, planOut } = request;
  if (!dryRun && planOut === undefined) return confirmAndPerform(request, source, context);
  const survey = await surveyInput(request, source, context);
  if (dryRun || planOut === undefined) {
    if (request.apply) requireUnchangedPlan(request.apply.plan, { target: await getTargetName(context), ...survey });
    return showPreview(request, survey, { dry_run: true }, "Dry run: nothing was sent", context);
  }
  await writePlan(planOut, await createPlan(request, source.path, survey, context), context);
  return showPreview(request, survey, { plan: planOut }, `Planned in ${planOut}`, context);
}

/** Starts without a prompt if the job was planned and nothing has changed since. Prompts for consent otherwise. */
async function confirmAndPerform(
  request: JobRequest,
  source: InputSource,
  context: Context,
): Promise<FailureKind | undefined> {
  const survey = source.path === "-" ? undefined : await surveyInput(request, source, context);
  const plan = await createPlan(request, source.path, survey, context);
  if (request.apply) requireUnchangedPlan(request.apply.plan, { target: plan.target, ...survey });
  else {
    await request.confirmRows?.(survey?.rows);
    if (survey && !request.mayMove) await confirmMoves(request, source, context);
  }
  const jobs = await findWritableJobsFolder(context);
  const record = createRecord(request, plan, context);
  return performJob(await createJob(jobs, record), record, source, context);
}

/** Prompts the user at a terminal about moves of the identifiers in the first rows of a file. */
async function confirmMoves(request: JobRequest, source: InputSource, context: Context): Promise<void> {
  if (!mayAskAboutMoves(request.work, context)) return;
  const { findProblem, toValue } = request.work.getKind(request);
  const values = new Set<string>();
  for await (const rows of readRows(source.open(), request)) {
    for (const { text, problem = findProblem(text) } of rows) if (problem === undefined) values.add(toValue(text));
    if (values.size > maxLookups) break;
  }
  await askAboutMoves(request.work, request.scope.cluster_id!, [...values], context);
}

/** Nothing is known in advance about the rows of a pipe, which are read while they are sent. */
const unknownInput = { bytes: null, sha256: null, rows: null, invalid: null, distinct: null };

async function createPlan(
  request: JobRequest,
  path: string,
  survey: InputSurvey | undefined,
  context: Context,
): Promise<JobPlan> {
  const first_invalid_row = survey?.firstInvalid?.number ?? null;
  return JobPlan.parse({
    ...request,
    version: 1,
    command: request.work.name,
    target: await getTargetName(context),
    input: { ...unknownInput, ...survey, path, first_invalid_row },
  });
}

function createRecord(
  { errorsOut, report, concurrency }: JobRequest,
  plan: JobPlan,
  { host, globals }: Context,
): JobRecord {
  const id = createJobId(host);
  return {
    ...plan,
    id,
    created_at: toIsoSeconds(host.wall.now()),
    errors_out: errorsOut === undefined ? null : resolve(host.cwd, errorsOut),
    report: report === undefined ? null : resolve(host.cwd, report),
    concurrency,
    resume: ["router", "jobs", "resume", id, ...(plan.input.path === "-" ? ["-"] : []), ...formatTargetFlags(globals)],
  };
}

/**
 * Rejects an unlisted cluster before reading a large file. If the list is unavailable, the first request fails instead.
 */
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

function buildRetryArgv(request: JobRequest, { reading }: OtherFormatError): string[] {
  const { work, path, scope, columns, hash, format, format_guessed } = request;
  const { cluster_id: cluster = "", integration_type: type } = scope;
  const isOffboard = work.action === "offboard";
  const hasFlag = (flag: string) => reading.flags.includes(flag);
  const column = columns[0] ?? (reading.columns && findColumn(reading.columns, work.getKind(request)));
  return [
    ...["router", work.name],
    ...(isOffboard ? [cluster, "--from", path] : [path]),
    ...(isOffboard || column === undefined || hasFlag("--column") ? [] : ["--column", column]),
    ...(format_guessed || hasFlag("--input-format") ? [] : ["--input-format", format]),
    ...reading.flags,
    ...(isOffboard ? [] : ["--cluster", cluster]),
    ...(type === undefined ? [] : ["--integration-type", type]),
    ...(hash === "none" ? ["--hash", hash] : []),
  ];
}

function findColumn(
  { first, secondRow }: { readonly first: readonly string[]; readonly secondRow: readonly string[] },
  { noun, findProblem }: IdentifierKind,
): string {
  const isMatching = (cell: string | undefined) =>
    cell !== undefined && cell.trim() !== "" && findProblem(cell.trim()) === undefined;
  if (noun === "e-mail") {
    const matchingIndex = first.findIndex(isMatching);
    if (matchingIndex >= 0) return String(matchingIndex + 1);
    const columnIndex = secondRow.findIndex(isMatching);
    if (columnIndex >= 0) return first[columnIndex]!.trim();
  }
  const headings = first.filter((cell) => isHeadingText(cell.trim()));
  const matchingHeading = headings.find((cell) => cell.toLowerCase().includes(noun.split(" ")[0]!.replace("-", "")));
  return (matchingHeading ?? headings[0] ?? "NAME").trim();
}

/** Resumes a stopped job. Rejects command lines that would change the job. */
export async function resumeJob(
  folder: string,
  record: JobRecord,
  {
    input,
    concurrency,
    skipInvalid,
    maxErrors,
  }: {
    /** `-` for rows that are piped again, or the current path of the file. */
    readonly input: string | undefined;
    readonly concurrency: number;
    readonly skipInvalid: boolean;
    readonly maxErrors: string | undefined;
  },
  context: Context,
): Promise<FailureKind | undefined> {
  limitYoungGeneration();
  const { path } = record.input;
  if (path === "-" && input === undefined) {
    throw new UsageError("This job read a pipe. Pipe the same rows again, with - as the file.", {
      next: record.resume,
    });
  }
  if (maxErrors !== undefined) parseErrorLimit(maxErrors);
  const source = await findSource(record, input ?? path, context);
  if (path !== "-" && source.path === "-") throw new UsageError(`This job reads ${path}, not ${source.name}.`);
  for (const [flag, file] of [["--errors-out", record.errors_out] as const, ["--report", record.report] as const]) {
    if (file !== null) await checkOutputFile(context.host, file, flag, { inputs: [input ?? path] });
  }
  const resumable = path === "-" ? record : withFile(record, source.path, context);
  const target = await getTargetName(context);
  requireUnchangedPlan(resumable, { target, ...(path === "-" ? {} : await fingerprintSource(source.open())) });
  const changedRecord: JobRecord = {
    ...resumable,
    skip_invalid: record.skip_invalid || skipInvalid,
    max_errors: maxErrors ?? record.max_errors,
  };
  return performJob(folder, changedRecord, source, context, { concurrency, isResumed: true });
}

async function findSource({ id }: JobRecord, path: string, { host }: Context): Promise<InputSource> {
  return openInputSource(host, path, "<file>").catch((error: unknown) => {
    throw error instanceof UsageError
      ? error.withHint(
          `If the file was moved, use its new path: ${formatCommandLine(["router", "jobs", "resume", id, "FILE"])}`,
        )
      : error;
  });
}

function withFile(record: JobRecord, path: string, { globals }: Context): JobRecord {
  const { id, input } = record;
  if (path === input.path) return record;
  const resume = ["router", "jobs", "resume", id, path, ...formatTargetFlags(globals)];
  return { ...record, input: { ...input, path }, resume };
}
