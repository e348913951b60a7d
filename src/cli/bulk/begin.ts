import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { isoSeconds } from "../../base/clock.ts";
import type { Context } from "../command.ts";
import { maskedBody } from "../connection/redact.ts";
import { CommandFailed, type FailureKind, UsageError } from "../failure.ts";
import { placeFlags } from "../next.ts";
import { existingFile, openInput } from "../parse/body.ts";
import type { InvalidRow } from "./input/batches.ts";
import { fileBytes } from "./input/bytes.ts";
import { type Survey, surveyOf } from "./input/survey.ts";
import { checkCluster } from "./known-cluster.ts";
import { parseLimit } from "./limits.ts";
import { createJob, type JobRecord, newJobId } from "./log/jobs.ts";
import { invalidResult, resultLine, resultsHeader } from "./log/results.ts";
import { writableJobsFolder } from "./log/state-folder.ts";
import { keepMemoryFlat } from "./memory.ts";
import { performJob } from "./perform.ts";
import { type JobPlan, refuseChanged, targetName, writePlan } from "./plan.ts";
import { counted } from "./report.ts";
import type { BulkWork } from "./work.ts";

/** What a bulk command line asks for, before its input was looked at. */
export interface JobRequest extends Omit<JobPlan, "version" | "command" | "target" | "input"> {
  readonly work: BulkWork;
  /** As it was typed: a path, or `-`. */
  readonly path: string;
  readonly concurrency: number;
  readonly errorsOut: string | undefined;
  readonly dryRun: boolean;
  readonly planOut: string | undefined;
  /** The plan that --apply names: nothing but this may be done. */
  readonly planned: JobPlan | undefined;
  /** Asks whether to go on; `rows` where they are known. */
  readonly confirm: (rows: number | undefined) => Promise<void>;
}

/** Looks at the input, then prints, writes or does what was asked for. */
export async function beginJob(request: JobRequest, context: Context): Promise<FailureKind | undefined> {
  keepMemoryFlat();
  const { path, planned } = request;
  const isPiped = path === "-";
  if (isPiped && (request.planOut !== undefined || planned)) {
    throw new UsageError("A plan needs a file: standard input cannot be read twice.");
  }
  if (request.max_errors !== null) parseLimit(request.max_errors);
  const { checkedOutput } = await import("../output/file.ts");
  if (request.errorsOut !== undefined) await checkedOutput(context.host, request.errorsOut, "--errors-out");
  if (request.planOut !== undefined) await checkedOutput(context.host, request.planOut, "--plan-out");
  if (!request.dryRun && request.planOut === undefined) await checkCluster(request.scope.cluster_id!, context);
  const survey = isPiped && !request.dryRun ? undefined : await surveyed(request, context);
  if (survey?.all === 0) throw new UsageError(`${request.work.place}: ${path} holds no rows`);
  if (request.dryRun) return dryRun(request, survey!, context);

  const target = await targetName(context);
  const plan = planOf(request, survey, target, context);
  if (planned) refuseChanged(planned, { target, ...survey });
  if (request.planOut !== undefined) {
    await writePlan(request.planOut, plan, context);
    return show(request, survey!, { plan: request.planOut }, `Planned in ${request.planOut}`, context);
  }
  if (!planned) await request.confirm(survey?.rows);
  return start(request, plan, context);
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

/** Reads the whole input once, and refuses it before anything is sent when too much of it is wrong. */
async function surveyed(request: JobRequest, context: Context): Promise<Survey> {
  const { path, work, format, columns, shard, skip_invalid: skips, max_errors: maxErrors } = request;
  const { host, signal } = context;
  // A job that leaves them out writes them itself, with what else goes wrong.
  const isJob = !request.dryRun && request.planOut === undefined;
  const bad = badRows(skips && isJob ? undefined : request.errorsOut, context);
  const source =
    path === "-" ? await openInput(host, path, work.place) : fileBytes(await existingFile(host, path, work.place));
  const survey = await surveyOf(source, { format, columns }, { work, shard, onInvalid: bad.add, signal });
  await bad.close();
  const { rows, invalid, firstInvalid } = survey;
  if (invalid === 0 || skips) return survey;
  if (maxErrors !== null && !parseLimit(maxErrors, rows).exceeded(invalid, rows)) return survey;
  throw refusal(request, firstInvalid!, `${invalid} of ${counted(rows, "row")}`);
}

function refusal(
  { work, path, format, columns, errorsOut }: JobRequest,
  { number, text, problem }: InvalidRow,
  share: string,
): Error {
  const message = `Couldn't ${work.action} ${share}: row ${number} (${work.shown(text).slice(0, 80)}) is ${problem}. Nothing was sent.`;
  const kept = errorsOut === undefined ? " and keep them with --errors-out FILE" : `; they are in ${errorsOut}`;
  const isHeading = format === "csv" && columns.length === 0 && number === 1;
  const named = isHeading ? "Is that the heading? Then name the column that is meant: --column NAME. " : "";
  return new UsageError(message, { hint: `${named}Leave such rows of ${path} out with --skip-invalid${kept}.` });
}

/** What a survey refuses, as CSV. */
function badRows(path: string | undefined, { host }: Context) {
  const stream = path === undefined ? undefined : createWriteStream(resolve(host.cwd, path), { mode: 0o600 });
  stream?.on("error", () => {});
  stream?.write(resultsHeader);
  return {
    add: (row: InvalidRow): void => void stream?.write(resultLine(invalidResult(row))),
    async close(): Promise<void> {
      if (!stream) return;
      stream.end();
      await finished(stream).catch((cause: unknown) => {
        const message = `Failed to write ${path}: ${(cause as Error).message}`;
        throw new CommandFailed("failed", "errors_out", message, { cause });
      });
    },
  };
}

async function dryRun(request: JobRequest, survey: Survey, context: Context): Promise<FailureKind | undefined> {
  return show(request, survey, { dry_run: true }, "Dry run: nothing was sent", context);
}

/** Counts, first rows and the shape of the calls: what a plan and a dry run tell. */
async function show(
  { work, scope, batch_size: size }: JobRequest,
  { rows, invalid, firstInvalid, sample }: Survey,
  mark: Readonly<Record<string, unknown>>,
  note: string,
  { output }: Context,
): Promise<undefined> {
  const operation = await work.operation();
  const calls = Math.ceil(rows / size);
  const example = work.call(sample.map(work.value), scope);
  if (output.format !== "table") {
    await output.show({
      ...mark,
      action: work.name,
      cluster_id: scope.cluster_id,
      rows: rows - invalid,
      invalid,
      first_invalid_row: firstInvalid?.number ?? null,
      calls,
      method: operation.method,
      path: operation.path,
      sample: sample.map(work.shown),
      body: maskedBody(example.body),
    });
    return undefined;
  }
  const verb = work.action === "map" ? "Would map" : "Would remove";
  const preposition = work.action === "map" ? "to" : "from";
  await output.print(
    `${verb} ${counted(rows - invalid, work.noun)} ${preposition} ${scope.cluster_id} in ${counted(calls, "call")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sample.map((text) => `  ${work.shown(text)}`),
    ...(rows > sample.length ? ["  …"] : []),
  );
  if (invalid > 0)
    await output.note(`${counted(invalid, "row")} would be left out, the first row ${firstInvalid!.number}`);
  await output.note(note);
  return undefined;
}
