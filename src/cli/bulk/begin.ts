import { resolve } from "node:path";
import { isoSeconds } from "../../base/clock.ts";
import type { Context } from "../command.ts";
import { type FailureKind, UsageError } from "../failure.ts";
import { placeFlags } from "../next.ts";
import type { Survey } from "./input/survey.ts";
import { checkCluster } from "./known-cluster.ts";
import { parseLimit } from "./limits.ts";
import { createJob, type JobRecord, newJobId } from "./log/jobs.ts";
import { writableJobsFolder } from "./log/state-folder.ts";
import { keepMemoryFlat } from "./memory.ts";
import { performJob } from "./perform.ts";
import { type JobPlan, refuseChanged, targetName, writePlan } from "./plan.ts";
import { showPreview } from "./preview.ts";
import type { JobRequest } from "./request.ts";
import { surveyInput } from "./survey-input.ts";

/** Looks at the input, then prints, writes or does what was asked for. */
export async function beginJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  keepMemoryFlat();
  const { path, planned } = request;
  await checkRequest(request, context);
  const survey = path === "-" && !request.dryRun ? undefined : await surveyInput(request, context);
  if (survey?.all === 0) throw new UsageError(`${request.work.place}: ${path} holds no rows`);
  if (request.dryRun) return showPreview(request, survey!, { dry_run: true }, "Dry run: nothing was sent", context);

  const target = await targetName(context);
  const plan = planOf(request, survey, target, context);
  if (planned) refuseChanged(planned, { target, ...survey });
  if (request.planOut !== undefined) {
    await writePlan(request.planOut, plan, context);
    return showPreview(request, survey!, { plan: request.planOut }, `Planned in ${request.planOut}`, context);
  }
  if (!planned) await request.confirm(survey?.rows);
  return start(request, plan, context);
}

/** Refuses what can be told to be wrong before the input is read. */
async function checkRequest(request: JobRequest, context: Context): Promise<void> {
  const { path, planned, planOut, errorsOut } = request;
  if (path === "-" && (planOut !== undefined || planned)) {
    throw new UsageError("A plan needs a file: standard input cannot be read twice.");
  }
  if (request.max_errors !== null) parseLimit(request.max_errors);
  const { checkedOutput } = await import("../output/file.ts");
  if (errorsOut !== undefined) await checkedOutput(context.host, errorsOut, "--errors-out");
  if (planOut !== undefined) await checkedOutput(context.host, planOut, "--plan-out");
  if (!request.dryRun && planOut === undefined) await checkCluster(request.scope.cluster_id!, context);
}

async function start(request: JobRequest, plan: JobPlan, context: Context): Promise<FailureKind | undefined> {
  const { host } = context;
  const jobs = await writableJobsFolder(context);
  const id = newJobId(host);
  const record: JobRecord = {
    ...plan,
    id,
    created_at: isoSeconds(host.wall.now()),
    errors_out: request.errorsOut === undefined ? null : resolve(host.cwd, request.errorsOut),
    concurrency: request.concurrency,
    resume: ["router", "jobs", "resume", id, ...(plan.input.path === "-" ? ["-"] : []), ...placeFlags(context.globals)],
  };
  return performJob(await createJob(jobs, record), record, context);
}

function planOf(request: JobRequest, survey: Survey | undefined, target: string, { host }: Context): JobPlan {
  const { work, scope, format, columns, batch_size, shard, skip_invalid, max_errors, results, path } = request;
  return {
    version: 1,
    command: work.name,
    scope,
    target,
    input: {
      path: path === "-" ? path : resolve(host.cwd, path),
      bytes: survey?.bytes ?? null,
      sha256: survey?.sha256 ?? null,
      rows: survey?.rows ?? null,
      invalid: survey?.invalid ?? null,
      first_invalid_row: survey?.firstInvalid?.number ?? null,
    },
    format,
    columns,
    batch_size,
    shard,
    skip_invalid,
    max_errors,
    results,
  };
}
