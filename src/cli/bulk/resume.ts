import type { Context } from "../command.ts";
import { type FailureKind, UsageError } from "../failure.ts";
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
    readonly isPiped: boolean;
    readonly concurrency: number;
    readonly skipInvalid: boolean;
    readonly maxErrors: string | undefined;
    readonly context: Context;
  },
): Promise<FailureKind | undefined> {
  keepMemoryFlat();
  const { isPiped, context, maxErrors } = how;
  const { path } = record.input;
  if (path === "-" && !isPiped) {
    throw new UsageError("This job read standard input: pipe the same rows again, and name - for them.", {
      next: record.resume,
    });
  }
  if (path !== "-" && isPiped) throw new UsageError(`This job reads ${path}, not standard input.`);
  if (maxErrors !== undefined) parseLimit(maxErrors);
  const target = await targetName(context);
  const now = path === "-" ? {} : await fingerprintOf(await existingFile(context.host, path, "<file>"));
  refuseChanged(record, { target, ...now });
  const changed: JobRecord = {
    ...record,
    skip_invalid: record.skip_invalid || how.skipInvalid,
    max_errors: maxErrors ?? record.max_errors,
  };
  return performJob(folder, changed, context, how.concurrency);
}
