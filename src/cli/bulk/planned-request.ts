import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { type BulkInput, resolveConcurrency } from "./flags.ts";
import { readPlan } from "./plan.ts";
import type { JobRequest } from "./request.ts";
import type { BulkWork } from "./work.ts";

/** The request that a plan holds. The file may lie elsewhere by now: its content is what counts. */
export async function readPlannedRequest(
  work: BulkWork,
  file: string | undefined,
  flags: BulkInput["flags"] & { readonly apply: string },
  context: Context,
): Promise<JobRequest> {
  const plan = await readPlan(flags.apply, context);
  if (plan.command !== work.name) {
    throw new UsageError(`--apply requires a plan of svc router ${work.name}, not of svc router ${plan.command}`);
  }
  const { version: _, command, target, input, ...options } = plan;
  return {
    work,
    path: file ?? input.path,
    ...options,
    concurrency: resolveConcurrency(flags),
    errorsOut: flags["errors-out"],
    report: flags.report,
    dryRun: flags["dry-run"] === true,
    planOut: undefined,
    planFile: flags.apply,
    planned: plan,
    confirm: async () => {},
  };
}
