import * as z from "zod";
import { dictionary } from "../../../../api/shapes.ts";
import { tryParseJson } from "../../../../base/object.ts";
import type { Context } from "../../../command.ts";
import { resolveStateFile } from "../../../connection/emulator/run-file.ts";
import { writeOutput } from "../../../output/file.ts";
import { readText } from "../../../parse/body.ts";
import { UsageError } from "../../../process/failure.ts";
import { type BulkInput, defaultConcurrency } from "./flags.ts";
import { inputFormats } from "./input/format.ts";
import { emailHashings } from "./input/identifiers.ts";
import type { BulkJobKind } from "./work.ts";

const count = z.int().nonnegative();

const JobInput = z.object({
  /** Absolute path. `-` for standard input and other pipes, about which nothing is known in advance. */
  path: z.string(),
  bytes: count.nullable(),
  sha256: z.string().nullable(),
  rows: count.nullable(),
  invalid: count.nullable(),
  first_invalid_row: count.nullable(),
  distinct: count.nullable(),
});

/** All data that determines a job. Plans contain it, and it is stored next to the job log. */
export const JobPlan = z.object({
  version: z.literal(1),
  command: z.string(),
  scope: dictionary(z.string()),
  target: z.string(),
  input: JobInput,
  format: z.enum(inputFormats),
  format_guessed: z.boolean(),
  columns: z.array(z.string()).readonly(),
  hash: z.enum(emailHashings),
  delimiter: z.string().nullable(),
  batch_size: count.positive(),
  shard: z.object({ index: count.positive(), of: count.positive() }).nullable(),
  skip_invalid: z.boolean(),
  max_errors: z.string().nullable(),
  results: z.enum(["errors", "all"]),
  verify: z.boolean(),
});
export type JobPlan = Readonly<z.infer<typeof JobPlan>>;

const FilePlan = JobPlan.extend({ input: JobInput.extend({ sha256: z.string() }) });

export async function getTargetName({ globals, host, target }: Context): Promise<string> {
  if (globals.emulator) return `the emulator of ${resolveStateFile(host, undefined)}`;
  return (await target("router")).baseUrls.router ?? "";
}

export async function writePlan(path: string, plan: JobPlan, { host }: Context): Promise<void> {
  await writeOutput(host, path, [Buffer.from(`${JSON.stringify(plan, null, 2)}\n`)], 0o600);
}

/** Reports whether a file with this beginning is a plan of `writePlan`. */
export const isPlanFile = (beginning: string): boolean => /^\{\s*"version":\s*\d+,\s*"command":/.test(beginning);

async function readPlan(path: string, { host }: Context): Promise<JobPlan> {
  const text = await readText(host, path, "--apply");
  const { success, data, error } = FilePlan.safeParse(tryParseJson(text));
  if (success) return data;
  const field = error.issues[0]?.path.join(".");
  const fieldNote = field ? ` (${field} is missing or wrong)` : "";
  throw new UsageError(`--apply must be a file written by --plan-out: ${path} is not${fieldNote}`);
}

/** Rejects a continuation that differs from the plan or the started job. */
export function requireUnchangedPlan(
  plan: JobPlan,
  now: { readonly target: string; readonly bytes?: number; readonly sha256?: string },
): void {
  if (now.target !== plan.target) {
    throw new UsageError(`The target has changed: ${now.target} instead of ${plan.target}.`, {
      hint: "Use the same --base-url, --profile or --emulator, or start a new job.",
    });
  }
  if (now.sha256 !== undefined && now.sha256 !== plan.input.sha256) {
    const size = `${plan.input.bytes} bytes then, ${now.bytes} now`;
    throw new UsageError(`${plan.input.path} has changed (${size}; SHA-256 differs).`, {
      hint: "Restore the file, or start a new job with the changed file.",
    });
  }
}

export interface JobRequest extends Omit<JobPlan, "version" | "command" | "target" | "input"> {
  readonly work: BulkJobKind;
  readonly path: string;
  readonly concurrency: number;
  readonly errorsOut?: string | undefined;
  readonly report?: string | undefined;
  readonly dryRun?: boolean;
  readonly planOut?: string | undefined;
  /** Plan of --apply and its file. No other work is allowed. */
  readonly apply?: { readonly file: string; readonly plan: JobPlan };
  /** Whether identifiers may move without a prompt, because the user has already consented. */
  readonly mayMove?: boolean;
  /** Prompts for confirmation. `rows` is the number of rows; undefined for a pipe. By default nothing is confirmed. */
  readonly confirmRows?: (rows: number | undefined) => Promise<void>;
}

/** Reads the request from a plan. The input file may have another path, because its content identifies it. */
export async function readPlannedRequest(
  work: BulkJobKind,
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
    concurrency: flags.concurrency ?? defaultConcurrency,
    errorsOut: flags["errors-out"],
    report: flags.report,
    dryRun: flags["dry-run"] === true,
    apply: { file: flags.apply, plan },
  };
}
