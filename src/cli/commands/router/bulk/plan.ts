import * as z from "zod";
import { dictionary } from "../../../../api/shapes.ts";
import { toFields, tryParseJson } from "../../../../base/object.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../../derive/command-spec.ts";
import type { Context } from "../../../command.ts";
import { resolveStateFile } from "../../../connection/emulator/run-file.ts";
import { requireBaseUrl } from "../../../connection/target.ts";
import { readText } from "../../../parse/body.ts";
import type { CommandInputOf } from "../../../parse/declaration.ts";
import { UsageError } from "../../../process/failure.ts";
import { hashFlag } from "./identifiers.ts";
import { detectFormat, InputError, inputFormats } from "./input/format.ts";
import type { BulkJobKind } from "./job-kinds.ts";

export const defaultConcurrency = 6;

export const createBulkFlags = (batchSize: number) =>
  [
    createTextFlag(
      "input-format",
      "FORMAT",
      "Format of the rows (default: by the file extension; otherwise csv with --column, lines without)",
      { choices: inputFormats },
    ),
    createTextFlag("delimiter", "CHAR", "Delimiter of CSV cells, such as ';' or tab (default: a comma)"),
    createIntegerFlag("batch-size", "Identifiers in one request", { min: 1, default: batchSize }),
    createIntegerFlag("concurrency", "Concurrent requests", { min: 1, default: defaultConcurrency }),
    createSwitch("skip-invalid", "Skip invalid rows and exit 3"),
    createTextFlag("max-errors", "N|P%", "Skip rows that are invalid or rejected (413, 422), up to this many"),
    createTextFlag("errors-out", "FILE", "Write failed rows to a CSV file"),
    createTextFlag("report", "FILE", "Write a report of the job, as .html or .csv"),
    createTextFlag(
      "results",
      "WHICH",
      "Rows to store in the results; all adds the previous cluster of mapped identifiers, if it can be looked up",
      { choices: ["errors", "all"], default: "errors" },
    ),
    createSwitch("verify", "Look up each identifier after its request; a mismatch counts as failed"),
    createTextFlag("shard", "I/N", "Process only this share of the rows, such as 3/16"),
    createTextFlag("plan-out", "FILE", "Write the plan to a file without sending anything"),
    createTextFlag("apply", "FILE", "Apply a plan without a prompt; fails if the input or the target has changed"),
  ] as const satisfies readonly FlagSpec[];

type BulkInput = CommandInputOf<
  readonly [
    ...ReturnType<typeof createBulkFlags>,
    typeof hashFlag,
    { readonly flag: "dry-run"; readonly type: "switch" },
  ]
>;

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

const formatVersion = 1;

/** All data that determines a job. Plans contain it, and it is stored next to the job log. */
export const JobPlan = z.object({
  version: z.literal(formatVersion),
  command: z.string(),
  scope: dictionary(z.string()),
  target: z.string(),
  input: JobInput,
  format: z.enum(inputFormats),
  format_guessed: z.boolean(),
  /** Names of columns or NDJSON fields, or one column number from 1, joined by a space. Empty for the first column. */
  columns: z.array(z.string()).readonly(),
  hash: z.enum(hashFlag.choices),
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

/** Data of a plan, except those that are known only once the input is read, and options of the run. */
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

/** Options of a run, which a plan does not contain. */
const readRunOptions = ({ flags }: BulkInput) => ({
  concurrency: flags.concurrency ?? defaultConcurrency,
  errorsOut: flags["errors-out"],
  report: flags.report,
  dryRun: flags["dry-run"] === true,
});

/** Reads the flags of a job. `column` is the selected column. Plain lines have none. */
export const readBulkOptions = (input: BulkInput, path: string, batchSize: number, column?: string) => ({
  ...readRunOptions(input),
  ...resolveNotation(input, path, column),
  hash: input.flags.hash ?? "sha256",
  batch_size: input.flags["batch-size"] ?? batchSize,
  skip_invalid: input.flags["skip-invalid"] === true,
  max_errors: input.flags["max-errors"] ?? null,
  verify: input.flags.verify === true,
  results: input.flags.results ?? "errors",
  shard: input.flags.shard === undefined ? null : parseShard(input.flags.shard),
  planOut: input.flags["plan-out"],
});

function resolveNotation(
  { flags: { "input-format": formatName, delimiter } }: BulkInput,
  path: string,
  column: string | undefined,
): Pick<JobPlan, "format" | "format_guessed" | "delimiter"> {
  const byName = formatName ?? detectFormat(path);
  // A pipe has no file extension.
  const hasCells = formatName === undefined && (column !== undefined || delimiter !== undefined);
  const format = hasCells && byName === "lines" ? "csv" : byName;
  if (column !== undefined && format === "lines") {
    throw new UsageError("--column requires csv, tsv or ndjson: plain lines have no columns");
  }
  if (delimiter !== undefined && format !== "csv") {
    throw new UsageError("--delimiter requires csv", { hint: "If the rows are CSV, add --input-format csv." });
  }
  return {
    format,
    format_guessed: formatName === undefined,
    delimiter: delimiter === undefined ? null : parseDelimiter(delimiter),
  };
}

function parseDelimiter(name: string): string {
  const delimiter = ["tab", "\\t"].includes(name) ? "\t" : name;
  if ([...delimiter].length === 1 && !/["\r\n]/.test(delimiter)) return delimiter;
  throw new UsageError(`--delimiter must be one character (no quote or line break) or tab, got "${name}"`);
}

function parseShard(text: string): JobPlan["shard"] {
  const [index, of] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? [];
  if (!index || !of || index > of) throw new UsageError(`--shard must be a share (3/16), got "${text}"`);
  return { index, of };
}

/** A percentage of a few rows is meaningless. */
const minPercentageRows = 1_000;

/**
 * Parses `100` or `2%` (DECISIONS.md, L17) into a check of the number of failed rows. Throws a usage error for other
 * values. `total` is the number of rows, if known.
 */
export function parseErrorLimit(text: string, total?: number): (errors: number, rows: number) => boolean {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (number === undefined || (percent === "" && number.includes("."))) {
    throw new UsageError(`--max-errors must be a number or a percentage (10, 2%), got "${text}"`);
  }
  const limit = Number(number);
  if (percent === "") return (errors) => errors > limit;
  return (errors, rows) =>
    (total !== undefined || rows >= minPercentageRows) && errors > ((total ?? rows) * limit) / 100;
}

export const isPlanFile = (beginning: string): boolean => /^\{\s*"version":\s*\d+,\s*"command":/.test(beginning);

const mayJoinApply = new Set(["apply", "concurrency", "errors-out", "report", "dry-run"]);

/** Describes the format of a plan or a job of a newer version, which is not damaged. */
export function describeNewerFormat(document: unknown): string | undefined {
  const { version } = toFields(document);
  if (typeof version !== "number" || version <= formatVersion) return undefined;
  return `is in format ${version} of a newer svc, but this version reads format ${formatVersion}`;
}

/**
 * Reads the request from a plan. The input file may have another path, because its content identifies it. Rejects flags
 * that would change the plan, because it is complete.
 */
export async function readPlannedRequest(
  work: BulkJobKind,
  path: string | undefined,
  specs: readonly Pick<FlagSpec, "flag">[],
  input: BulkInput,
  { host }: Context,
): Promise<JobRequest> {
  const values: Readonly<Record<string, unknown>> = input.flags;
  const conflict = specs.find(({ flag }) => !mayJoinApply.has(flag) && values[flag] !== undefined);
  if (conflict) throw new UsageError(`--${conflict.flag} cannot be used with --apply`);
  const file = input.flags.apply!;
  const document = tryParseJson(await readText(host, file, "--apply"));
  const { data: plan, error } = FilePlan.safeParse(document);
  if (!plan) {
    const newerFormat = describeNewerFormat(document);
    if (newerFormat !== undefined) throw new UsageError(`--apply: ${file} ${newerFormat}`);
    const field = error.issues[0]?.path.join(".");
    const fieldNote = field ? ` (${field} is missing or wrong)` : "";
    throw new UsageError(`--apply must be a file written by --plan-out: ${file} is not${fieldNote}`);
  }
  if (plan.command !== work.name) {
    throw new UsageError(`--apply requires a plan of svc router ${work.name}, not of svc router ${plan.command}`);
  }
  return { work, path: path ?? plan.input.path, ...plan, ...readRunOptions(input), apply: { file, plan } };
}

export async function getTargetName({ globals, host, target }: Context): Promise<string> {
  if (globals.emulator) return `the emulator of ${resolveStateFile(host, undefined)}`;
  return requireBaseUrl((await target("router")).baseUrls, "router");
}

/** Names the target of the job in the error if no target is configured. */
export const getJobTarget = (
  { target }: Pick<JobPlan, "target">,
  context: Context,
  remedy?: { readonly next: readonly string[] },
): Promise<string> =>
  getTargetName(context).catch((error: unknown) => {
    if (context.globals.profile !== undefined || !(error instanceof UsageError)) throw error;
    const { message, hint } = error;
    throw new UsageError(`${message} The job sends to ${target}.`, { ...(remedy ?? { hint }), cause: error });
  });

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
    throw new InputError("input_changed", `${plan.input.path} has changed (${size}; SHA-256 differs).`, {
      hint: "Restore the file, or start a new job with the changed file.",
    });
  }
}
