import type { Context } from "../../../command.ts";
import { checkOutputFile } from "../../../output/file.ts";
import { formatTargetFlags } from "../../../parse/next-command.ts";
import { type FailureKind, UsageError } from "../../../process/failure.ts";
import { formatCommandLine } from "../../../process/shell-words.ts";
import { type InputSource, openInputSource } from "./input/bytes.ts";
import { fingerprintSource } from "./input/survey.ts";
import { parseErrorLimit } from "./job.ts";
import type { JobRecord } from "./log/jobs.ts";
import { performJob } from "./perform.ts";
import { getTargetName, requireUnchangedPlan } from "./plan.ts";
import { limitYoungGeneration } from "./progress.ts";

/** Resumes a stopped job. Rejects command lines that would change the job. */
export async function resumeJob(
  folder: string,
  record: JobRecord,
  options: {
    /** `-` for rows that are piped again, or the current path of the file. */
    readonly input: string | undefined;
    readonly concurrency: number;
    readonly skipInvalid: boolean;
    readonly maxErrors: string | undefined;
    readonly context: Context;
  },
): Promise<FailureKind | undefined> {
  limitYoungGeneration();
  const { input, context, maxErrors } = options;
  const { path } = record.input;
  if (path === "-" && input === undefined) {
    throw new UsageError("This job read a pipe. Pipe the same rows again, with - as the file.", {
      next: record.resume,
    });
  }
  if (maxErrors !== undefined) parseErrorLimit(maxErrors);
  const source = await findSource(record, input ?? path, context);
  if (path !== "-" && source.path === "-") throw new UsageError(`This job reads ${path}, not ${source.name}.`);
  if (record.errors_out !== null) {
    await checkOutputFile(context.host, record.errors_out, "--errors-out", { inputs: [input ?? path] });
  }
  if (record.report !== null) {
    await checkOutputFile(context.host, record.report, "--report", { inputs: [input ?? path] });
  }
  const resumable = path === "-" ? record : withFile(record, source.path, context);
  const target = await getTargetName(context);
  requireUnchangedPlan(resumable, { target, ...(path === "-" ? {} : await fingerprintSource(source.open())) });
  const changed: JobRecord = {
    ...resumable,
    skip_invalid: record.skip_invalid || options.skipInvalid,
    max_errors: maxErrors ?? record.max_errors,
  };
  return performJob(folder, changed, source, context, { concurrency: options.concurrency, isResumed: true });
}

async function findSource({ id }: JobRecord, named: string, { host }: Context): Promise<InputSource> {
  return openInputSource(host, named, "<file>").catch((error: unknown) => {
    throw error instanceof UsageError
      ? error.withHint(
          `If the file was moved, use its new path: ${formatCommandLine(["router", "jobs", "resume", id, "FILE"])}`,
        )
      : error;
  });
}

/** Updates the path of a moved file in the job and in its resume command. */
function withFile(record: JobRecord, path: string, { globals }: Context): JobRecord {
  const { id, input } = record;
  if (path === input.path) return record;
  const resume = ["router", "jobs", "resume", id, path, ...formatTargetFlags(globals)];
  return { ...record, input: { ...input, path }, resume };
}
