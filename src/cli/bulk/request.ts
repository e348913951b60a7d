import type { JobPlan } from "./plan.ts";
import type { BulkWork } from "./work.ts";

/** What a bulk command line asks for, before its input was looked at. */
export interface JobRequest extends Omit<JobPlan, "version" | "command" | "target" | "input"> {
  readonly work: BulkWork;
  /** As it was typed: a path, or `-` for standard input. */
  readonly path: string;
  readonly concurrency: number;
  readonly errorsOut: string | undefined;
  readonly report: string | undefined;
  readonly dryRun: boolean;
  readonly planOut: string | undefined;
  /** What --apply names, and the plan in it: nothing but this may be done. */
  readonly planFile: string | undefined;
  readonly planned: JobPlan | undefined;
  /** Whether identifiers may move unasked: somebody has agreed to it already. */
  readonly mayMove?: boolean;
  /** Asks whether to go on; `rows` where they are known. */
  readonly confirm: (rows: number | undefined) => Promise<void>;
}
