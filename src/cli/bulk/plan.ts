import type { Context } from "../command.ts";
import { stateFile } from "../connection/run-file.ts";
import { UsageError } from "../failure.ts";
import { readInput } from "../parse/body.ts";
import type { InputFormat } from "./input/rows.ts";
import type { Shard } from "./input/shard.ts";
import type { Scope } from "./work.ts";

/** The input of a job, and how to know it again. */
export interface JobInput {
  /** Absolute; `-` for standard input, of which nothing is known beforehand. */
  readonly path: string;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly rows: number | null;
  readonly invalid: number | null;
  readonly first_invalid_row: number | null;
}

/** Everything that decides what a job does. Plain data: it is written to plans and beside the job log. */
export interface JobPlan {
  readonly version: 1;
  /** `map-emails` */
  readonly command: string;
  readonly scope: Scope;
  /** Where the calls go. */
  readonly target: string;
  readonly input: JobInput;
  readonly format: InputFormat;
  readonly columns: readonly string[];
  readonly batch_size: number;
  readonly shard: Shard | null;
  readonly skip_invalid: boolean;
  /** `100` or `2%` */
  readonly max_errors: string | null;
  readonly results: "errors" | "all";
}

/** Where the calls of a run go, in the words that plans and job logs keep. */
export async function targetName({ globals, host, target }: Context): Promise<string> {
  if (globals.emulator) return `the emulator of ${stateFile(host, undefined)}`;
  return (await target("router")).baseUrls.router ?? "";
}

export async function writePlan(path: string, plan: JobPlan, { host }: Context): Promise<void> {
  const { writeOutput } = await import("../output/file.ts");
  await writeOutput(host, path, [Buffer.from(`${JSON.stringify(plan, null, 2)}\n`)], 0o600).catch((error: Error) => {
    const cause = (error.cause ?? error) as Error;
    throw new UsageError(`--plan-out: cannot write ${path}: ${cause.message}`, { cause });
  });
}

export async function readPlan(path: string, { host }: Context): Promise<JobPlan> {
  const text = (await readInput(host, path, "--apply")).toString("utf8");
  try {
    const plan = JSON.parse(text) as JobPlan;
    if (plan.version === 1 && typeof plan.input?.path === "string" && typeof plan.input.sha256 === "string")
      return plan;
  } catch {
    // Told below, like any other file that is no plan.
  }
  throw new UsageError(`--apply: ${path} is not a plan that --plan-out wrote`);
}

/** Refuses to go on where something else would be done than was planned or begun. */
export function refuseChanged(
  planned: JobPlan,
  now: { readonly target: string; readonly bytes?: number; readonly sha256?: string },
): void {
  if (now.target !== planned.target) {
    throw new UsageError(`The calls would go to ${now.target}, not to ${planned.target} as before.`, {
      hint: "Give the same --base-url, --profile or --emulator, or begin a new job.",
    });
  }
  if (now.sha256 !== undefined && now.sha256 !== planned.input.sha256) {
    const size = `${planned.input.bytes} bytes then, ${now.bytes} now`;
    throw new UsageError(`${planned.input.path} has changed since (${size}; SHA-256 differs).`, {
      hint: "Restore the file, or begin a new job with the one that is there.",
    });
  }
}
