import { resolve } from "node:path";
import { listClusters } from "../../../../api/router/clusters.ts";
import { toIsoSeconds } from "../../../../base/clock.ts";
import { formatSuggestion, pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { checkOutputFile } from "../../../output/file.ts";
import { formatTargetFlags } from "../../../parse/next-command.ts";
import { CommandFailedError, type FailureKind, UsageError } from "../../../process/failure.ts";
import { maskBodySecrets } from "../../../process/redact.ts";
import { confirmMoves } from "./confirm-moves.ts";
import { type InputSource, openInputSource } from "./input/bytes.ts";
import { isHeadingText, OtherFormatError } from "./input/format.ts";
import type { IdentifierKind } from "./input/identifiers.ts";
import { type Survey, surveyInput } from "./input/survey.ts";
import { parseErrorLimit } from "./job.ts";
import { createJob, createJobId, findWritableJobsFolder, type JobRecord } from "./log/jobs.ts";
import { isResults } from "./log/results.ts";
import { requireLookup } from "./lookup.ts";
import { performJob } from "./perform.ts";
import { getTargetName, isPlan, type JobPlan, type JobRequest, requireUnchangedPlan, writePlan } from "./plan.ts";
import { limitYoungGeneration } from "./progress.ts";
import { checkReportName, isReport } from "./report-file.ts";

/** Shows, plans or starts a job, as its command line requests. */
export async function beginJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  limitYoungGeneration();
  const source = await openInputSource(context.host, request.path, request.work.place);
  await checkRequest(request, source, context);
  const { dryRun, planOut } = request;
  const started = dryRun
    ? previewJob(request, source, context)
    : planOut !== undefined
      ? planJob(request, source, planOut, context)
      : startJob(request, source, context);
  return started.catch((error: unknown) => {
    if (!(error instanceof OtherFormatError)) throw error;
    throw new UsageError(`${request.work.place}: ${error.message}`, {
      hint: error.hint,
      next: buildRetryArgv(request, error),
      cause: error,
    });
  });
}

/** Rejects obviously wrong input before it is read. */
async function checkRequest(request: JobRequest, source: InputSource, context: Context): Promise<void> {
  const { path, planned, planOut, errorsOut, report } = request;
  if (source.path === "-" && (planOut !== undefined || planned)) {
    throw new UsageError(`A plan requires a file: ${source.name} cannot be read twice.`);
  }
  if (request.max_errors !== null) parseErrorLimit(request.max_errors);
  const inputs = [path, request.planFile];
  if (errorsOut !== undefined) {
    await checkOutputFile(context.host, errorsOut, "--errors-out", { inputs, isOurs: isResults });
  }
  if (report !== undefined) {
    await checkOutputFile(context.host, report, "--report", { inputs: [...inputs, errorsOut], isOurs: isReport });
    checkReportName(report);
  }
  if (planOut !== undefined) {
    await checkOutputFile(context.host, planOut, "--plan-out", { inputs: [...inputs, errorsOut], isOurs: isPlan });
  }
  if (request.dryRun || planOut !== undefined) return;
  await requireKnownCluster(request.scope.cluster_id!, context);
  if (request.verify) await requireLookup(request.work, context);
}

async function previewJob(request: JobRequest, source: InputSource, context: Context): Promise<undefined> {
  const survey = await surveyInput(request, source, context);
  return showPreview(request, survey, { dry_run: true }, "Dry run: nothing was sent", context);
}

async function planJob(request: JobRequest, source: InputSource, to: string, context: Context): Promise<undefined> {
  const survey = await surveyInput(request, source, context);
  await writePlan(to, await createPlan(request, source.path, survey, context), context);
  return showPreview(request, survey, { plan: to }, `Planned in ${to}`, context);
}

/** Starts without a question if the job was planned and nothing has changed since; otherwise asks for consent. */
async function startJob(request: JobRequest, source: InputSource, context: Context): Promise<FailureKind | undefined> {
  const survey = source.path === "-" ? undefined : await surveyInput(request, source, context);
  const plan = await createPlan(request, source.path, survey, context);
  if (request.planned) requireUnchangedPlan(request.planned, { target: plan.target, ...survey });
  else {
    await request.confirmRows(survey?.rows);
    if (survey && !request.mayMove) await confirmMoves(request, source, context);
  }
  const jobs = await findWritableJobsFolder(context);
  const record = createRecord(request, plan, context);
  return performJob(await createJob(jobs, record), record, source, context);
}

async function createPlan(
  request: JobRequest,
  path: string,
  survey: Survey | undefined,
  context: Context,
): Promise<JobPlan> {
  const { scope, format, format_guessed, columns, hash, delimiter, batch_size, shard } = request;
  const { work, skip_invalid, max_errors, results, verify } = request;
  return {
    version: 1,
    command: work.name,
    scope,
    target: await getTargetName(context),
    input: survey ? describeSurveyedInput(path, survey) : standardInput,
    ...{ format, format_guessed, columns, hash, delimiter, batch_size, shard },
    ...{ skip_invalid, max_errors, results, verify },
  };
}

const describeSurveyedInput = (
  path: string,
  { bytes, sha256, rows, invalid, distinct, firstInvalid }: Survey,
): JobPlan["input"] => ({
  ...{ path, bytes, sha256, rows, invalid, distinct },
  first_invalid_row: firstInvalid?.number ?? null,
});

/** The rows are read while they are sent, so nothing is known in advance. */
const standardInput: JobPlan["input"] = {
  path: "-",
  bytes: null,
  sha256: null,
  rows: null,
  invalid: null,
  distinct: null,
  first_invalid_row: null,
};

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
  const found = await client.call(listClusters, {}, { signal: context.signal, retries: 0 }).catch(() => undefined);
  context.signal.throwIfAborted();
  const known = found?.map(({ cluster_id }) => cluster_id);
  if (known === undefined || known.includes(cluster)) return;
  throw new CommandFailedError("not-found", "unknown_cluster", `Cluster "${cluster}" not found. Nothing was sent.`, {
    hint: formatSuggestion(cluster, known),
    next: ["router", "clusters"],
  });
}

/** Counts, first rows and the shape of the requests: the content of a plan and of a dry run. */
async function showPreview(
  request: JobRequest,
  { rows, distinct, calls, invalid, firstInvalid, sample }: Survey,
  mark: Readonly<Record<string, unknown>>,
  note: string,
  { output }: Context,
): Promise<undefined> {
  const { work, scope } = request;
  const kind = work.getKind(request);
  const operation = await work.loadOperation();
  const example = work.toArguments(sample.map(kind.toValue), scope);
  if (output.format !== "table") {
    await output.show({
      ...mark,
      action: work.name,
      cluster_id: scope.cluster_id,
      rows: rows - invalid,
      distinct,
      invalid,
      first_invalid_row: firstInvalid?.number ?? null,
      calls,
      method: operation.method,
      path: operation.path,
      sample: sample.map(kind.toShown),
      body: maskBodySecrets(example.body),
    });
    return undefined;
  }
  const verb = work.action === "map" ? "Would map" : "Would remove";
  const preposition = work.action === "map" ? "to" : "from";
  await output.print(
    `${verb} ${pluralize(rows - invalid, work.noun)} ${preposition} ${scope.cluster_id} in ${pluralize(calls, "call")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sample.map((text) => `  ${kind.toShown(text)}`),
    ...(rows > sample.length ? ["  …"] : []),
  );
  const repeated = rows - invalid - (distinct ?? rows - invalid);
  if (repeated > 0)
    await output.note(`${pluralize(repeated, "row")} repeated: ${pluralize(distinct!, work.noun)} in total`);
  if (invalid > 0)
    await output.note(`${pluralize(invalid, "row")} would be skipped, the first at row ${firstInvalid!.number}`);
  await output.note(note);
  return undefined;
}

/** The command line, without `svc`, that reads the input in its actual format. */
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

/** Guesses the column by the content of its cells, or else by its heading. */
function findColumn(
  { first, second }: { readonly first: readonly string[]; readonly second: readonly string[] },
  { noun, findProblem }: IdentifierKind,
): string {
  const isMatching = (cell: string | undefined) =>
    cell !== undefined && cell.trim() !== "" && findProblem(cell.trim()) === undefined;
  if (noun === "e-mail") {
    const matchingIndex = first.findIndex(isMatching);
    if (matchingIndex >= 0) return String(matchingIndex + 1);
    const place = second.findIndex(isMatching);
    if (place >= 0) return first[place]!.trim();
  }
  const named = first.filter((cell) => isHeadingText(cell.trim()));
  const matchingHeading = named.find((cell) => cell.toLowerCase().includes(noun.split(" ")[0]!.replace("-", "")));
  return (matchingHeading ?? named[0] ?? "NAME").trim();
}
