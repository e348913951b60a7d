import { resolve } from "node:path";
import { isoSeconds } from "../../base/clock.ts";
import type { Context } from "../command.ts";
import { type FailureKind, UsageError } from "../failure.ts";
import { formatTargetFlags } from "../next-command.ts";
import { requireKnownCluster } from "./cluster-check.ts";
import { OtherFormatError } from "./input/other-format.ts";
import { buildRetryArgv } from "./input/retry-command.ts";
import { type InputSource, openInputSource } from "./input/source.ts";
import type { Survey } from "./input/survey.ts";
import { parseErrorLimit } from "./limits.ts";
import { createJob, type JobRecord, newJobId } from "./log/jobs.ts";
import { isResults } from "./log/results.ts";
import { writableJobsFolder } from "./log/state-folder.ts";
import { requireLookup } from "./lookup.ts";
import { limitYoungGeneration } from "./memory.ts";
import { confirmMoves } from "./moves.ts";
import { performJob } from "./perform.ts";
import { isPlan, type JobPlan, requireUnchangedPlan, targetName, writePlan } from "./plan.ts";
import { showPreview } from "./preview.ts";
import type { JobRequest } from "./request.ts";
import { surveyInput } from "./survey-input.ts";

/** Does with a job what its command line asks for: shows it, writes it down as a plan, or starts it. */
export async function beginJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  limitYoungGeneration();
  const source = await openInputSource(context.host, request.path, request.work.place);
  await checkRequest(request, source, context);
  const { dryRun, planOut } = request;
  const begun = dryRun
    ? previewJob(request, source, context)
    : planOut !== undefined
      ? planJob(request, source, planOut, context)
      : startJob(request, source, context);
  return begun.catch((error: unknown) => {
    if (!(error instanceof OtherFormatError)) throw error;
    throw new UsageError(`${request.work.place}: ${error.message}`, {
      hint: error.hint,
      next: buildRetryArgv(request, error),
      cause: error,
    });
  });
}

/** Refuses what can be told to be wrong before the input is read. */
async function checkRequest(request: JobRequest, source: InputSource, context: Context): Promise<void> {
  const { path, planned, planOut, errorsOut, report } = request;
  if (source.path === "-" && (planOut !== undefined || planned)) {
    throw new UsageError(`A plan requires a file: ${source.name} cannot be read twice.`);
  }
  if (request.max_errors !== null) parseErrorLimit(request.max_errors);
  const { checkOutputFile } = await import("../output/file.ts");
  const inputs = [path, request.planFile];
  if (errorsOut !== undefined) {
    await checkOutputFile(context.host, errorsOut, "--errors-out", { inputs, isOurs: isResults });
  }
  if (report !== undefined) {
    const { checkReportName, isReport } = await import("./report-file.ts");
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
  await writePlan(to, await planOf(request, source.path, survey, context), context);
  return showPreview(request, survey, { plan: to }, `Planned in ${to}`, context);
}

/** Starts it unasked where it was planned and nothing has changed since; else with the consent of who asked for it. */
async function startJob(request: JobRequest, source: InputSource, context: Context): Promise<FailureKind | undefined> {
  const survey = source.path === "-" ? undefined : await surveyInput(request, source, context);
  const plan = await planOf(request, source.path, survey, context);
  if (request.planned) requireUnchangedPlan(request.planned, { target: plan.target, ...survey });
  else {
    await request.confirm(survey?.rows);
    if (survey && !request.mayMove) await confirmMoves(request, source, context);
  }
  const jobs = await writableJobsFolder(context);
  const record = recordOf(request, plan, context);
  return performJob(await createJob(jobs, record), record, source, context);
}

async function planOf(
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
    target: await targetName(context),
    input: survey ? surveyedInput(path, survey) : standardInput,
    ...{ format, format_guessed, columns, hash, delimiter, batch_size, shard },
    ...{ skip_invalid, max_errors, results, verify },
  };
}

const surveyedInput = (
  path: string,
  { bytes, sha256, rows, invalid, distinct, firstInvalid }: Survey,
): JobPlan["input"] => ({
  ...{ path, bytes, sha256, rows, invalid, distinct },
  first_invalid_row: firstInvalid?.number ?? null,
});

/** Its rows are read while they are sent: nothing is known of it beforehand. */
const standardInput: JobPlan["input"] = {
  path: "-",
  bytes: null,
  sha256: null,
  rows: null,
  invalid: null,
  distinct: null,
  first_invalid_row: null,
};

function recordOf(
  { errorsOut, report, concurrency }: JobRequest,
  plan: JobPlan,
  { host, globals }: Context,
): JobRecord {
  const id = newJobId(host);
  return {
    ...plan,
    id,
    created_at: isoSeconds(host.wall.now()),
    errors_out: errorsOut === undefined ? null : resolve(host.cwd, errorsOut),
    report: report === undefined ? null : resolve(host.cwd, report),
    concurrency,
    resume: ["router", "jobs", "resume", id, ...(plan.input.path === "-" ? ["-"] : []), ...formatTargetFlags(globals)],
  };
}
