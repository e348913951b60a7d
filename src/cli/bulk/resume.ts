import type { Context } from "../command.ts";
import { type FailureKind, UsageError } from "../failure.ts";
import { commandLine } from "../help/examples.ts";
import { placeFlags } from "../next.ts";
import { existingFile } from "../parse/body.ts";
import { fingerprintOf } from "./input/survey.ts";
import { parseLimit } from "./limits.ts";
import type { JobRecord } from "./log/jobs.ts";
import { keepMemoryFlat } from "./memory.ts";
import { performJob } from "./perform.ts";
import { refuseChanged, targetName } from "./plan.ts";

/** Goes on with a stopped job; refused when it would do something else than was begun. */
export async function resumeJob(
  folder: string,
  record: JobRecord,
  how: {
    /** `-` for rows that are piped again, or where a file is now. */
    readonly input: string | undefined;
    readonly concurrency: number;
    readonly skipInvalid: boolean;
    readonly maxErrors: string | undefined;
    readonly context: Context;
  },
): Promise<FailureKind | undefined> {
  keepMemoryFlat();
  const { input, context, maxErrors } = how;
  const { path } = record.input;
  if (path === "-" && input !== "-") {
    throw new UsageError("This job read standard input: pipe the same rows again, and name - for them.", {
      next: record.resume,
    });
  }
  if (path !== "-" && input === "-") throw new UsageError(`This job reads ${path}, not standard input.`);
  if (maxErrors !== undefined) parseLimit(maxErrors);
  const target = await targetName(context);
  const begun = path === "-" ? record : await withFile(record, input ?? path, context);
  const now = path === "-" ? {} : await fingerprintOf(begun.input.path);
  refuseChanged(begun, { target, ...now });
  const changed: JobRecord = {
    ...begun,
    skip_invalid: record.skip_invalid || how.skipInvalid,
    max_errors: maxErrors ?? record.max_errors,
  };
  return performJob(folder, changed, context, how.concurrency);
}

/** The job with its file where that is now; the command line to resume it names the new place, too. */
async function withFile(record: JobRecord, file: string, { host, globals }: Context): Promise<JobRecord> {
  const { id, input } = record;
  const path = await existingFile(host, file, "<file>").catch((error: unknown) => {
    throw error instanceof UsageError
      ? error.withHint(
          `Where it was moved, name its new place: ${commandLine(["router", "jobs", "resume", id, "FILE"])}`,
        )
      : error;
  });
  if (path === input.path) return record;
  const resume = ["router", "jobs", "resume", id, path, ...placeFlags(globals)];
  return { ...record, input: { ...input, path }, resume };
}
